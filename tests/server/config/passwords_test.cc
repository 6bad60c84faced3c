// Goal: a password comes from exactly one place, and no error or later look at the process shows
// it. Method: each pair of places, the edges of a file's first line, and an environment of our own.
#include "server/config/passwords.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

class PasswordsTest : public testing::Test {
 protected:
  absl::Status Read() { return ReadPasswords(variables_, options_); }
  // Reads a file with this text; "" if that fails.
  std::string ReadFirstLine(std::string_view text) {
    const auto read = ReadPasswordFile("requirepass-file", directory_.Write("p", text));
    return read.ok() ? read->text() : "";
  }

  TemporaryDirectory directory_;
  PasswordVariables variables_;
  Options options_ = DefaultOptions();
};

TEST_F(PasswordsTest, WithoutAPlaceThereIsNoPassword) {
  EXPECT_TRUE(Read().ok());
  EXPECT_TRUE(options_.requirepass.empty());
  EXPECT_TRUE(options_.primary_password.empty());
}

TEST_F(PasswordsTest, EachPlaceAloneIsUsed) {
  for (std::size_t i = 0; i < kPasswords.size(); ++i) {
    const PasswordPlaces& places = kPasswords.at(i);
    for (const int place : {0, 1, 2}) {
      options_ = DefaultOptions();
      variables_ = {};
      if (place == 0) options_.*places.word = Secret("hush");
      if (place == 1) options_.*places.file = directory_.Write("p", "hush\n");
      if (place == 2) variables_.at(i) = Secret("hush");
      EXPECT_TRUE(Read().ok()) << places.option << place;
      EXPECT_EQ((options_.*places.word).text(), "hush") << places.option << place;
    }
  }
}

TEST_F(PasswordsTest, TwoPlacesAreAnErrorThatNamesThem) {
  const std::string file = directory_.Write("p", "hush\n");
  for (std::size_t i = 0; i < kPasswords.size(); ++i) {
    const PasswordPlaces& places = kPasswords.at(i);
    const std::vector<std::string_view> names = {places.option, places.file_option,
                                                 places.variable};
    for (const auto& [one, other] : {std::pair(0U, 1U), std::pair(0U, 2U), std::pair(1U, 2U)}) {
      options_ = DefaultOptions();
      variables_ = {};
      if (one == 0U) options_.*places.word = Secret("hush");
      if (one == 1U || other == 1U) options_.*places.file = file;
      if (other == 2U) variables_.at(i) = Secret("hush");
      const absl::Status read = Read();
      EXPECT_EQ(StdView(read.message()), std::string(names[one]) + " and " +
                                             std::string(names[other]) + ": give one of them");
    }
  }
}

// The error names what was given, and not the option that it stands for.
TEST_F(PasswordsTest, UsersBesideAPasswordAreAnErrorThatNamesItsPlace) {
  const std::string users = directory_.Write("users", "user a\n");
  for (const int place : {0, 1, 2}) {
    options_ = DefaultOptions();
    variables_ = {};
    options_.users_file = users;
    if (place == 0) options_.requirepass = Secret("hush");
    if (place == 1) options_.requirepass_file = directory_.Write("p", "hush\n");
    if (place == 2) variables_[0] = Secret("hush");
    const std::array<std::string, 3> names = {"requirepass", "requirepass-file",
                                              "WEIR_REQUIREPASS"};
    EXPECT_EQ(StdView(Read().message()),
              names.at(static_cast<std::size_t>(place)) +
                  " and users-file: give one of them; the file can set the default user's "
                  "password");
  }
  options_ = DefaultOptions();
  options_.users_file = users;
  variables_ = {std::nullopt, Secret("hush")};
  EXPECT_TRUE(Read().ok()) << "users may follow a primary";
}

// It would leave the server open, where a password was meant.
TEST_F(PasswordsTest, AnEmptyPlaceIsAnError) {
  variables_[0] = Secret();
  EXPECT_EQ(Read().message(), "the variable WEIR_REQUIREPASS is empty");
  variables_ = {};
  options_.primary_password_file = directory_.Write("p", "\nhush");
  EXPECT_THAT(std::string(Read().message()),
              testing::AllOf(HasSubstr("option 'primary-password-file': the first line of '"),
                             EndsWith("/p' is empty"), Not(HasSubstr("hush"))));
}

TEST_F(PasswordsTest, AFileThatCannotBeReadIsAnErrorWithItsReason) {
  options_.requirepass_file = directory_.path() + "/none";
  EXPECT_THAT(std::string(Read().message()),
              testing::AllOf(HasSubstr("option 'requirepass-file': cannot read '"),
                             EndsWith("/none': No such file or directory")));
  options_.requirepass_file = directory_.path();
  EXPECT_THAT(std::string(Read().message()), EndsWith(": Is a directory"));
}

// Opening a pipe would wait for its writer: the start, or at SIGHUP the thread of signals.
TEST_F(PasswordsTest, AFileThatIsNoRegularOneIsAnErrorAtOnce) {
  const std::string pipe = directory_.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/null")}) {
    const auto read = ReadPasswordFile("primary-password-file", path);
    EXPECT_EQ(StdView(read.status().message()),
              "option 'primary-password-file': '" + path + "' is no regular file");
  }
  const std::string link = directory_.path() + "/link";  // as Kubernetes has them
  ASSERT_EQ(symlink(directory_.Write("p", "hush\n").c_str(), link.c_str()), 0);
  EXPECT_EQ(ReadPasswordFile("primary-password-file", link)->text(), "hush");
}

TEST_F(PasswordsTest, AFilesFirstLineIsThePassword) {
  for (const std::string_view text : {"a b#", "a b#\n", "a b#\r\n", "a b#\nnext",
                                      "\xEF\xBB\xBF"
                                      "a b#\n"}) {
    EXPECT_EQ(ReadFirstLine(text), "a b#") << text;
  }
  for (const std::string_view text : {"", "\n", "\r\n", "\xEF\xBB\xBF\n"}) {
    EXPECT_EQ(ReadFirstLine(text), "") << text;
  }
  const std::string longest(kPasswordBytesMax, 'x');
  for (const std::string_view end : {"", "\n", "\r\n", "\nmore"}) {
    EXPECT_EQ(ReadFirstLine(longest + std::string(end)), longest);
    EXPECT_EQ(ReadFirstLine(longest + "x" + std::string(end)), "");
  }
}

TEST_F(PasswordsTest, TheVariablesAreTakenAndTheirBytesOverwritten) {
  ASSERT_EQ(setenv("WEIR_REQUIREPASS", "hush", 1), 0);
  ASSERT_EQ(setenv("WEIR_REQUIREPASS_OTHER", "loud", 1), 0);
  const char* const bytes = getenv("WEIR_REQUIREPASS");
  const PasswordVariables taken = TakePasswordVariables();
  EXPECT_EQ(taken[0], Secret("hush"));
  EXPECT_EQ(taken[1], std::nullopt);
  EXPECT_EQ(std::string(bytes, 4), std::string(4, '\0'));
  EXPECT_EQ(getenv("WEIR_REQUIREPASS"), nullptr);
  EXPECT_STREQ(getenv("WEIR_REQUIREPASS_OTHER"), "loud");
  unsetenv("WEIR_REQUIREPASS_OTHER");
}

}  // namespace
}  // namespace weir
