// Goal: the table keeps to its bound and makes use of it, and its maps never double needlessly.
// Method: thousands of bounds compared with the bytes of abseil's maps, and a real map at its
// maximum.
#include "core/table/table_bound.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "core/rules/decision.h"
#include "core/table/bucket_table.h"
#include "core/words/request.h"

namespace weir {
namespace {

std::size_t BytesOfAll(const TableBound& bound, bool notes_changes) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < kPartitionCount; ++i) {
    bytes += bound.Capacity(i) * 25 + 16;
    if (notes_changes) {
      bytes += (ChangeLog::kChangesMin + bound.SlotsMax(i)) * sizeof(LoggedChange);
    }
  }
  return bytes;
}

TEST(TableBoundTest, AllPartitionsTogetherStayWithinItAndUseIt) {
  for (const bool notes_changes : {false, true}) {
    for (std::size_t bytes = TableBound::kBytesMin; bytes < std::size_t{1} << 41;
         bytes += bytes / 97) {
      const std::size_t all = BytesOfAll(TableBound::Within(bytes, notes_changes), notes_changes);
      ASSERT_LE(all + TableBound::RegistryBytes(bytes), bytes);
      ASSERT_GE(all, bytes / 10 * 7) << bytes;
    }
  }
}

// Except for the smallest bounds, whose table never shrinks.
TEST(TableBoundTest, HoldsAreRoomThatBucketsDoNotHave) {
  for (std::size_t bytes = 2 * TableBound::kBytesMin; bytes < std::size_t{1} << 41;
       bytes += bytes / 7) {
    for (std::size_t part = 0; part <= 20; ++part) {
      const std::size_t holds = TableBound::HoldBytesMax(bytes) / 20 * part;
      const std::size_t all = BytesOfAll(TableBound::Beside(holds, bytes, true), true);
      ASSERT_LE(all + holds + TableBound::RegistryBytes(bytes), bytes + bytes / 1000)
          << bytes << " with " << holds << " of holds";
    }
  }
  EXPECT_EQ(BytesOfAll(TableBound::Beside(0, std::size_t{1} << 30, true), true),
            BytesOfAll(TableBound::Within(std::size_t{1} << 30, true), true));
}

TEST(TableBoundTest, EachPartitionHasRoomForAWholeRequestAndTheNext) {
  for (const bool notes_changes : {false, true}) {
    const TableBound least = TableBound::Within(0, notes_changes);
    for (std::size_t i = 0; i < kPartitionCount; ++i) {
      ASSERT_GT(least.SlotsMax(i) - least.SlotsMax(i) / 32, kChecksMax);
    }
  }
}

TEST(TableBoundTest, WithoutABoundThereIsRoomForMoreThanAnyMachineHas) {
  EXPECT_GT(TableBound().SlotsMax(0), std::size_t{1} << 38);
  EXPECT_EQ(TableBound().SlotsMax(0), TableBound().SlotsMax(kPartitionCount - 1));
}

// New buckets replace evicted ones, without end.
TEST(TableBoundTest, AMapAtItsMostKeepsItsCapacity) {
  const TableBound bound = TableBound::Within(0, true);
  const std::size_t slots_max = bound.SlotsMax(0);
  const auto slot = [](std::uint64_t i) { return SlotKey{i * 0x9e3779b97f4a7c15U, LimitId{}}; };
  Partition partition;
  std::uint64_t oldest = 0;
  for (std::uint64_t i = 0; i < 100 * slots_max; ++i) {
    while (i - oldest >= slots_max) partition.Erase(slot(oldest++));
    partition.Insert(slot(i), Algorithm::kTokenBucket, Bucket{});
    ASSERT_LE(partition.capacity(), bound.Capacity(0));
  }
  EXPECT_EQ(partition.capacity(), bound.Capacity(0));
}

}  // namespace
}  // namespace weir
