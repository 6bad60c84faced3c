// Goal: RL.STATS and RL.TOP add up the counts of all threads of the server. Method: conversations,
// and counters that the test changes directly. The counting is tested in
// tests/commands/stats_test.cc.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/rules/limit_counters.h"
#include "core/rules/top_keys.h"
#include "core/table/key_hash.h"
#include "tests/support/conversation.h"
#include "tests/support/stats_text.h"

namespace weir {
namespace {

// Ends the wait as a server that is about to stop does.
TEST(CmdStatsTest, AWaitEndedByAStopCountsForNothing) {
  Conversation client;
  client.Run("RL.ALLOW k 2/s COST 2");
  client.Run("RL.WAIT k 2/s TIMEOUT 1000");
  client.EndWait();
  EXPECT_EQ(client.server().worker.request_counters.allowed.value(), 1U);
  EXPECT_EQ(client.server().worker.request_counters.denied.value(), 0U);
}

TEST(CmdStatsTest, AddsUpWhatAllThreadsCount) {
  auto server = std::make_unique<TestServer>();
  Worker other(server->services);
  Conversation client(*server);
  client.Run("RL.ALLOW a 1/s");
  client.Run("RL.ALLOW a 1/s");
  CountersHint hint;
  other.request_counters.limits.Of("1/s", hint).denied.Add(5);
  other.request_counters.denied.Add(5);
  const std::uint64_t a = KeyHasher(TestServer::kSecret)("a").hash;
  for (int i = 0; i < 5; ++i) other.request_counters.denied_keys.Add("a", a, 0);
  EXPECT_EQ(StatsText(client), "(total) 1 6 0 1;1/s 1 6 0 1;");
  EXPECT_EQ(client.Show("RL.TOP 1"), "[[\"a\" 6 0]]");
  for (int i = 0; i < 5; ++i) other.request_counters.near_keys.Add("a", a, 0);
  EXPECT_EQ(client.Show("RL.TOP 1 NEAR"), "[[\"a\" 6 0]]");
}

// For any number of limits a bounded number of names is counted; the rest is counted together.
TEST(CmdStatsTest, NamesAreBounded) {
  LimitCounterTable stats;
  for (std::size_t i = 0; i < 2 * kCountedLimitsMax; ++i) {
    CountersHint hint;
    stats.Of(std::to_string(i) + "/s", hint).denied.Add();
  }
  std::size_t names = 0;
  std::uint64_t denied = 0;
  stats.ForEach([&](const std::string& name, const LimitCounters& counts, std::uint64_t) {
    ++names;
    denied += counts.denied.value();
    EXPECT_EQ(counts.denied.value(), name == kOtherLimits ? kCountedLimitsMax : 1);
  });
  EXPECT_EQ(names, kCountedLimitsMax + 1);
  EXPECT_EQ(denied, 2 * kCountedLimitsMax);
}

// Goal: no client takes a policy's row away. Method: one client's limits and labels would take all
// rows, on two threads, before and after a reset; the policy is used on both.
TEST(CmdStatsTest, ANameWithARowKeepsItOverAReset) {
  auto server = std::make_unique<TestServer>();
  Worker second(server->services);
  Conversation one(*server);
  Conversation two(*server, second);
  one.Run("RL.POLICY SET free 5/s");
  one.Run("RL.ALLOW z @free");
  EXPECT_EQ(StatsText(one), "(total) 1 0 0 0;@free#0 1 0 0 0;");
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i <= kCountedLimitsMax; ++i) {
      two.Run("RL.ALLOW k 1/s,name=l" + std::to_string(i));
      two.Run("RL.ALLOW k" + std::to_string(i) + " " + std::to_string(i + 1) + "/h");
    }
    two.Run("RL.ALLOW y @free");
    EXPECT_NE(StatsText(one).find(round == 0 ? "@free#0 2 0 0 0;" : "@free#0 1 0 0 0;"),
              std::string::npos);
    EXPECT_EQ(one.Run("RL.STATS RESET"), "+OK\r\n");
    EXPECT_EQ(StatsText(one), "(total) 0 0 0 0;");
  }
}

// CL.THROTTLE is counted whatever else is, and also after a reset.
TEST(CmdStatsTest, ThrottlesHaveAPlaceOfTheirOwn) {
  Conversation client;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i <= kCountedLimitsMax; ++i) {
      client.Run("RL.ALLOW k 1/s,name=l" + std::to_string(i));
    }
    client.Run("CL.THROTTLE y 5 10 1");
    EXPECT_NE(StatsText(client).find("cl.throttle 1 0 0 0;"), std::string::npos) << round;
    client.Run("RL.STATS RESET");
    client.Run("DEL y");
  }
}

}  // namespace
}  // namespace weir
