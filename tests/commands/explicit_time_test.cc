// Goal: AT sets the execution time of one request, on hosts that allow it, and nothing else.
// Method: requests at instants far from the clock's, compared with a host whose clock was set to
// those instants.
#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/commands/client.h"
#include "tests/commands/differences.h"

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string At(Instant instant) {
  return " AT " + std::to_string(instant.time_since_epoch().count());
}

TEST(ExplicitTimeTest, IsRefusedUnlessTheHostAllowsIt) {
  Client client;
  const std::string refusal = "-ERR " + NoExplicitTime() + "\r\n";
  EXPECT_EQ(client.Run("RL.ALLOW k 10/s AT 5"), refusal);
  EXPECT_EQ(client.Run("RL.PEEK k 10/s WITHLIMITS at 5"), refusal);
  EXPECT_EQ(client.Run("DBSIZE"), ":0\r\n");
  EXPECT_EQ(client.Run("PING"), "+PONG\r\n");
}

TEST(ExplicitTimeTest, DecidesAsAServerWhoseClockIsThere) {
  Client there;
  Client client({.explicit_time = true});
  Instant now = there.clock().Now();
  client.clock().Advance(hours{24 * 365});  // somewhere else, and stopped
  for (int step = 0; step < 200; ++step) {
    const std::string line = std::string(step % 3 == 0 ? "RL.PEEK" : "RL.ALLOW") + " k" +
                             std::to_string(step % 5) + " 3/s 7/11ms COST " +
                             std::to_string(step % 4) + " WITHLIMITS";
    ASSERT_EQ(client.Run(line + At(now)), there.Run(line)) << line << At(now);
    const Nanos wait{std::int64_t{step} * step * 100'003};
    there.clock().Advance(wait);
    now += wait;
  }
}

TEST(ExplicitTimeTest, AnswersAnyInstantThereIs) {
  Client client({.explicit_time = true});
  EXPECT_EQ(client.Run("RL.ALLOW a 10/s AT 0"), "*5\r\n:1\r\n:9\r\n:0\r\n:100\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW b 1/3285d,burst=4" + At(kInstantMax)),
            "*5\r\n:1\r\n:3\r\n:0\r\n:283824000000\r\n:0\r\n");
}

TEST(ExplicitTimeTest, DoesNotMoveTheClock) {
  Client client({.explicit_time = true});
  const std::string time = client.Run("TIME");
  const std::string first = client.Run("RL.ALLOW k 1/s");
  client.Run("RL.ALLOW other 1/s" + At(client.clock().Now() + hours{1}));
  EXPECT_EQ(client.Run("TIME"), time);
  EXPECT_EQ(client.Run("RL.ALLOW k 1/s"), "*5\r\n:0\r\n:0\r\n:1000\r\n:1000\r\n:0\r\n");
}

// Commands that look at buckets use the latest time that a request supplied; before the first one,
// the clock.
TEST(ExplicitTimeTest, LooksGoByTheLatestTime) {
  Client client({.explicit_time = true});
  const Instant start = client.clock().Now();
  client.Run("RL.ALLOW k 10/s COST 10");
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:0\r\n:1000\r\n:10\r\n:0\r\n");
  client.Run("RL.PEEK other 1/s" + At(start + milliseconds{300}));
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:3\r\n:700\r\n:7\r\n:0\r\n");
  client.Run("RL.ALLOW other 1/s COST 0" + At(start + milliseconds{1000}));
  EXPECT_EQ(client.Run("RL.INSPECT k"), "*0\r\n");
  EXPECT_EQ(client.Run("RL.RESET k"), ":0\r\n");
}

// A replay may start again: full buckets are kept, so an earlier instant still finds its bucket.
TEST(ExplicitTimeTest, AnEarlierTimeFindsItsBucket) {
  Client client({.explicit_time = true});
  client.Run("RL.ALLOW k 10/s COST 10 AT 1000000000");
  client.Run("RL.ALLOW other 10/s AT 9000000000");
  EXPECT_EQ(client.Run("RL.PEEK k 10/s AT 1500000000"), "*5\r\n:1\r\n:4\r\n:0\r\n:600\r\n:0\r\n");
}

// A refused request supplies no time.
TEST(ExplicitTimeTest, ABadRequestSetsNoTime) {
  Client client({.explicit_time = true});
  client.Run("RL.ALLOW k 10/s COST 10");
  for (const char* line :
       {"RL.ALLOW k 10/x AT 9000000000000000000", "RL.ALLOW k 10/s AT x",
        "RL.ALLOW k 10/s AT 4000000000000000000 AT 1", "RL.PEEK k @none AT 4000000000000000000"}) {
    EXPECT_TRUE(client.Ask(line).is_error()) << line;
    EXPECT_EQ(client.Run("RL.INSPECT k"), "*1\r\n*5\r\n$4\r\n10/s\r\n:0\r\n:1000\r\n:10\r\n:0\r\n");
  }
}

// On such a host, a request without AT uses the clock.
TEST(ExplicitTimeTest, WithoutItTheClockDecides) {
  Client client({.explicit_time = true});
  client.Run("RL.ALLOW k 1/s AT 0");
  EXPECT_EQ(client.Run("RL.ALLOW k 1/s"), "*5\r\n:1\r\n:0\r\n:0\r\n:1000\r\n:0\r\n");
  EXPECT_EQ(client.Run("RL.ALLOW k 1/s"), "*5\r\n:0\r\n:0\r\n:1000\r\n:1000\r\n:0\r\n");
}

}  // namespace
}  // namespace weir
