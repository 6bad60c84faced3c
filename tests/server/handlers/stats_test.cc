// Goal: RL.STATS and RL.TOP add up what all threads of the server counted. Method: conversations,
// and counters that the test moves itself. What is counted is in tests/commands/stats_test.cc.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/rules/limit_stats.h"
#include "core/rules/top_keys.h"
#include "core/table/key_hash.h"
#include "tests/support/conversation.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

// As when the server is about to stop.
TEST(CmdStatsTest, WhoIsSentAwayCountsForNothing) {
  Conversation client;
  client.Run("RL.ALLOW k 2/s COST 2");
  client.Run("RL.WAIT k 2/s TIMEOUT 1000");
  client.EndWait();
  EXPECT_EQ(client.server().worker.tally.allowed.value(), 1U);
  EXPECT_EQ(client.server().worker.tally.denied.value(), 0U);
}

TEST(CmdStatsTest, AddsUpWhatAllThreadsCount) {
  auto server = std::make_unique<TestServer>();
  Worker other(server->services);
  Conversation client(*server);
  client.Run("RL.ALLOW a 1/s");
  client.Run("RL.ALLOW a 1/s");
  other.tally.limits.Of("1/s")->denied.Add(5);
  other.tally.denied.Add(5);
  const std::uint64_t a = KeyHasher(TestServer::kSecret)("a").hash;
  for (int i = 0; i < 5; ++i) other.tally.denied_keys.Add("a", a);
  EXPECT_EQ(StatsText(client), "(total) 1 6 0 1;1/s 1 6 0 1;");
  EXPECT_EQ(client.Show("RL.TOP 1"), "1) 1) \"a\"\n   2) (integer) 6\n   3) (integer) 0");
}

// However many limits are made up, so many names are counted, and the rest together.
TEST(CmdStatsTest, NamesAreBounded) {
  LimitStats stats;
  for (std::size_t i = 0; i < 2 * kCountedLimitsMax; ++i) {
    stats.Of(std::to_string(i) + "/s")->denied.Add();
  }
  std::size_t names = 0;
  std::uint64_t denied = 0;
  stats.ForEach([&](const std::string& name, const LimitCounts& counts) {
    ++names;
    denied += counts.denied.value();
    EXPECT_EQ(counts.denied.value(), name == kOtherLimits ? kCountedLimitsMax : 1);
  });
  EXPECT_EQ(names, kCountedLimitsMax + 1);
  EXPECT_EQ(denied, 2 * kCountedLimitsMax);
}

}  // namespace
}  // namespace weir
