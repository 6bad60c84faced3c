// Goal: the users are those of the option or of the users file; a file is loaded as a whole or not
// at all, and an error names the line. Method: users files that the test writes.
#include "server/access/access_list.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

class AccessListTest : public testing::Test {
 protected:
  std::string Refused(std::string_view text) {
    const absl::Status status = AccessList().Configure("", directory_.Write("users", text));
    EXPECT_FALSE(status.ok()) << text;
    return std::string(status.message());
  }

  TemporaryDirectory directory_;
  AccessList list_;
};

TEST_F(AccessListTest, WithoutUsersEveryClientMayDoEverything) {
  ASSERT_TRUE(list_.Configure("", "").ok());
  ASSERT_NE(list_.ForNewConnection(), nullptr);
  EXPECT_EQ(list_.ForNewConnection()->Line(), "user default on nopass ~* &* +@all");
  EXPECT_FALSE(list_.Load().ok()) << "there is no file";
}

TEST_F(AccessListTest, APasswordIsTheDefaultUsers) {
  ASSERT_TRUE(list_.Configure("secret", "").ok());
  EXPECT_EQ(list_.ForNewConnection(), nullptr);
  EXPECT_TRUE(list_.Find("default")->Accepts("secret"));
  EXPECT_TRUE(list_.Find("default")->MayUseAllKeys());
  EXPECT_EQ(list_.All().size(), 1U);
}

TEST_F(AccessListTest, AFileNamesAllUsers) {
  const std::string path = directory_.Write("users",
                                            "\xEF\xBB\xBF# who asks\r\n"
                                            "user app on >secret ~app:* +@limit\r\n"
                                            "\n"
                                            "  user\tadmin  on nopass ~* +@all");
  ASSERT_TRUE(list_.Configure("", path).ok());
  EXPECT_TRUE(list_.Find("app")->Accepts("secret"));
  EXPECT_TRUE(list_.Find("admin")->needs_no_password());
  EXPECT_EQ(list_.Find("nobody"), nullptr);
  EXPECT_FALSE(list_.Find("default")->is_on()) << "the file does not name it";
  EXPECT_EQ(list_.FindActive("default"), nullptr);
  EXPECT_EQ(list_.FindActive("nobody"), nullptr);
  EXPECT_EQ(list_.FindActive("app"), list_.Find("app"));
  EXPECT_EQ(list_.ForNewConnection(), nullptr);
  EXPECT_EQ(list_.All().size(), 3U);
}

TEST_F(AccessListTest, AFileMayNameTheDefaultUser) {
  const std::string path = directory_.Write("users", "user default on nopass ~* +ping\n");
  ASSERT_TRUE(list_.Configure("", path).ok());
  ASSERT_NE(list_.ForNewConnection(), nullptr);
  EXPECT_EQ(list_.ForNewConnection()->Line(), "user default on nopass ~* -@all +ping");
}

TEST_F(AccessListTest, EveryLoadIsAllOrNothing) {
  const std::string path = directory_.Write("users", "user a on nopass\n");
  ASSERT_TRUE(list_.Configure("", path).ok());
  const std::uint64_t version = list_.version();
  directory_.Write("users", "user b on nopass\nuser c on +nonesuch\n");
  EXPECT_FALSE(list_.Load().ok());
  EXPECT_NE(list_.Find("a"), nullptr);
  EXPECT_EQ(list_.Find("b"), nullptr);
  EXPECT_EQ(list_.version(), version);
  directory_.Write("users", "user b on nopass\n");
  EXPECT_TRUE(list_.Load().ok());
  EXPECT_EQ(list_.Find("a"), nullptr);
  EXPECT_NE(list_.Find("b"), nullptr);
  EXPECT_GT(list_.version(), version);
}

TEST_F(AccessListTest, ErrorsSayWhereAndNoPassword) {
  EXPECT_THAT(Refused("user a on\nuser b on >secret ill\n"),
              HasSubstr("users:2: user 'b': rule 3: unknown"));
  EXPECT_THAT(Refused("user b on >secret ill\n"), Not(HasSubstr("secret")));
  EXPECT_THAT(Refused("user a\nusr b\n"), HasSubstr("users:2: expected: user NAME RULE"));
  EXPECT_THAT(Refused("user\n"), HasSubstr("users:1: expected: user NAME RULE"));
  EXPECT_THAT(Refused("user a\nuser a\n"), HasSubstr("users:2: user 'a' is defined twice"));
  EXPECT_THAT(Refused(std::string(AccessList::kFileBytesMax + 1, '\n')), HasSubstr("larger than"));
  EXPECT_THAT(Refused(""), HasSubstr("it has no user"));
  EXPECT_THAT(Refused("# user a\n"), HasSubstr("it has no user"));
  const absl::Status absent = list_.Configure("", directory_.path() + "/none");
  EXPECT_THAT(absent.message(), HasSubstr("No such file"));
  const absl::Status both = list_.Configure("secret", directory_.Write("users", "user a\n"));
  EXPECT_THAT(both.message(), HasSubstr("give one of them"));
}

}  // namespace
}  // namespace weir
