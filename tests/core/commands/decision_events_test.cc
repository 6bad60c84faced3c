// Goal: the first denial of a key by a limit is reported, and further ones once an interval; a
// percentage is reported when it is crossed. Method: random histories against a record of
// everything that was ever reported, and a count of the tokens in use.
#include "core/commands/decision_events.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/policies/limit_memo.h"
#include "core/rules/top_keys.h"
#include "tests/random/property.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kStart{seconds{1'000'000}};

// A key's only check, and the verdict about it.
class Decided {
 public:
  Decided(const std::string& key, const std::string& limit) : key_(key) {
    const std::vector<std::string_view> words = {key_, limit};
    request = *ParseRequest(words, memo_, KeyHashes(hasher_), RequestKind::kLook);
    verdict.decisions.resize(1);
  }

  ParsedRequest request;
  Verdict verdict;

 private:
  const std::string key_;
  const KeyHasher hasher_{HashSecret{}};
  LimitMemo memo_;
};

std::vector<std::string> MessagesOf(DecisionEvents& events) {
  std::vector<std::string> messages;
  for (const DecisionEvent& event : events.Take()) {
    messages.push_back(std::string(event.channel()) + " " + event.message);
  }
  return messages;
}

TEST(RecentEventsTest, TheFirstIsNeverLeftOutAndAnEarlyOneOnlyRepeatsAfterACollision) {
  CheckLaw(200, [] {
    RecentEvents recent;
    const Nanos interval = seconds{*rc::gen::inRange(0, 20)};
    // Few places and several events for each, so that they collide.
    std::map<std::uint64_t, Instant> told;
    std::map<std::uint64_t, std::uint64_t> last_in_place;
    Instant now = kStart;
    for (int step = 0; step < 300; ++step) {
      now += seconds{*rc::gen::inRange(0, 3)};
      const auto place = *rc::gen::inRange<std::uint64_t>(0, 3);
      const std::uint64_t hash = place + RecentEvents::kPlaces * *rc::gen::inRange(0, 3);
      const auto before = told.find(hash);
      const bool is_due = before == told.end() || now - before->second >= interval;
      const bool is_told = recent.Note(hash, now, interval);
      RC_ASSERT(is_told || !is_due);
      const auto last = last_in_place.find(place);
      const bool collided = last != last_in_place.end() && last->second != hash;
      RC_ASSERT(!is_told || is_due || collided);
      if (!is_told) continue;
      told[hash] = now;
      last_in_place[place] = hash;
    }
  });
}

TEST(RecentEventsTest, ATimeThatGoesBackIsAnInterval) {
  RecentEvents recent;
  EXPECT_TRUE(recent.Note(0, kStart, seconds{60})) << "no hash is taken for an empty place";
  EXPECT_FALSE(recent.Note(0, kStart, seconds{60}));
  EXPECT_TRUE(recent.Note(0, kStart - seconds{1}, seconds{60}));
}

TEST(DecisionEventsTest, AKeysFirstDenialByALimitInAnIntervalIsReported) {
  const Nanos interval = seconds{60};
  std::map<std::pair<int, int>, Decided> all;
  const std::vector<std::string> limits = {"1/s", "2/s", "3/s"};
  for (int key = 0; key < 2000; ++key) {
    for (int limit = 0; limit < 3; ++limit) {
      all.try_emplace({key, limit}, "key " + std::to_string(key), limits[limit]);
    }
  }
  CheckLaw(10, [&] {
    DecisionEvents events;
    std::map<std::pair<int, int>, Instant> told;
    Instant now = kStart;
    for (int step = 0; step < 3000; ++step) {
      now += Nanos{*rc::gen::inRange<std::int64_t>(0, 100'000'000)};
      const std::pair<int, int> which = {*rc::gen::inRange(0, 2000), *rc::gen::inRange(0, 3)};
      const Decided& decided = all.at(which);
      events.Collect(decided.request, decided.verdict, 1, {.now = now, .interval = interval});
      const std::vector<std::string> messages = MessagesOf(events);
      const auto before = told.find(which);
      RC_ASSERT(!messages.empty() || (before != told.end() && now - before->second < interval));
      if (messages.empty()) continue;
      told[which] = now;
      RC_ASSERT(messages == std::vector<std::string>{"weir:denied " + limits[which.second] +
                                                     " 0 key " + std::to_string(which.first)});
    }
  });
}

