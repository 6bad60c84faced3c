// Goal: the sketch never underestimates, bounds its overestimates, keeps every frequent key, and
// stays within its capacity. Method: examples; random streams compared with exact counts; one
// thread that adds while others read and clear, for ThreadSanitizer (the preset tsan).
#include "core/rules/top_keys.h"

#include <atomic>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "core/table/key_hash.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

using testing::ElementsAre;
using Row = TopKeys::Row;

std::vector<Row> RowsOf(const TopKeys& sketch, std::size_t rows_max = kTopKeysMax) {
  const TopKeys* const only = &sketch;
  return TopKeys::Merge({&only, 1}, rows_max);
}

void AddMany(TopKeys& sketch, std::string_view key, int times) {
  const std::uint64_t hash = KeyHasher(HashSecret{})(key).hash;
  for (int i = 0; i < times; ++i) sketch.Add(key, hash, 0);
}
void Add(TopKeys& sketch, std::string_view key) { AddMany(sketch, key, 1); }

TEST(TopKeysTest, CountsExactlyWhileThereIsRoom) {
  TopKeys sketch(3);
  EXPECT_TRUE(RowsOf(sketch).empty());
  AddMany(sketch, "b", 2);
  AddMany(sketch, "a", 5);
  AddMany(sketch, "c", 2);
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 5, 0}, Row{"b", 2, 0}, Row{"c", 2, 0}));
  EXPECT_THAT(RowsOf(sketch, 1), ElementsAre(Row{"a", 5, 0}));
}

// "c" is more than half of the stream.
TEST(TopKeysTest, AFrequentKeyReplacesTheLeast) {
  TopKeys sketch(2);
  AddMany(sketch, "a", 5);
  AddMany(sketch, "b", 3);
  AddMany(sketch, "c", 8);
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 5, 0}, Row{"b", 3, 0}));
  Add(sketch, "c");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"c", 9, 8}, Row{"a", 5, 0}));
}

// The least key is looked for when "c" comes, and 256 additions later; by that time "e" has become
// the most frequent.
TEST(TopKeysTest, OtherKeysSeldomReplaceTheLeast) {
  TopKeys sketch(2);
  AddMany(sketch, "a", 1000);
  AddMany(sketch, "b", 3);
  Add(sketch, "c");
  AddMany(sketch, "d", 5);
  AddMany(sketch, "e", 8);
  AddMany(sketch, "a", 241);
  Add(sketch, "d");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 1241, 0}, Row{"b", 3, 0}));
  Add(sketch, "e");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 1241, 0}, Row{"e", 9, 8}));
}

TEST(TopKeysTest, LongKeysAreCutAndStillDistinct) {
  TopKeys sketch(4);
  const std::string common(kTopKeyBytesMax, 'x');
  AddMany(sketch, common + "1", 2);
  Add(sketch, common + "2");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{common, 2, 0}, Row{common, 1, 0}));
}

TEST(TopKeysTest, ClearForgets) {
  TopKeys sketch(2);
  AddMany(sketch, "a", 5);
  sketch.Clear();
  EXPECT_TRUE(RowsOf(sketch).empty());
  Add(sketch, "b");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"b", 1, 0}));
}

// A full sketch may have seen a key that it does not count as often as its least key.
TEST(TopKeysTest, MergingAddsWhatOthersMayHaveSeen) {
  TopKeys one(2);
  AddMany(one, "a", 5);
  AddMany(one, "b", 3);
  TopKeys two(2);
  AddMany(two, "a", 1);
  const std::vector<const TopKeys*> both = {&one, &two};
  EXPECT_THAT(TopKeys::Merge(both, 9), ElementsAre(Row{"a", 6, 0}, Row{"b", 3, 0}));
  AddMany(two, "c", 4);
  EXPECT_THAT(TopKeys::Merge(both, 9), ElementsAre(Row{"c", 7, 3}, Row{"a", 6, 0}, Row{"b", 4, 1}));
}

// Few keys are frequent and many are rare, over several sketches as over several threads.
TEST(TopKeysTest, EstimatesHoldTheTruth) {
  CheckLaw(500, [] {
    const auto capacity = *Between<std::size_t>(1, 20);
    const auto stream = *rc::gen::container<std::vector<std::pair<int, std::size_t>>>(
        rc::gen::pair(rc::gen::oneOf(Between(0, 3), Between(0, 60)), Between<std::size_t>(0, 2)));
    std::vector<std::unique_ptr<TopKeys>> sketches;
    for (int i = 0; i < 3; ++i) sketches.push_back(std::make_unique<TopKeys>(capacity));
    std::map<std::string, std::uint64_t> exact;
    std::vector<std::uint64_t> added(3);
    for (const auto& [key, sketch] : stream) {
      Add(*sketches[sketch], std::to_string(key));
      ++exact[std::to_string(key)];
      ++added[sketch];
    }
    const std::vector<const TopKeys*> all = {sketches[0].get(), sketches[1].get(),
                                             sketches[2].get()};
    const std::vector<Row> rows = TopKeys::Merge(all, kTopKeysMax);
    std::uint64_t error_max = 0;
    for (const std::uint64_t count : added) error_max += 2 * count / capacity;
    RC_ASSERT(rows.size() <= 3 * capacity);
    for (const Row& row : rows) {
      RC_ASSERT(row.count >= exact[row.key]);
      RC_ASSERT(row.count - row.error <= exact[row.key]);
      RC_ASSERT(row.error <= error_max);
    }
    for (const auto& [key, count] : exact) {
      const bool listed = std::ranges::find(rows, key, &Row::key) != rows.end();
      RC_ASSERT(listed || count <= error_max);
    }
  });
}

// A flood of keys that come once each hides no frequent key.
TEST(TopKeysTest, AFloodHidesNoFrequentKey) {
  TopKeys sketch(100);
  const int times = 300;
  for (int i = 0; i < times; ++i) {
    for (int j = 0; j < 200; ++j) Add(sketch, std::to_string(i * 200 + j));
    for (int j = 0; j < 5; ++j) Add(sketch, "loud " + std::to_string(j));
  }
  const std::vector<Row> rows = RowsOf(sketch, 5);
  for (const Row& row : rows) {
    EXPECT_THAT(row.key, testing::StartsWith("loud "));
    EXPECT_GE(row.count, times);
    EXPECT_LE(row.count - row.error, times);
    EXPECT_LT(row.error, times / 2);
  }
}

TEST(TopKeysTest, OneAddsWhileOthersReadAndClear) {
  TopKeys sketch(10);
  const std::int64_t rounds = Scaled(200);
  std::atomic<bool> adding = true;
  std::thread reader([&] {
    while (adding) {
      for (const Row& row : RowsOf(sketch)) EXPECT_LE(row.count - row.error, rounds);
    }
  });
  std::thread clearer([&] {
    while (adding) sketch.Clear();
  });
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (int j = 0; j < 100; ++j) Add(sketch, std::to_string(j));
  }
  adding = false;
  reader.join();
  clearer.join();
  sketch.Clear();
  AddMany(sketch, "a", 7);
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 7, 0}));
}

}  // namespace
}  // namespace weir
