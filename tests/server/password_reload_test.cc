// Goal: at SIGHUP a changed password is in force for all, and a mistake in a file changes nothing.
#include "server/password_reload.h"

#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/os/log.h"
#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

class PasswordReloadTest : public testing::Test {
 protected:
  // Writes both files and reads them as SIGHUP does; returns the log.
  std::string Reload(std::string_view clients, std::string_view link) {
    directory_.Write("clients", clients);
    directory_.Write("link", link);
    testing::internal::CaptureStderr();
    ConfigureLog(LogLevel::kInfo);
    ReloadPasswords(server_->services);
    return testing::internal::GetCapturedStderr();
  }
  std::string LinkPassword() { return server_->services.settings.All().primary_password.text(); }

  TemporaryDirectory directory_;
  std::unique_ptr<TestServer> server_ = [this] {
    Options options = DefaultOptions();
    options.requirepass_file = directory_.path() + "/clients";
    options.primary_password_file = directory_.path() + "/link";
    options.rls_xds_headers_file = directory_.Write("fields", "x-token:0");
    return std::make_unique<TestServer>(options);
  }();
};

TEST_F(PasswordReloadTest, ANewPasswordReplacesTheOldOne) {
  Reload("one\n", "link-1");
  Conversation client(*server_);
  EXPECT_THAT(client.Show("PING"), HasSubstr("NOAUTH"));
  EXPECT_EQ(client.Show("AUTH one"), "OK");
  EXPECT_EQ(LinkPassword(), "link-1");

  Reload("one\n", "link-1");
  EXPECT_EQ(client.Show("PING"), "PONG") << "who has logged in with the same one stays";
  Reload("two\n", "link-2");
  EXPECT_THAT(client.Show("PING"), HasSubstr("NOAUTH"));
  EXPECT_THAT(client.Show("AUTH one"), HasSubstr("WRONGPASS"));
  client.server().clock.Advance(std::chrono::seconds{1});
  client.WakeUp();
  EXPECT_EQ(client.Show("AUTH two"), "OK");
  EXPECT_EQ(LinkPassword(), "link-2");
}

TEST_F(PasswordReloadTest, AMistakeInAFileChangesNothing) {
  Reload("one\n", "link-1");
  const std::string log = Reload("\n", "");
  EXPECT_THAT(log, HasSubstr("requirepass is unchanged: option 'requirepass-file': the first "));
  EXPECT_THAT(log, HasSubstr("option 'primary-password-file': the first line of "));
  Conversation client(*server_);
  EXPECT_THAT(client.Show("PING"), HasSubstr("NOAUTH"));
  EXPECT_EQ(client.Show("AUTH one"), "OK");
  EXPECT_EQ(LinkPassword(), "link-1");
}

TEST_F(PasswordReloadTest, FieldsOfTheCallToAControlPlaneAreReadLikewise) {
  const auto reload = [&](std::string_view fields) {
    directory_.Write("fields", fields);
    return Reload("one", "link-1");
  };
  const auto fields = [&] { return server_->services.settings.All().rls_xds_headers.text(); };
  EXPECT_THAT(reload("x-token:a\n"), HasSubstr("read rls-xds-headers-file again"));
  EXPECT_EQ(fields(), "x-token:a");
  const std::string log = reload("te:hush\n");
  EXPECT_THAT(log, HasSubstr("rls-xds-headers is unchanged: must be name:value,name:value"));
  EXPECT_THAT(log, Not(HasSubstr("hush")));
  EXPECT_EQ(fields(), "x-token:a");
}

// One mistake does not hold up the other file.
TEST_F(PasswordReloadTest, EachFileCountsForItself) {
  Reload("one\n", "link-1");
  EXPECT_THAT(Reload("", "link-2"), HasSubstr("read primary-password-file again"));
  EXPECT_EQ(LinkPassword(), "link-2");
}

TEST_F(PasswordReloadTest, TheFilesArePlacesThatConfigSetCannotReplace) {
  Reload("one\n", "link-1");
  Conversation client(*server_);
  EXPECT_EQ(client.Show("AUTH one"), "OK");
  EXPECT_THAT(client.Show("CONFIG SET primary-password hush"),
              HasSubstr("it is in primary-password-file: change that file, and send SIGHUP"));
  EXPECT_THAT(client.Show("CONFIG SET masterauth hush"), HasSubstr("primary-password-file"));
  EXPECT_THAT(client.Show("CONFIG SET requirepass hush"), HasSubstr("can't set immutable config"));
  EXPECT_EQ(LinkPassword(), "link-1");
  EXPECT_EQ(client.Show("CONFIG SET primary-user link"), "OK");
  EXPECT_EQ(client.Show("CONFIG GET *password"), "\"primary-password\" \"\"");
}

}  // namespace
}  // namespace weir