TEST(PercentsTest, ThatWhichIsCrossedIsTheGreatestReachedAndNotReachedBefore) {
  CheckLaw(10'000, [] {
    Percents percents;
    int percent = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(*rc::gen::inRange(0, 9)); ++i) {
      percent += *rc::gen::inRange(1, 13);
      percents.values.at(i) = static_cast<std::uint8_t>(percent);
    }
    const std::int64_t count = *NumberUpTo(kFixedCountMax);
    const std::int64_t a = *rc::gen::inRange<std::int64_t>(0, count + 1);
    const std::int64_t b = *rc::gen::inRange<std::int64_t>(0, count + 1);
    int expected = 0;
    for (const int value : percents.values) {
      const bool is_reached = b >= (value * count + 99) / 100;
      const bool was_reached = a >= (value * count + 99) / 100;
      if (value != 0 && is_reached && !was_reached) expected = value;
    }
    RC_ASSERT(percents.GreatestCrossed(count, a, b) == expected);
  });
}

TEST(DecisionEventsTest, EachPercentageOfAWindowIsReportedOnce) {
  CheckLaw(300, [] {
    DecisionEvents events;
    const int count = *rc::gen::inRange(1, 40);
    Decided decided("k", std::to_string(count) + "/h,fixed");
    decided.verdict.allowed = decided.verdict.decisions[0].allowed = true;
    const EventTerms terms = {.now = kStart, .percents = {{80, 95, 100}}};
    int last = 0;
    std::int64_t left = count;
    for (int step = 0; step < 20; ++step) {
      const std::int64_t cost =
          *rc::gen::inRange<std::int64_t>(0, std::min<std::int64_t>(left, 9) + 1);
      left -= cost;
      decided.request.checks[0].cost = cost;
      decided.verdict.decisions[0].remaining = left;
      events.Collect(decided.request, decided.verdict, 1, terms);
      const std::vector<std::string> messages = MessagesOf(events);
      const std::int64_t used = (count - left) * 100;
      const int reached = used >= 100 * count  ? 100
                          : used >= 95 * count ? 95
                          : used >= 80 * count ? 80
                                               : 0;
      RC_ASSERT(messages.size() == (reached > last ? 1 : 0));
      if (!messages.empty()) {
        RC_ASSERT(messages[0] == "weir:used " + std::to_string(reached) + " " +
                                     std::to_string(count) + "/h,fixed 0 k");
      }
      last = reached;
    }
  });
}

TEST(DecisionEventsTest, WhatIsTakenSeveralTimesIsCountedSoOften) {
  DecisionEvents events;
  Decided decided("k", "10/h,fixed");
  decided.verdict.allowed = decided.verdict.decisions[0].allowed = true;
  decided.verdict.decisions[0].remaining = 3;
  decided.request.checks[0].cost = 2;
  const EventTerms terms = {.now = kStart, .percents = {{50}}};
  events.Collect(decided.request, decided.verdict, 1, terms);
  EXPECT_THAT(MessagesOf(events), IsEmpty()) << "from 50 % to 70 %";
  events.Collect(decided.request, decided.verdict, 2, terms);
  EXPECT_THAT(MessagesOf(events), ElementsAre("weir:used 50 10/h,fixed 0 k"));
}

TEST(DecisionEventsTest, EventsThatWaitAreBounded) {
  DecisionEvents events;
  const Decided decided(std::string(kTopKeyBytesMax, 'k'), "1/s");
  const EventTerms terms = {.now = kStart};
  const auto fill = [&] {
    for (int i = 0; i < 10'000; ++i) events.Collect(decided.request, decided.verdict, 1, terms);
  };
  fill();
  std::size_t bytes = 0;
  const std::vector<DecisionEvent> full = events.Take();
  for (const DecisionEvent& event : full) bytes += event.message.size();
  EXPECT_LE(bytes, DecisionEvents::kBytesMax);
  EXPECT_GT(bytes, DecisionEvents::kBytesMax - 1024);
  fill();
  const EventTerms in_an_interval = {.now = kStart, .interval = seconds{60}};
  const Decided dropped(std::string(kTopKeyBytesMax, 'd'), "1/s");
  events.Collect(dropped.request, dropped.verdict, 1, in_an_interval);
  EXPECT_THAT(MessagesOf(events), testing::SizeIs(full.size()));
  events.Collect(dropped.request, dropped.verdict, 1, in_an_interval);
  EXPECT_THAT(MessagesOf(events), testing::SizeIs(1)) << "what was dropped is not noted as told";
}

TEST(DecisionEventsTest, OnlyTheKindsThatAreWantedAreCollected) {
  DecisionEvents events;
  Decided decided("k", "1/h,fixed");
  events.Collect(decided.request, decided.verdict, 1, {.now = kStart, .denied = false});
  decided.verdict.allowed = decided.verdict.decisions[0].allowed = true;
  const Percents percents = {{100}};
  events.Collect(decided.request, decided.verdict, 1,
                 {.now = kStart, .percents = percents, .used = false});
  EXPECT_THAT(MessagesOf(events), IsEmpty());
  events.Collect(decided.request, decided.verdict, 1, {.now = kStart, .percents = percents});
  EXPECT_THAT(MessagesOf(events), ElementsAre("weir:used 100 1/h,fixed 0 k"));
}

}  // namespace
}  // namespace weir
