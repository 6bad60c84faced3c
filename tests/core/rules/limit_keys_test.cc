// Goal: each limit's rows hold the truth within the bound of their sketch, a limit that matters has
// a sketch, and memory stays bounded. Method: examples on a clock that a test moves; random denials
// compared with exact counts; one thread that adds while others read and clear, for ThreadSanitizer
// (the preset tsan).
#include "core/rules/limit_keys.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/table/key_hash.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/fake_clock.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;
using Row = TopKeys::Row;

std::uint64_t HashOf(std::string_view key) { return KeyHasher(HashSecret{})(key).hash; }

void Deny(LimitKeys& keys, std::string_view limit, std::string_view key) {
  keys.Add(limit, key, HashOf(key), 0);
}

std::vector<Row> RowsOf(const LimitKeys& keys, std::string_view limit) {
  const LimitKeys* const only = &keys;
  return LimitKeys::Merge({&only, 1}, limit, kTopKeysMax);
}

std::string SpelledOutLimit(std::size_t i) { return absl::StrCat(i + 1, "/s"); }

class LimitKeysTest : public testing::Test {
 protected:
  // Lets as many limits deny as there are sketches, all of them in one instant.
  void TakeAll() {
    for (std::size_t i = 0; i < kSketchedLimitsMax; ++i) Deny(keys_, SpelledOutLimit(i), "k");
  }
  // Moves the stopwatch.
  void Pass(Nanos span) {
    clock_.set_lap(span);
    static_cast<void>(clock_.Stopwatch());
    clock_.set_lap(Nanos{0});
  }

  FakeClock clock_;
  LimitKeys keys_{clock_};
};

TEST_F(LimitKeysTest, EachLimitHasTheKeysThatItDenies) {
  Deny(keys_, "@free#0", "a");
  Deny(keys_, "@free#0", "a");
  Deny(keys_, "@free#0", "b");
  Deny(keys_, "10/s", "b");
  EXPECT_THAT(RowsOf(keys_, "@free#0"), ElementsAre(Row{"a", 2, 0}, Row{"b", 1, 0}));
  EXPECT_THAT(RowsOf(keys_, "10/s"), ElementsAre(Row{"b", 1, 0}));
  EXPECT_THAT(RowsOf(keys_, "20/s"), IsEmpty());
}

TEST_F(LimitKeysTest, ThreadsAreMerged) {
  LimitKeys other(clock_);
  Deny(keys_, "10/s", "a");
  Deny(other, "10/s", "a");
  Deny(other, "20/s", "a");
  const std::vector<const LimitKeys*> both = {&keys_, &other};
  EXPECT_THAT(LimitKeys::Merge(both, "10/s", 9), ElementsAre(Row{"a", 2, 0}));
  EXPECT_THAT(LimitKeys::ByKey(both),
              UnorderedElementsAre(Pair(HashOf("a"), ElementsAre("10/s", "20/s"))));
}

TEST_F(LimitKeysTest, ClearForgets) {
  Deny(keys_, "10/s", "a");
  keys_.Clear();
  const LimitKeys* const only = &keys_;
  EXPECT_THAT(RowsOf(keys_, "10/s"), IsEmpty());
  EXPECT_THAT(LimitKeys::ByKey({&only, 1}), IsEmpty());
  Deny(keys_, "10/s", "b");
  EXPECT_THAT(RowsOf(keys_, "10/s"), ElementsAre(Row{"b", 1, 0}));
}

TEST_F(LimitKeysTest, ALimitWithoutASketchGetsThatOfAnIdleOne) {
  TakeAll();  // the minute begins
  for (std::size_t i = 1; i < kSketchedLimitsMax; ++i) Deny(keys_, SpelledOutLimit(i), "k");
  Pass(seconds{59});
  Deny(keys_, "1000/m", "k");
  EXPECT_THAT(RowsOf(keys_, "1000/m"), IsEmpty()) << "no sketch has been idle for a minute";
  Pass(seconds{1});
  Deny(keys_, "1000/m", "k");
  EXPECT_THAT(RowsOf(keys_, "1000/m"), ElementsAre(Row{"k", 1, 0}));
  EXPECT_THAT(RowsOf(keys_, SpelledOutLimit(0)), IsEmpty()) << "the only one that was idle";
  EXPECT_THAT(RowsOf(keys_, SpelledOutLimit(1)), ElementsAre(Row{"k", 2, 0}));
  Deny(keys_, "2000/m", "k");
  EXPECT_THAT(RowsOf(keys_, "2000/m"), IsEmpty()) << "all others have denied since";
}

