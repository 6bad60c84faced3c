// Goal: each code of the verdict is brought about by its facts, alone, and passes with them; the
// state is that of the worst, and a reason keeps the time of its beginning. Method: a table of
// changes to the facts of a server that is well.
#include "server/health/health.h"

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr HostInstant kMoment{seconds{1'000}};

HealthFacts Well() {
  HealthFacts facts;
  facts.now = kMoment;
  facts.minute.commands = 100'000;
  facts.minute.calls = 100'000;
  facts.minute.p99 = milliseconds{10};
  facts.memory_permille = 799;
  return facts;
}

struct Cause {
  std::string_view code;
  HealthState state;
  std::function<void(HealthFacts&)> bring;
  std::string text;
};

constexpr HealthState kWarn = HealthState::kWarn;
constexpr HealthState kBad = HealthState::kBad;

const std::vector<Cause> kCauses = {
    {"loading", kBad, [](auto& facts) { facts.loading = true; }, "the state is loading from disk"},
    {"loading", kBad,
     [](auto& facts) {
       facts.role = ServerRole::kReplica;
       facts.complete = false;
     },
     "the first state is coming from the primary"},
    {"save_failing", kBad, [](auto& facts) { facts.save_error = "No space left on device\n"; },
     R"(saving fails (No space left on device\n))"},
    {"disk_refuses", kBad,
     [](auto& facts) {
       facts.save_error = "No space left on device";
       facts.cannot_save = true;
     },
     "changes are refused, as they cannot be saved (No space left on device)"},
    {"link_down", kBad,
     [](auto& facts) {
       facts.role = ServerRole::kReplica;
       facts.link_up = false;
       facts.primary = "10.0.0.1:7379";
     },
     "the primary 10.0.0.1:7379 is not heard"},
    {"deposed", kBad, [](auto& facts) { facts.role = ServerRole::kDeposed; },
     "another server has become the primary"},
    {"gated", kBad, [](auto& facts) { facts.role = ServerRole::kGated; },
     "the start waits for Sentinel"},
    {"too_few_replicas", kBad,
     [](auto& facts) {
       facts.lacks_replicas = true;
       facts.replicas_good = 1;
       facts.replicas_needed = 2;
     },
     "1 of 2 needed replicas are in sync: nothing is admitted"},
    {"memory_full", kBad,
     [](auto& facts) {
       facts.minute.evicted = 7;
       facts.minute.evicted_full = 100;
       facts.memory_permille = 990;
     },
     "memory is full: 7 buckets in use were dropped within a minute"},
    {"memory_high", kWarn, [](auto& facts) { facts.memory_permille = 800; },
     "memory: 80 % of the room for buckets or holds"},
    {"evicting", kWarn,
     [](auto& facts) {
       facts.minute.evicted_full = 3;
       facts.memory_permille = 990;
     },
     "memory is nearly full: 3 full buckets were dropped early within a minute"},
    {"rejecting_clients", kWarn, [](auto& facts) { facts.minute.rejected = 2; },
     "clients turned away within a minute: 2"},
    {"replica_away", kWarn, [](auto& facts) { facts.away = {"10.0.0.3:7379"}; },
     "replica 10.0.0.3:7379 is away"},
    {"replica_away", kWarn,
     [](auto& facts) {
       facts.away = {"a:1", "b:2", "c:3", "d:4"};
     },
     "4 replicas are away: a:1, b:2, c:3, ..."},
    {"errors", kWarn, [](auto& facts) { facts.minute.errors = 1'001; },
     "1001 errors in 100000 commands of a minute"},
    {"clock_off", kWarn, [](auto& facts) { facts.clock_offset = milliseconds{1'501}; },
     "the server's time is 1.5 s behind the wall clock"},
    {"clock_off", kWarn, [](auto& facts) { facts.clock_offset = -seconds{60}; },
     "the server's time is 60.0 s ahead of the wall clock"},
    {"slow", kWarn, [](auto& facts) { facts.minute.p99 = milliseconds{25}; },
     "slow: 1 % of the calls of a minute took over 25.0 ms"},
    {"rules_old", kWarn, [](auto& facts) { facts.rules_error = "r.yaml:1: no domain"; },
     "the rules of Envoy's service are not in force (r.yaml:1: no domain)"},
    {"control_plane_away", kWarn, [](auto& facts) { facts.plane_away = "eg:18001"; },
     "the control plane eg:18001 is not connected"},
    {"no_login", kWarn, [](auto& facts) { facts.open_place = "0.0.0.0:7379"; },
     "other hosts reach 0.0.0.0:7379 without a login"},
};

TEST(HealthTest, AServerWithoutACauseIsWell) {
  EXPECT_EQ(Judge(HealthFacts{}, {}), Health{});
  EXPECT_EQ(Judge(Well(), {}), Health{});
  EXPECT_EQ(CodesOf(Health{}), "");
}

TEST(HealthTest, EachCauseBringsItsCodeAloneAndPasses) {
  for (const Cause& cause : kCauses) {
    HealthFacts facts = Well();
    cause.bring(facts);
    const Health health = Judge(facts, {});
    EXPECT_EQ(health.state, cause.state) << cause.code;
    EXPECT_THAT(health.reasons, ElementsAre(HealthReason{cause.code, cause.text, kMoment}))
        << cause.code;
    EXPECT_EQ(Judge(Well(), health), Health{}) << cause.code;
  }
}

TEST(HealthTest, EachCodeHasACauseAndOneState) {
  std::set<std::string_view> caused;
  for (const Cause& cause : kCauses) caused.insert(cause.code);
  std::set<std::string_view> codes;
  for (const HealthCode& code : HealthCodes()) {
    EXPECT_TRUE(codes.insert(code.code).second) << code.code;
    for (const Cause& cause : kCauses) {
      if (cause.code != code.code) continue;
      EXPECT_EQ(cause.state, code.state) << code.code;
    }
  }
  EXPECT_EQ(caused, codes);
}

// Bounds, from the side on which nothing is wrong.
TEST(HealthTest, ABoundThatIsReachedOnlyJustIsNoReason) {
  HealthFacts facts = Well();
  facts.minute.errors = 1'000;  // 1 % of the commands
  facts.clock_offset = kClockOff;
  EXPECT_EQ(Judge(facts, {}), Health{});
  facts.clock_offset = -kClockOff;
  EXPECT_EQ(Judge(facts, {}), Health{});
  facts.memory_permille.reset();
  EXPECT_EQ(Judge(facts, {}), Health{});
}

// A user who mistypes three of four commands is no reason, nor is one slow call of an idle server.
TEST(HealthTest, AHandfulIsNoShare) {
  HealthFacts facts = Well();
  facts.minute = {.commands = 12, .errors = 9, .calls = 99, .p99 = seconds{1}};
  EXPECT_EQ(Judge(facts, {}), Health{});
  facts.minute.errors = 10;
  EXPECT_EQ(CodesOf(Judge(facts, {})), "errors");
  facts.minute = {.commands = 100, .calls = 100, .p99 = seconds{1}};
  EXPECT_EQ(CodesOf(Judge(facts, {})), "slow");
}

// These facts mean something for a server of one role only.
TEST(HealthTest, ARoleHasItsOwnReasons) {
  HealthFacts facts = Well();
  facts.link_up = false;
  facts.complete = false;
  EXPECT_EQ(Judge(facts, {}), Health{});
  facts = Well();
  facts.role = ServerRole::kReplica;
  facts.lacks_replicas = true;
  EXPECT_EQ(Judge(facts, {}), Health{});
}

TEST(HealthTest, TheWorstReasonsComeFirstAndGiveTheState) {
  HealthFacts facts = Well();
  facts.open_place = "0.0.0.0:7379";
  facts.away = {"10.0.0.3:7379"};
  const Health warns = Judge(facts, {});
  EXPECT_EQ(warns.state, kWarn);
  EXPECT_EQ(CodesOf(warns), "replica_away,no_login");
  facts.save_error = "I/O error";
  const Health is_bad = Judge(facts, warns);
  EXPECT_EQ(is_bad.state, kBad);
  EXPECT_EQ(CodesOf(is_bad), "save_failing,replica_away,no_login");
  EXPECT_EQ(WordOf(is_bad.state), "bad");
  EXPECT_EQ(WordOf(warns.state), "warn");
  EXPECT_EQ(WordOf(HealthState::kWell), "ok");
}

TEST(HealthTest, AReasonKeepsTheTimeOfItsBeginningWhileItHolds) {
  HealthFacts facts = Well();
  facts.save_error = "I/O error";
  Health health = Judge(facts, {});
  facts.now += seconds{30};
  facts.save_error = "No space left on device";
  facts.loading = true;
  health = Judge(facts, health);
  EXPECT_THAT(
      health.reasons,
      ElementsAre(HealthReason{"loading", "the state is loading from disk", facts.now},
                  HealthReason{"save_failing", "saving fails (No space left on device)", kMoment}));
  facts.loading = false;
  facts.save_error.clear();
  health = Judge(facts, health);
  EXPECT_THAT(health.reasons, IsEmpty());
  facts.save_error = "I/O error";
  facts.now += seconds{1};
  EXPECT_EQ(Judge(facts, health).reasons[0].since, facts.now) << "it has begun again";
}

}  // namespace
}  // namespace weir
