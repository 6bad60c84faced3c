// Goal: requests come out by time, equal times in the log's order, and exactly those lines are
// refused that go back further than the slack; a single line far ahead is taken back. Method:
// random logs, compared with a stable sort, and with the same log without the lines far ahead.
#include "replay/time_order.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

struct Out {
  std::int64_t at;
  std::string key;
  std::int64_t cost;
  std::vector<std::int64_t> word_costs;

  friend bool operator==(const Out&, const Out&) = default;
};

class Queue {
 public:
  explicit Queue(std::int64_t slack) : order_(Nanos{slack}, hasher_) {}

  absl::Status Add(const Out& in) {
    const LoggedKey keys[] = {
        {.key = in.key, .cost = in.cost, .hash = {}, .word_costs = in.word_costs},
        {.key = "second", .cost = in.cost + 1, .hash = {}, .word_costs = {}}};
    const absl::Status added =
        order_.Add(++line_, {.at = Instant{Nanos{in.at}}, .number = in.at, .keys = keys});
    if (const auto leap = order_.TakeLeapBack()) leaps_.push_back(leap->line_number);
    order_.Release([this](const LoggedRequest& request) { Take(request); }, [](KeyHash) {});
    return added;
  }
  [[nodiscard]] const std::vector<std::uint64_t>& leaps() const { return leaps_; }
  std::vector<Out> Finish() {
    order_.ReleaseAll([this](const LoggedRequest& request) { Take(request); }, [](KeyHash) {});
    return std::exchange(out_, {});
  }

 private:
  void Take(const LoggedRequest& request) {
    ASSERT_EQ(request.keys.size(), 2U);
    const LoggedKey& key = request.keys[0];
    EXPECT_EQ(key.hash, hasher_(key.key));
    EXPECT_EQ(request.keys[1].key, "second");
    EXPECT_EQ(request.keys[1].cost, key.cost + 1);
    EXPECT_EQ(request.number, request.at.time_since_epoch().count());
    out_.push_back({request.number,
                    std::string(key.key),
                    key.cost,
                    {key.word_costs.begin(), key.word_costs.end()}});
  }

  const KeyHasher hasher_{HashSecret{}};
  TimeOrder order_;
  std::uint64_t line_ = 0;
  std::vector<std::uint64_t> leaps_;
  std::vector<Out> out_;
};

TEST(TimeOrderTest, ComesOutAsAStableSortOfTheLinesWithinTheSlack) {
  CheckLaw(100, [] {
    const auto slack = *rc::gen::element<std::int64_t>(0, 1, 5, 50, 100'000);
    // Enough that the queue is released many times on the way.
    const auto count = *rc::gen::inRange<std::int64_t>(0, 30'000);
    const auto step = *rc::gen::inRange<std::int64_t>(0, 4);
    const auto back = *rc::gen::element<std::int64_t>(0, slack, slack + 1, 2 * slack);
    std::uint64_t random = *rc::gen::arbitrary<std::uint64_t>();
    Queue queue(slack);
    std::vector<Out> want;
    std::int64_t latest = 0;
    std::int64_t now = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      random = random * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
      now += step == 0 ? 0 : static_cast<std::int64_t>(random >> 40) % step;
      const std::int64_t jitter = static_cast<std::int64_t>(random >> 20 & 0xFFFFF) % (back + 1);
      Out in{std::max<std::int64_t>(now - jitter, 0), std::string(random % 40, 'k'), i, {}};
      if (i % 3 == 0) in.word_costs = {i, -1};
      const bool in_time = latest - in.at <= slack;
      RC_ASSERT(queue.Add(in).ok() == in_time);
      if (!in_time) continue;
      latest = std::max(latest, in.at);
      want.push_back(in);
    }
    std::ranges::stable_sort(want, {}, &Out::at);
    RC_ASSERT(queue.Finish() == want);
  });
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;

TEST(TimeOrderTest, SingleLinesFarAheadAreTakenBackAndChangeNothingElse) {
  CheckLaw(100, [] {
    const auto slack = *rc::gen::element<std::int64_t>(0, kSecond, 2 * kHour);
    const std::int64_t leap_min = std::max(kHour, slack);
    const auto count = *rc::gen::inRange<std::int64_t>(1, 10'000);
    const auto each = *rc::gen::inRange<std::int64_t>(1, 2 * count);  // which lines have one before
    Queue queue(slack);
    std::vector<Out> want;
    std::vector<std::uint64_t> want_leaps;
    std::int64_t now = *rc::gen::element<std::int64_t>(0, 400'000 * kHour);
    std::uint64_t line = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if ((i + 1) % each == 0) {
        RC_ASSERT(queue.Add({now + leap_min + 1 + i * kHour, "leap", i, {}}).ok());
        want_leaps.push_back(++line);
      }
      want.push_back({now, "k", i, {}});
      RC_ASSERT(queue.Add(want.back()).ok());
      ++line;
      now += i % 3 * 1000;
    }
    RC_ASSERT(queue.Finish() == want);
    RC_ASSERT(queue.leaps() == want_leaps);
  });
}

TEST(TimeOrderTest, ALineFarAheadStaysUnlessTheNextOneGoesBackBehindIt) {
  struct Times {
    std::vector<std::int64_t> at;
    std::vector<std::uint64_t> leaps;
    std::vector<std::int64_t> out;
  };
  const std::int64_t day = 24 * kHour;
  const Times cases[] = {
      {{0, day}, {}, {0, day}},                         // the log ends there
      {{0, day, day + 1}, {}, {0, day, day + 1}},       // a quiet day
      {{0, day, day - kHour, day}, {}, {0, day, day}},  // less than an hour too far back
      {{0, day, day - kHour - 1, day}, {2}, {0, day - kHour - 1, day}},
      {{10 * kSecond, day, 0, day}, {}, {10 * kSecond, day, day}},  // too late for both
      {{0, day, day, 1, 2}, {}, {0, day, day}},                     // two lines agree
      {{day, 0, 1}, {1}, {0, 1}},                                   // at the beginning
  };
  for (const Times& one : cases) {
    Queue queue(5 * kSecond);
    for (const std::int64_t at : one.at) static_cast<void>(queue.Add({at, "k", 1, {}}));
    EXPECT_EQ(queue.leaps(), one.leaps);
    std::vector<std::int64_t> out;
    for (const Out& request : queue.Finish()) out.push_back(request.at);
    EXPECT_EQ(out, one.out);
  }
}

TEST(TimeOrderTest, ALineThatGoesBackTooFarIsToldWithTheLineBeforeIt) {
  Queue queue(5'000'000'000);
  EXPECT_TRUE(queue.Add({10'000'000'000, "a", 1, {}}).ok());
  EXPECT_TRUE(queue.Add({60'000'000'000, "a", 1, {}}).ok());
  EXPECT_TRUE(queue.Add({55'000'000'000, "a", 1, {}}).ok());
  EXPECT_EQ(queue.Add({54'999'999'999, "a", 1, {}}).message(),
            "its time is 5.001 s before that of line 2, more than --slack, 5 s: sort the log or "
            "raise it");
}

}  // namespace
}  // namespace weir
