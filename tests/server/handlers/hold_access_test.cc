// Goal: users reserve and settle within their rights. Method: conversations of a user with some
// keys. tests/commands/holds/ has the rest.
#include <string>

#include <gtest/gtest.h>

#include "tests/support/conversation.h"
#include "tests/support/temporary_directory.h"

namespace weir {
namespace {

TEST(HoldAccessTest, UsersNeedTheKeysAndTheCategory) {
  Conversation client;
  const TemporaryDirectory directory;
  const std::string users = directory.Write("users",
                                            "user default on nopass ~* +@all\n"
                                            "user app on >a ~app:* +@limit\n");
  EXPECT_TRUE(client.server().services.access.Configure("", users).ok());
  Conversation app(client.server());
  EXPECT_EQ(app.Show("AUTH app a"), "OK");
  const std::string no_key =
      "NOPERM this user has no permissions to access one of the keys used as arguments";
  EXPECT_EQ(app.Show("RL.RESERVE app:k 10/h HOLD AND TTL 1000"), "1 9 0 360000 0");
  EXPECT_EQ(app.Show("RL.RESERVE app:k 10/h AND k 10/h HOLD b TTL 1000"), no_key);
  EXPECT_EQ(app.Show("RL.RESERVE app:k 10/h OR k 10/h HOLD b TTL 1000"), no_key);
  EXPECT_EQ(app.Show("RL.SLICE k 10/h NEED 1 UNIT 1 UPTO 1 HOLD app:k TTL 1000"), no_key);
  EXPECT_EQ(app.Show("RL.ALLOW app:k 10/h OR app:l 10/h AND k 10/h"), no_key);
  EXPECT_EQ(app.Show("RL.PEEK app:k 10/h or k 10/h"), no_key);
  EXPECT_EQ(app.Show("RL.PEEK app:k 1/h,cost=2 OR app:l 10/h"), "1 9 0 360000 1");
  EXPECT_EQ(app.Show("RL.COMMIT app:k AND k HOLD AND"), no_key);
  EXPECT_EQ(app.Show("RL.CANCEL k HOLD AND"), no_key);
  EXPECT_EQ(app.Show("RL.INSPECT k HOLDS"), no_key);
  EXPECT_EQ(app.Show("RL.CANCEL app:k HOLD AND"), "1 10 0 0 0");
}

}  // namespace
}  // namespace weir
