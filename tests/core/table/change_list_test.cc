// Goal: a list of changes contains each bucket once, in the order of its record on disk, and is
// never much longer than its partition. Method: small cases by hand, and random cases compared with
// a map.
#include "core/table/change_list.h"

#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

#include "tests/support/test_scale.h"

namespace weir {
namespace {

NotedChange ChangeOf(std::uint64_t hash, std::uint32_t limit, bool went_back = false,
                     Algorithm algorithm = Algorithm::kTokenBucket) {
  return {{hash, LimitId{limit}}, algorithm, went_back};
}

std::vector<NotedChange> Take(ChangeList& list) {
  std::vector<NotedChange> taken;
  list.Take([&](const NotedChange& change) { taken.push_back(change); });
  return taken;
}

using Name = std::tuple<std::uint64_t, Algorithm, std::uint32_t>;
Name NameOf(const NotedChange& change) {
  return {change.key.key_hash(), change.algorithm, NumberOf(change.key.limit)};
}

TEST(ChangeListTest, TakesEachOnceAndSortedByHashAlgorithmAndLimit) {
  ChangeList list;
  list.Add(ChangeOf(7, 1), 0);
  list.Add(ChangeOf(7, 1, false, Algorithm::kFixedWindow), 0);
  list.Add(ChangeOf(7, 0, false, Algorithm::kFixedWindow), 0);
  list.Add(ChangeOf(UINT64_MAX, 0), 0);
  list.Add(ChangeOf(7, 2), 0);
  list.Add(ChangeOf(7, 1), 0);
  EXPECT_EQ(list.size(), 6U);

  const std::vector<NotedChange> taken = Take(list);
  ASSERT_EQ(taken.size(), 5U);
  EXPECT_EQ(NameOf(taken[0]), (Name{7, Algorithm::kTokenBucket, 1}));
  EXPECT_EQ(NameOf(taken[1]), (Name{7, Algorithm::kTokenBucket, 2}));
  EXPECT_EQ(NameOf(taken[2]), (Name{7, Algorithm::kFixedWindow, 0}));
  EXPECT_EQ(NameOf(taken[3]), (Name{7, Algorithm::kFixedWindow, 1}));
  EXPECT_EQ(NameOf(taken[4]), (Name{UINT64_MAX, Algorithm::kTokenBucket, 0}));
  EXPECT_EQ(list.size(), 0U);
  EXPECT_TRUE(Take(list).empty());
}

TEST(ChangeListTest, KeepsOfSeveralNotesThatItWentBack) {
  for (const bool went_back_first : {true, false}) {
    ChangeList list;
    list.Add(ChangeOf(1, 1, went_back_first), 0);
    list.Add(ChangeOf(1, 1, !went_back_first), 0);
    const std::vector<NotedChange> taken = Take(list);
    ASSERT_EQ(taken.size(), 1U);
    EXPECT_TRUE(taken[0].went_back);
  }
}

TEST(ChangeListTest, OverflowsWhenTooManyDistinctOnesAreNoted) {
  ChangeList list;
  for (std::uint64_t i = 0; i < ChangeList::kNotedMin; ++i) list.Add(ChangeOf(i, 0), 0);
  EXPECT_FALSE(list.overflowed());
  EXPECT_EQ(list.size(), ChangeList::kNotedMin);
  list.Add(ChangeOf(ChangeList::kNotedMin, 0), 0);
  EXPECT_TRUE(list.overflowed());
  EXPECT_EQ(list.size(), 0U);
  EXPECT_EQ(list.capacity(), 0U);
  list.Add(ChangeOf(1, 0), 0);
  EXPECT_EQ(list.size(), 0U) << "it knows already that everything has changed";

  list.Clear();
  EXPECT_FALSE(list.overflowed());
  list.Add(ChangeOf(1, 0), 0);
  EXPECT_EQ(list.size(), 1U);
  list.Clear();
  EXPECT_EQ(list.capacity(), 0U) << "FLUSHALL gives the memory back";
}

TEST(ChangeListTest, HasRoomForThePartitionAndMore) {
  constexpr std::size_t kSlots = 500;
  ChangeList list;
  for (std::uint64_t i = 0; i < ChangeList::kNotedMin + kSlots; ++i) {
    list.Add(ChangeOf(i, 0), kSlots);
  }
  EXPECT_FALSE(list.overflowed());
}

TEST(ChangeListTest, RepeatedNotesDoNotOverflow) {
  ChangeList list;
  constexpr std::uint64_t kDistinct = ChangeList::kNotedMin / 2;
  for (std::uint64_t i = 0; i < 100 * kDistinct; ++i) {
    list.Add(ChangeOf(i % kDistinct, 0, i == 17), 0);
    ASSERT_LE(list.size(), ChangeList::kNotedMin);
  }
  ASSERT_FALSE(list.overflowed());
  const std::vector<NotedChange> taken = Take(list);
  EXPECT_EQ(taken.size(), kDistinct);
  EXPECT_TRUE(taken[17].went_back);
}

TEST(ChangeListTest, SaysWhatWasNoted) {
  std::mt19937_64 random(1);
  for (std::int64_t round = 0; round < Scaled(200); ++round) {
    ChangeList list;
    std::map<Name, bool> noted;
    const std::uint64_t notes = random() % 3000;
    for (std::uint64_t i = 0; i < notes; ++i) {
      const auto algorithm = static_cast<Algorithm>(random() % 3);
      const NotedChange change = ChangeOf(random() % 40, static_cast<std::uint32_t>(random() % 5),
                                          random() % 8 == 0, algorithm);
      list.Add(change, 600);
      noted[NameOf(change)] |= change.went_back;
    }
    std::map<Name, bool> taken;
    Name last;
    for (const NotedChange& change : Take(list)) {
      EXPECT_TRUE(taken.empty() || last < NameOf(change)) << "round " << round;
      last = NameOf(change);
      taken[last] = change.went_back;
    }
    EXPECT_EQ(taken, noted) << "round " << round;
  }
}

}  // namespace
}  // namespace weir
