// Goal: a remembered login decides as a login by each request would. Method: one connection whose
// requests repeat their fields while users change.
#include "server/http/remembered_login.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/http_conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

constexpr std::string_view kApp = "Authorization: Basic YXBwOnNlY3JldA==\r\n";  // app:secret
constexpr std::string_view kDefault = "Authorization: Bearer root\r\n";

class RememberedLoginTest : public testing::Test {
 protected:
  RememberedLoginTest() {
    Users("user app on >secret ~app:* +@limit\nuser default on >root ~* +@all\n");
  }

  void Users(std::string_view lines) {
    ASSERT_TRUE(
        server_.services.access.Configure("", directory_.Write("users", std::string(lines))).ok());
  }
  // The status of a request to the key "k", which only `default` may use.
  int Status(std::string_view fields) {
    return StatusOf(client_.Post("/v1/allow", R"({"key":"k","limits":["9/h"]})", fields));
  }
  int StatusOfApp(std::string_view fields) {
    return StatusOf(client_.Post("/v1/allow", R"({"key":"app:1","limits":["9/h"]})", fields));
  }

  TemporaryDirectory directory_;
  HttpTestServer server_;
  HttpConversation client_{server_};
};

TEST(RememberedLoginOfASessionTest, CoversItsFieldAndNoOther) {
  HttpTestServer server;
  Conversation client(server);
  RememberedLogin login;
  EXPECT_FALSE(login.Covers("Bearer a", client.session()));
  login.Remember("Bearer a", client.session(), server.services.access.version());
  EXPECT_TRUE(login.Covers("Bearer a", client.session()));
  EXPECT_FALSE(login.Covers("Bearer b", client.session()));
  client.session().client().ActAs(nullptr);
  EXPECT_FALSE(login.Covers("Bearer a", client.session()));
}

TEST_F(RememberedLoginTest, EachRequestHasTheUserOfItsOwnField) {
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Status(kDefault), 200);
    EXPECT_EQ(Status(kDefault), 200);
    EXPECT_EQ(Status(kApp), 403);
    EXPECT_EQ(StatusOfApp(kApp), 200);
    EXPECT_EQ(StatusOfApp(""), 401);
    EXPECT_EQ(StatusOfApp(kApp), 200) << "after a request without the field";
  }
}

TEST_F(RememberedLoginTest, AWrongPasswordIsRefusedBesideARightOne) {
  EXPECT_EQ(Status(kDefault), 200);
  EXPECT_EQ(Status("Authorization: Bearer wrong\r\n"), 401);
}

TEST_F(RememberedLoginTest, AChangeOfUsersEndsIt) {
  EXPECT_EQ(StatusOfApp(kApp), 200);
  Users("user app on >other ~app:* +@limit\n");
  EXPECT_EQ(StatusOfApp(kApp), 401);
}

TEST_F(RememberedLoginTest, AUserThatIsOffIsRefused) {
  EXPECT_EQ(StatusOfApp(kApp), 200);
  Users("user app off >secret ~app:* +@limit\n");
  EXPECT_EQ(StatusOfApp(kApp), 401);
}

TEST_F(RememberedLoginTest, NewRulesOfAUserCountAtOnce) {
  EXPECT_EQ(Status(kApp), 403);
  Users("user app on >secret ~* +@limit\n");
  EXPECT_EQ(Status(kApp), 200);
}

}  // namespace
}  // namespace weir
