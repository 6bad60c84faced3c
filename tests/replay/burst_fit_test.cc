// Goal: the burst that is found admits the share, and the next smaller one does not. Method: random
// logs of a few keys; how many pass with a burst is counted by the log of admissions
// (tests/support/oracle.h), and for the other commands by a trial of that limit.
#include "replay/burst_fit.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "core/policies/policies.h"
#include "replay/question.h"
#include "replay/trial.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/oracle.h"

namespace weir {
namespace {

const KeyHasher kHasher{HashSecret{}};
constexpr Nanos kMaxWait = std::chrono::seconds{1};
constexpr LimitShape kShapes[] = {{.count = 10, .period = std::chrono::seconds{1}, .burst = 1},
                                  {.count = 7, .period = std::chrono::milliseconds{11}, .burst = 9},
                                  {.count = 3, .period = std::chrono::hours{1}, .burst = 2}};

struct Item {
  LoggedAction action = LoggedAction::kAllow;
  std::int64_t at = 0;
  std::int64_t cost = 1;
  std::string key;
  std::int64_t number = 0;
};

Limit WithBurst(LimitShape shape, std::int64_t burst) {
  shape.burst = burst;
  return *Limit::Create(shape);
}

BurstFit FitOf(const LimitShape& shape, const std::vector<Item>& items) {
  const Limit limit = *Limit::Create(shape);
  BurstFit fit({.key = "", .limit = &limit}, kMaxWait);
  for (const Item& item : items) {
    if (item.action == LoggedAction::kClear) {
      fit.AddClear();
      continue;
    }
    const LoggedKey key{.key = item.key};
    fit.Add({Instant{Nanos{item.at}}, item.action, item.number, {&key, 1}}, kHasher(item.key),
            item.cost);
  }
  return fit;
}

// About as many requests as tokens come back, so that most bursts matter.
std::vector<Item> AnyLog(const LimitShape& shape, std::int64_t cost_max) {
  std::vector<Item> items(static_cast<std::size_t>(*Between<std::int64_t>(1, 120)));
  std::int64_t now = 1'000'000'000'000;
  const std::int64_t step = shape.period.count() / shape.count;
  for (Item& item : items) {
    now += *rc::gen::element<std::int64_t>(0, 0, 1, step / 2, step, 3 * step);
    item = {.at = now,
            .cost = *Between<std::int64_t>(cost_max == 1 ? 1 : 0, cost_max),
            .key = *rc::gen::element<std::string>("a", "a", "b")};
  }
  return items;
}

std::uint64_t Admitted(const LimitShape& shape, std::int64_t burst, const std::vector<Item>& log) {
  std::map<std::string, LogOracle> keys;
  std::uint64_t admitted = 0;
  for (const Item& item : log) {
    LogOracle& oracle = keys.try_emplace(item.key, WithBurst(shape, burst)).first->second;
    const Instant at{Nanos{item.at}};
    admitted += oracle.Ask(at, static_cast<std::uint64_t>(item.cost)).allowed ? 1 : 0;
  }
  return admitted;
}

std::uint64_t Wanted(std::size_t checks, std::int64_t share) {
  return (checks * static_cast<std::uint64_t>(share) + kAllPercent - 1) / kAllPercent;
}

TEST(BurstFitTest, CountsWhatTheLogOfAdmissionsAdmits) {
  CheckLaw(300, [] {
    const LimitShape shape =
        *rc::gen::elementOf(std::vector(std::begin(kShapes), std::end(kShapes)));
    const std::vector<Item> log = AnyLog(shape, 4);
    BurstFit fit = FitOf(shape, log);
    const std::int64_t burst = *Between<std::int64_t>(1, 60);
    RC_ASSERT(fit.CountAdmitted(burst) == Admitted(shape, burst, log));
  });
}

TEST(BurstFitTest, TheBurstIsEnoughAndTheNextSmallerOneIsNot) {
  CheckLaw(300, [] {
    const LimitShape shape =
        *rc::gen::elementOf(std::vector(std::begin(kShapes), std::end(kShapes)));
    const std::int64_t cost_max = *rc::gen::element<std::int64_t>(1, 4);
    const std::vector<Item> log = AnyLog(shape, cost_max);
    const std::int64_t share =
        *rc::gen::element<std::int64_t>(100'000'000, 99'900'000, 90'000'000, 50'000'000, 1);
    const std::uint64_t wanted = Wanted(log.size(), share);
    const std::int64_t burst = FitOf(shape, log).Find(share).value();
    RC_ASSERT(Admitted(shape, burst, log) >= wanted);
    RC_ASSERT((burst == 1 || Admitted(shape, burst - 1, log) < wanted));
    if (cost_max > 1 || share < kAllPercent) return;
    for (std::int64_t less = 1; less < burst; ++less) {
      RC_ASSERT(Admitted(shape, less, log) < wanted);
    }
  });
}

// A limit of one token in nine years has room for four tokens at most.
TEST(BurstFitTest, NoBurstIsEnoughForALogThatIsFarAboveTheRate) {
  const LimitShape shape{.count = 1, .period = kPeriodMax, .burst = 1};
  std::int64_t most = 1;
  while (Limit::Create({.count = 1, .period = kPeriodMax, .burst = most + 1}).ok()) ++most;
  const std::vector<Item> log(static_cast<std::size_t>(most), {.key = "a"});
  EXPECT_EQ(FitOf(shape, log).Find(kAllPercent), most);
  std::vector<Item> longer = log;
  longer.push_back({.key = "a"});
  EXPECT_EQ(FitOf(shape, longer).Find(kAllPercent), std::nullopt);
  EXPECT_EQ(FitOf(shape, longer).Find(50 * kPercent),
            static_cast<std::int64_t>(longer.size() + 1) / 2);
  EXPECT_EQ(FitOf(shape, {}).Find(kAllPercent), std::nullopt);
}

TEST(BurstFitTest, ShadowsAreFittedAsIfTheyDenied) {
  const std::vector<Item> log(5, {.key = "a"});
  LimitShape shape = kShapes[2];
  shape.shadow = true;
  EXPECT_EQ(FitOf(shape, log).Find(kAllPercent), 5);
  EXPECT_EQ(FitOf(shape, log).Find(60 * kPercent), 3);
}

// Ten at once, of which two tokens must be left: the greatest backlog alone is not enough.
TEST(BurstFitTest, TokensThatAreKeptNeedAsMuchMoreBurst) {
  const std::vector<Item> log(10, {.key = "a"});
  const Limit limit = *Limit::Create(kShapes[2]);
  BurstFit fit({.key = "", .limit = &limit, .keep = 2}, kMaxWait);
  for (const Item& item : log) {
    const LoggedKey key{.key = item.key};
    fit.Add({.at = Instant{}, .keys = {&key, 1}}, KeyHash{}, item.cost);
  }
  EXPECT_EQ(fit.Find(kAllPercent), 12);
  EXPECT_EQ(fit.Find(50 * kPercent), 7);
  EXPECT_EQ(fit.CountAdmitted(2), 0U);
}

// All commands, against a trial of the whole log with that burst.
TEST(BurstFitTest, OtherCommandsCountAsInATrial) {
  CheckLaw(300, [] {
    std::vector<Item> log = AnyLog(kShapes[0], 3);
    for (Item& item : log) {
      item.action = *rc::gen::element(
          LoggedAction::kAllow, LoggedAction::kAllow, LoggedAction::kTake, LoggedAction::kWait,
          LoggedAction::kCharge, LoggedAction::kRefund, LoggedAction::kReset, LoggedAction::kClear);
      if (item.action == LoggedAction::kTake) item.number = *Between<std::int64_t>(1, 5);
      if (item.action == LoggedAction::kWait) item.number = *Between<std::int64_t>(0, 500);
    }
    const std::int64_t burst = *Between<std::int64_t>(1, 20);
    const Policies policies;
    const std::string ask = "{key} 10/s,burst=" + std::to_string(burst);
    Trial trial(*Question::Parse(ask, &policies), HashSecret{}, kMaxWait, std::nullopt);
    for (const Item& item : log) {
      const LoggedKey key{.key = item.key, .cost = item.cost, .hash = kHasher(item.key)};
      LoggedRequest logged{Instant{Nanos{item.at}}, item.action, item.number, {&key, 1}};
      if (item.action == LoggedAction::kClear) logged.keys = {};
      trial.Replay(logged);
    }
    BurstFit fit = FitOf(kShapes[0], log);
    RC_ASSERT(fit.CountAdmitted(burst) == trial.MakeReport().admitted);
    if (fit.checks() == 0) return;
    const std::int64_t found = fit.Find(80 * kPercent).value();
    RC_ASSERT(fit.CountAdmitted(found) >= Wanted(fit.checks(), 80 * kPercent));
    RC_ASSERT((found == 1 || fit.CountAdmitted(found - 1) < Wanted(fit.checks(), 80 * kPercent)));
  });
}

}  // namespace
}  // namespace weir