TEST_F(LimitKeysTest, AGivenNameGetsTheSketchOfTheIdlestLimitThatIsSpelledOut) {
  TakeAll();
  Pass(seconds{1});
  for (std::size_t i = 0; i < kSketchedLimitsMax; ++i) {
    if (i != 7) Deny(keys_, SpelledOutLimit(i), "k");
  }
  Deny(keys_, "api", "k");
  EXPECT_THAT(RowsOf(keys_, "api"), ElementsAre(Row{"k", 1, 0}));
  EXPECT_THAT(RowsOf(keys_, SpelledOutLimit(7)), IsEmpty());
  for (std::size_t i = 1; i < kSketchedLimitsMax; ++i) Deny(keys_, absl::StrCat("@p#", i), "k");
  for (std::size_t i = 0; i < kSketchedLimitsMax; ++i) {
    EXPECT_THAT(RowsOf(keys_, SpelledOutLimit(i)), IsEmpty());
  }
  Deny(keys_, "@late#0", "k");
  EXPECT_THAT(RowsOf(keys_, "@late#0"), IsEmpty()) << "given names do not displace each other";
  for (int i = 0; i < 2; ++i) {
    Pass(LimitKeys::kIdleTime);
    Deny(keys_, "@late#0", "k");
  }
  EXPECT_THAT(RowsOf(keys_, "@late#0"), ElementsAre(Row{"k", 1, 0}));
}

// `counts`: how often the limit has denied each key.
void CheckRows(const std::vector<Row>& rows, const std::map<std::string, std::uint64_t>& counts) {
  std::uint64_t total = 0;
  for (const auto& [key, count] : counts) total += count;
  const std::uint64_t bound = 2 * total / kKeysOfLimitMax;
  RC_ASSERT(rows.size() <= kKeysOfLimitMax);
  std::set<std::string> listed;
  for (const Row& row : rows) {
    const std::uint64_t count = counts.at(row.key);
    RC_ASSERT(row.count >= count);
    RC_ASSERT(row.count - row.error <= count);
    RC_ASSERT(row.error <= bound);
    listed.insert(row.key);
  }
  for (const auto& [key, count] : counts) RC_ASSERT(count <= bound || listed.contains(key));
}

// The law of the sketch, for each limit alone, however the denials of limits are mixed.
TEST(LimitKeysLawTest, EachFrequentKeyIsThereAndNoEstimateIsTooLow) {
  CheckLaw(40, [] {
    std::mt19937_64 random(*Between<std::uint64_t>(0, UINT32_MAX));
    const auto below = [&random](std::uint64_t end) { return random() % end; };
    const FakeClock clock;
    LimitKeys keys(clock);
    std::map<std::string, std::map<std::string, std::uint64_t>> truth;
    const std::uint64_t denials = 1 + below(20'000);
    for (std::uint64_t i = 0; i < denials; ++i) {
      const std::string limit = SpelledOutLimit(below(5));
      // Few keys are denied often, and many seldom.
      const std::string key = std::to_string(below(1 + below(10'000)) / (1 + below(1'000)));
      ++truth[limit][key];
      Deny(keys, limit, key);
    }
    for (const auto& [limit, counts] : truth) CheckRows(RowsOf(keys, limit), counts);
  });
}

TEST(LimitKeysThreadsTest, OneAddsWhileOthersReadAndClear) {
  const FakeClock clock;
  LimitKeys keys(clock);
  const LimitKeys* const only = &keys;
  std::atomic<bool> adding = true;
  std::thread reader([&] {
    while (adding) {
      EXPECT_LE(LimitKeys::Merge({&only, 1}, "1/s", kTopKeysMax).size(), kKeysOfLimitMax);
      EXPECT_LE(LimitKeys::ByKey({&only, 1}).size(), kSketchedLimitsMax * kKeysOfLimitMax);
    }
  });
  std::thread clearer([&] {
    while (adding) keys.Clear();
  });
  const std::int64_t rounds = Scaled(20'000);
  for (std::int64_t i = 0; i < rounds; ++i) {
    const std::string key = std::to_string(i % 97);
    Deny(keys, i % 3 == 0 ? absl::StrCat("@p#", i % 200) : SpelledOutLimit(i % 100), key);
  }
  adding = false;
  reader.join();
  clearer.join();
}

}  // namespace
}  // namespace weir
