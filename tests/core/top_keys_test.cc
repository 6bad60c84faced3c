// Goal: the sketch never underestimates, says how much it may overestimate, keeps whoever comes up
// often, and stays within its capacity. Method: examples, and random streams against exact counts.
#include "core/top_keys.h"

#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "tests/support/generators.h"
#include "tests/support/property.h"

namespace weir {
namespace {

using testing::ElementsAre;
using Row = TopKeys::Row;

std::vector<Row> RowsOf(const TopKeys& sketch, std::size_t rows_max = kTopKeysMax) {
  const TopKeys* const only = &sketch;
  return TopKeys::Merge({&only, 1}, rows_max);
}

void AddMany(TopKeys& sketch, std::string_view key, int times) {
  for (int i = 0; i < times; ++i) sketch.Add(key);
}

TEST(TopKeysTest, CountsExactlyWhileThereIsRoom) {
  TopKeys sketch(3);
  EXPECT_TRUE(RowsOf(sketch).empty());
  AddMany(sketch, "b", 2);
  AddMany(sketch, "a", 5);
  AddMany(sketch, "c", 2);
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 5, 0}, Row{"b", 2, 0}, Row{"c", 2, 0}));
  EXPECT_THAT(RowsOf(sketch, 1), ElementsAre(Row{"a", 5, 0}));
}

TEST(TopKeysTest, ANewKeyTakesThePlaceOfTheLeastOnceItsCellHasComeUp) {
  TopKeys sketch(2);
  AddMany(sketch, "a", 5);
  AddMany(sketch, "b", 3);
  AddMany(sketch, "c", 2);
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 5, 0}, Row{"b", 3, 0}));
  sketch.Add("c");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"a", 5, 0}, Row{"c", 3, 2}));
}

TEST(TopKeysTest, LongKeysAreCutAndStillTwo) {
  TopKeys sketch(4);
  const std::string common(kTopKeyBytesMax, 'x');
  AddMany(sketch, common + "1", 2);
  sketch.Add(common + "2");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{common, 2, 0}, Row{common, 1, 0}));
}

TEST(TopKeysTest, ClearForgets) {
  TopKeys sketch(2);
  AddMany(sketch, "a", 5);
  sketch.Clear();
  EXPECT_TRUE(RowsOf(sketch).empty());
  sketch.Add("b");
  EXPECT_THAT(RowsOf(sketch), ElementsAre(Row{"b", 1, 0}));
}

// A full sketch may have seen a key that it does not count as often as the least that it counts.
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

// Few keys come up often and many seldom, over several sketches as over several threads.
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
      sketches[sketch]->Add(std::to_string(key));
      ++exact[std::to_string(key)];
      ++added[sketch];
    }
    const std::vector<const TopKeys*> all = {sketches[0].get(), sketches[1].get(),
                                             sketches[2].get()};
    const std::vector<Row> rows = TopKeys::Merge(all, kTopKeysMax);
    std::uint64_t error_max = 0;
    for (const std::uint64_t count : added) error_max += count / capacity;
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

}  // namespace
}  // namespace weir
