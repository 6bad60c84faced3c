// Goal: a replica gets all that its primary has, whatever the sizes of it, and an answer to its
// requests. Method: a server, and a Sink behind a bare socket.
#include "server/replicas/replicator.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/policies/policies.h"
#include "core/words/limit_grammar.h"
#include "tests/server/loopback.h"
#include "tests/server/replicas/bare_replica.h"
#include "tests/support/policy_limits.h"

namespace weir {
namespace {

// 64 limits of the longest words.
PolicyLimits LargestLimits() {
  std::vector<std::string> words;
  for (int i = 0; i < 64; ++i) {
    words.push_back(absl::StrCat(2'000'000'000 + i, "/30d,fixed,aligned,ban=3000d,shadow",
                                 ",cost=9223372036854775807,keep=9223372036854775807,name=",
                                 std::string(kLabelBytesMax, 'n')));
  }
  return LimitsOf(std::vector<std::string_view>(words.begin(), words.end()));
}

// A frame whose cut leaves less room than the largest record needs would end the server.
TEST(ReplicatorTest, OverridesOfAnySizeAreCopiedAndFollow) {
  LoopbackServer server;
  Policies& policies = server->services().policies;
  ASSERT_TRUE(policies.Set("p", LimitsOf({"1/s"})).ok());
  const PolicyLimits limits = LargestLimits();
  constexpr std::size_t kKeyBytesMax = std::size_t{64} << 10;
  std::size_t overrides = 0;
  // Every sum of sizes below a body's is followed by the largest record sooner or later.
  const auto add = [&] {
    const std::size_t bytes = overrides % 2 == 0 ? kKeyBytesMax : overrides * 1'500 % 40'000;
    const std::string number = std::to_string(overrides++);
    ASSERT_TRUE(
        policies.Override("p", number + std::string(bytes - number.size(), 'k'), limits).ok());
  };
  while (overrides < 60) add();
  BareReplica replica(server.port());
  replica.Connect();
  replica.AwaitOverrides(overrides);
  while (overrides < 120) add();
  replica.AwaitOverrides(overrides);
}

// Silence would mean that the primary is dead.
TEST(ReplicatorTest, AReplicaThatMayNotTakeOverIsToldSo) {
  LoopbackServer server;
  BareReplica replica(server.port());
  replica.Connect();
  replica.AwaitOverrides(0);
  replica.AskToTakeOver();
  replica.AwaitRefusal();
}

// A confirmation from before the switch may be on its way from a replica that is suspended now.
TEST(ReplicatorTest, OnlyAReplicaThatReadsAfterTheBeginningOfASwitchGetsTheRole) {
  LoopbackServer server;
  Replication& replication = *server->services().replication;
  BareReplica replica(server.port());
  replica.Connect();
  replica.AwaitOverrides(0);
  replica.Acknowledge();
  ASSERT_TRUE(Eventually([&] {
    const std::vector<ReplicaStatus> replicas = replication.status().replicas;
    return !replicas.empty() && replicas.front().synced;
  }));

  ASSERT_TRUE(replication.Failover({.timeout = std::chrono::milliseconds{50}}).ok());
  for (int i = 0; i < 3; ++i) replica.Acknowledge();
  ASSERT_TRUE(Eventually([&] { return replication.status().failover == FailoverState::kNone; }));
  EXPECT_EQ(replication.role(), ServerRole::kPrimary);

  ASSERT_TRUE(replication.Failover({}).ok());
  replica.AwaitYield();
}

}  // namespace
}  // namespace weir
