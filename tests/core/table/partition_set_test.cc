// Goal: a PartitionSet is a set. Method: random operations, beside a std::set.
#include "core/table/partition_set.h"

#include <cstddef>
#include <set>
#include <vector>

#include "gtest/gtest.h"

#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

std::set<std::size_t> MembersOf(const PartitionSet& set) {
  std::set<std::size_t> members;
  set.ForEach([&](std::size_t partition) { members.insert(partition); });
  return members;
}

TEST(PartitionSetTest, IsASet) {
  CheckLaw(200, [] {
    const auto partition = Between<std::size_t>(0, kPartitionCount - 1);
    PartitionSet set;
    std::set<std::size_t> model;
    for (int i = 0; i < 40; ++i) {
      const std::size_t member =
          *rc::gen::oneOf(partition, rc::gen::element<std::size_t>(0, 63, 64, 4095));
      if (*rc::gen::arbitrary<bool>()) {
        set.Add(member);
        model.insert(member);
      } else {
        set.Remove(member);
        model.erase(member);
      }
      RC_ASSERT(MembersOf(set) == model);
      RC_ASSERT(set.size() == model.size());
      RC_ASSERT(set.empty() == model.empty());
      if (model.empty()) continue;
      const std::size_t from = *rc::gen::oneOf(partition, rc::gen::just(kPartitionCount));
      const auto next = model.lower_bound(from);
      RC_ASSERT(set.FirstFrom(from) == (next == model.end() ? *model.begin() : *next));
    }
  });
}

TEST(PartitionSetTest, AllHasEveryPartition) {
  EXPECT_EQ(PartitionSet::All().size(), kPartitionCount);
  EXPECT_EQ(PartitionSet::All().FirstFrom(kPartitionCount), 0U);
}

TEST(PartitionSetTest, UnitesSets) {
  PartitionSet a;
  a.Add(3);
  PartitionSet b;
  b.Add(4095);
  a.AddAll(b);
  EXPECT_EQ(MembersOf(a), (std::set<std::size_t>{3, 4095}));
  EXPECT_TRUE(a.Contains(b));
  EXPECT_FALSE(b.Contains(a));
  EXPECT_NE(a, b);
  b.Add(3);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace weir
