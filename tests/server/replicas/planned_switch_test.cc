// Goal: a planned switch begins when a replica is close and is there, and never with one that would
// forget something. Method: examples.
#include "server/replicas/planned_switch.h"

#include <chrono>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/fake_clock.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using What = PlannedSwitch::What;

constexpr std::uint64_t kHead = 10'000'000;
constexpr HostInstant kBegin = FakeClock::kHostStart;

// A replica that has everything and has just said so.
ReplicaStatus Close(const char* ip) {
  return {.run_id = ip, .ip = ip, .port = 7379, .online = true, .synced = true, .offset = kHead};
}

What WhatAt(const PlannedSwitch& planned, const std::vector<ReplicaStatus>& replicas,
            milliseconds later = milliseconds{1}) {
  return planned.Next(replicas, kHead, kBegin + later).what;
}

TEST(PlannedSwitchTest, YieldsToAReplicaThatIsClose) {
  const PlannedSwitch planned({}, kBegin);
  EXPECT_EQ(WhatAt(planned, {Close("a")}), What::kYield);
  ReplicaStatus replica = Close("a");
  replica.offset = kHead - kCloseBytes;
  EXPECT_EQ(WhatAt(planned, {replica}), What::kYield);
  --replica.offset;
  EXPECT_EQ(WhatAt(planned, {replica}), What::kWait);
  replica = Close("a");
  replica.offset = kHead + 1;  // The head was read before.
  EXPECT_EQ(WhatAt(planned, {replica}), What::kYield);
  EXPECT_EQ(WhatAt(planned, {}), What::kWait);
}

TEST(PlannedSwitchTest, WaitsUntilTheReplicaSaysThatItIsThere) {
  const PlannedSwitch planned({}, kBegin);
  ReplicaStatus replica = Close("a");
  replica.lag = milliseconds{3};
  EXPECT_EQ(WhatAt(planned, {replica}, milliseconds{2}), What::kWait);
  EXPECT_EQ(WhatAt(planned, {replica}, milliseconds{3}), What::kYield);
}

TEST(PlannedSwitchTest, ChoosesTheOneThatHasMost) {
  ReplicaStatus less = Close("less");
  less.offset = kHead - 1;
  ReplicaStatus half = Close("half");
  half.synced = false;
  const PlannedSwitch any({}, kBegin);
  EXPECT_EQ(any.Next(std::vector{less, Close("most"), half}, kHead, kBegin).target.ip, "most");
  const PlannedSwitch one({.to = HostAndPort{"less", 7379}}, kBegin);
  EXPECT_EQ(one.Next(std::vector{less, Close("most")}, kHead, kBegin).target.ip, "less");
  EXPECT_EQ(WhatAt(one, {Close("most")}), What::kWait);
}

TEST(PlannedSwitchTest, PrefersOneThatAnswers) {
  ReplicaStatus silent = Close("silent");
  silent.lag = std::chrono::seconds{3};
  ReplicaStatus less = Close("answers");
  less.offset = kHead - 1;
  const PlannedSwitch planned({}, kBegin);
  EXPECT_EQ(planned.Next(std::vector{silent, less}, kHead, kBegin).target.ip, "answers");
}

TEST(PlannedSwitchTest, GivesUpAfterTheTimeout) {
  ReplicaStatus behind = Close("a");
  behind.offset = 0;
  const FailoverRequest request = {.timeout = milliseconds{50}};
  EXPECT_EQ(WhatAt(PlannedSwitch(request, kBegin), {behind}, milliseconds{49}), What::kWait);
  EXPECT_EQ(WhatAt(PlannedSwitch(request, kBegin), {behind}, milliseconds{50}), What::kGiveUp);
  EXPECT_EQ(WhatAt(PlannedSwitch({}, kBegin), {behind}, milliseconds{9999}), What::kWait);
  EXPECT_EQ(WhatAt(PlannedSwitch({}, kBegin), {behind}, milliseconds{10000}), What::kGiveUp);
}

TEST(PlannedSwitchTest, ForceYieldsAfterTheTimeoutButNotToHalfACopy) {
  const PlannedSwitch planned(
      {.to = HostAndPort{"a", 7379}, .force = true, .timeout = milliseconds{50}}, kBegin);
  ReplicaStatus behind = Close("a");
  behind.offset = 0;
  behind.lag = std::chrono::seconds{3};
  EXPECT_EQ(WhatAt(planned, {behind}, milliseconds{49}), What::kWait);
  EXPECT_EQ(WhatAt(planned, {behind}, milliseconds{50}), What::kYield);
  behind.synced = false;
  EXPECT_EQ(WhatAt(planned, {behind}, milliseconds{50}), What::kGiveUp);
}

TEST(PlannedSwitchTest, TakesNoReplicaThatCannotSaveUnlessItIsForced) {
  ReplicaStatus full = Close("full");
  full.cannot_save = true;
  ReplicaStatus less = Close("less");
  less.offset = kHead - 1;
  const FailoverRequest request = {.timeout = milliseconds{50}};
  const PlannedSwitch any(request, kBegin);
  EXPECT_EQ(any.Next(std::vector{full, less}, kHead, kBegin).target.ip, "less");
  EXPECT_EQ(WhatAt(any, {full}, milliseconds{49}), What::kWait);
  const auto step = any.Next(std::vector{full}, kHead, kBegin + milliseconds{50});
  EXPECT_EQ(step.what, What::kGiveUp);
  EXPECT_EQ(step.reason, "the replica cannot save to its disk");
  FailoverRequest named = {.to = HostAndPort{"full", 7379}, .timeout = milliseconds{50}};
  EXPECT_EQ(WhatAt(PlannedSwitch(named, kBegin), {full, less}, milliseconds{50}), What::kGiveUp);
  named.force = true;
  EXPECT_EQ(WhatAt(PlannedSwitch(named, kBegin), {full, less}, milliseconds{49}), What::kWait);
  EXPECT_EQ(WhatAt(PlannedSwitch(named, kBegin), {full, less}, milliseconds{50}), What::kYield);
}

TEST(PlannedSwitchTest, AsksForAReplicaThatIsThere) {
  ReplicaStatus syncing = Close("b");
  syncing.online = false;
  const std::vector<ReplicaStatus> replicas = {Close("a"), syncing};
  const auto error = [&](FailoverRequest request) { return FailoverError(request, replicas); };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.to = HostAndPort{"a", 7379}}), "");
  EXPECT_EQ(error({.to = HostAndPort{"a", 7380}}),
            "ERR FAILOVER target HOST and PORT is not a replica.");
  EXPECT_EQ(error({.to = HostAndPort{"b", 7379}}), "ERR FAILOVER target replica is not online.");
  EXPECT_EQ(error({.to = HostAndPort{"a", 7379}, .force = true}),
            "ERR FAILOVER with force option requires both a timeout and target HOST and IP.");
  EXPECT_EQ(FailoverError({}, {}), "ERR FAILOVER requires connected replicas.");
}

}  // namespace
}  // namespace weir
