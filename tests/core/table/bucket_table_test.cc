// Goal: the table finds exactly what was inserted, frees memory, and its locks exclude one another
// without deadlocks. Method: examples; a std::map beside a partition through random operations; a
// plain counter under each lock.
#include "core/table/bucket_table.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/random/generators.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr Algorithm kAlgorithm = Algorithm::kTokenBucket;

// --- Slots --------------------------------------------------------------------------------------

TEST(SlotKeyTest, KeepsAllBitsOfTheHash) {
  EXPECT_EQ(SlotKey(0x0123456789ABCDEF, LimitId{7}).key_hash(), 0x0123456789ABCDEF);
  EXPECT_EQ(SlotKey(UINT64_MAX, LimitId{7}).key_hash(), UINT64_MAX);
}

TEST(SlotKeyTest, EqualInHashAndLimit) {
  const SlotKey key(0x0123456789ABCDEF, LimitId{7});
  EXPECT_EQ(key, SlotKey(0x0123456789ABCDEF, LimitId{7}));
  EXPECT_NE(key, SlotKey(0x0123456789ABCDEF, LimitId{8}));
  EXPECT_NE(key, SlotKey(0x0123456789ABCDEE, LimitId{7}));
  EXPECT_NE(key, SlotKey(0x1123456789ABCDEF, LimitId{7}));
}

// A client may ask for a million limits of one key. They must not pile up in a few groups of the
// map, which takes the lowest 7 bits of a hash to tell the slots of a group apart and the higher
// bits to find the group.
TEST(SlotHashTest, LimitsOfOneKeySpread) {
  constexpr std::uint32_t kLimits = 1 << 16;
  std::vector<int> low(128);
  std::vector<int> group(1024);
  for (std::uint32_t limit = 0; limit < kLimits; ++limit) {
    const std::size_t hash = SlotHash{}(SlotKey(0x0123456789ABCDEF, LimitId{limit}));
    ++low[hash & 127];
    ++group[hash >> 7 & 1023];
  }
  for (const int count : low) EXPECT_EQ(count, kLimits / 128);
  for (const int count : group) EXPECT_LE(count, 2 * static_cast<int>(kLimits / 1024));
}

// A request about a key with several limits is one fetch from memory: the search for each slot
// begins in the same group, where the low bits tell the slots apart.
TEST(SlotHashTest, FirstLimitsOfOneKeyAreNeighbours) {
  const std::size_t first = SlotHash{}(SlotKey(0x0123456789ABCDEF, LimitId{0}));
  std::set<std::size_t> hashes;
  for (std::uint32_t limit = 0; limit < SlotHash::kNeighbours; ++limit) {
    const std::size_t hash = SlotHash{}(SlotKey(0x0123456789ABCDEF, LimitId{limit}));
    EXPECT_EQ(hash >> 7, first >> 7);
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), SlotHash::kNeighbours);
  EXPECT_NE(SlotHash{}(SlotKey(0x0123456789ABCDEF, LimitId{SlotHash::kNeighbours})) >> 7,
            first >> 7);
}

// --- One partition ------------------------------------------------------------------------------

class PartitionTest : public testing::Test {
 protected:
  void Fill(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) partition_.Insert(KeyOf(i), kAlgorithm, {i, 0, 0});
  }
  static SlotKey KeyOf(std::uint32_t i) { return {i * 0x9E3779B97F4A7C15, LimitId{i % 3}}; }
  // Erases the buckets that were filled with `first` to `last` - 1.
  void Erase(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) partition_.Erase(KeyOf(i));
  }

  Partition partition_;
};

TEST_F(PartitionTest, FindsWhatWasInserted) {
  EXPECT_EQ(partition_.Find({1, LimitId{2}}), nullptr);
  partition_.Insert({1, LimitId{2}}, kAlgorithm, {3, 4, 5});
  ASSERT_NE(partition_.Find({1, LimitId{2}}), nullptr);
  EXPECT_EQ(*partition_.Find({1, LimitId{2}}), (Bucket{3, 4, 5}));
  EXPECT_EQ(partition_.Find({1, LimitId{3}}), nullptr);
  EXPECT_EQ(partition_.Find({2, LimitId{2}}), nullptr);
  EXPECT_EQ(partition_.size(), 1u);
}

TEST_F(PartitionTest, BucketIsChangedInPlace) {
  partition_.Insert({1, LimitId{2}}, kAlgorithm, {});
  partition_.Find({1, LimitId{2}})->low = 9;
  EXPECT_EQ(partition_.Find({1, LimitId{2}})->low, 9u);
}

TEST_F(PartitionTest, EraseForgetsOneSlot) {
  Fill(10);
  Erase(4, 5);
  EXPECT_EQ(partition_.Find(KeyOf(4)), nullptr);
  EXPECT_EQ(partition_.size(), 9u);
}

TEST_F(PartitionTest, ForEachVisitsEverySlotOnce) {
  Fill(1000);
  std::set<std::uint32_t> visited;
  partition_.ForEach([&](const SlotKey& key, Bucket bucket) {
    EXPECT_EQ(key, KeyOf(bucket.low));
    EXPECT_TRUE(visited.insert(bucket.low).second);
  });
  EXPECT_EQ(visited.size(), 1000u);
}

// Each slot is visited once, even if slots are erased on the way.
TEST_F(PartitionTest, EraseSomeGoesOnWhereItStopped) {
  Fill(1000);
  std::set<std::uint32_t> visited;
  std::size_t erased = 0;
  std::size_t calls = 0;
  for (std::size_t next = 0; next != Partition::kNoMore; ++calls) {
    std::size_t visits = 0;
    const Partition::Erased part =
        partition_.EraseSome(next, 300, [&](const SlotKey&, Bucket bucket) {
          ++visits;
          EXPECT_TRUE(visited.insert(bucket.low).second);
          return bucket.low % 3 == 0;
        });
    EXPECT_LE(visits, 300u);
    erased += part.erased;
    next = part.next;
  }
  EXPECT_EQ(calls, 4u);
  EXPECT_EQ(visited.size(), 1000u);
  EXPECT_EQ(erased, 334u);
  EXPECT_EQ(partition_.size(), 666u);
  const auto never = [](const SlotKey&, Bucket) { return ADD_FAILURE(), true; };
  EXPECT_EQ(partition_.EraseSome(666, 10, never).next, Partition::kNoMore);
  EXPECT_EQ(partition_.EraseSome(5, 0, never).next, 5u);
}

TEST_F(PartitionTest, ShrinkGivesMemoryBackAndKeepsEverySlot) {
  Fill(10'000);
  const std::size_t before = partition_.capacity();
  Erase(100, 10'000);
  EXPECT_EQ(partition_.capacity(), before);
  partition_.Shrink();
  EXPECT_LE(partition_.capacity(), 400u);
  EXPECT_EQ(partition_.size(), 100u);
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(partition_.Find(KeyOf(i))->low, i);
}

TEST_F(PartitionTest, ShrinkLeavesAloneWhatIsAQuarterFull) {
  Fill(10'000);
  const std::size_t before = partition_.capacity();
  Erase(static_cast<std::uint32_t>(before / 4), 10'000);
  partition_.Shrink();
  EXPECT_EQ(partition_.capacity(), before);
  Erase(0, 1);
  partition_.Shrink();
  EXPECT_LT(partition_.capacity(), before);
  const std::size_t shrunk = partition_.capacity();
  partition_.Shrink();
  EXPECT_EQ(partition_.capacity(), shrunk);
}

TEST_F(PartitionTest, ShrinkOfTheSmallestDoesNothing) {
  partition_.Shrink();
  EXPECT_EQ(partition_.capacity(), 0u);
  Fill(10);
  const std::size_t before = partition_.capacity();
  Erase(0, 10);
  partition_.Shrink();
  EXPECT_EQ(partition_.capacity(), before);
}

TEST_F(PartitionTest, BehavesAsAMap) {
  CheckLaw(1'000, [] {
    Partition partition;
    std::map<std::pair<std::uint64_t, LimitId>, std::uint32_t> map;
    const auto operation =
        rc::gen::tuple(Between(0, 9), Between<std::uint64_t>(0, 20), Between<std::uint32_t>(0, 2));
    std::uint32_t value = 0;
    for (const auto& [what, hash, number] :
         *rc::gen::container<std::vector<std::tuple<int, std::uint64_t, std::uint32_t>>>(
             operation)) {
      const LimitId limit{number};
      const auto known = map.find({hash, limit});
      const Bucket* const found = partition.Find({hash, limit});
      RC_ASSERT((found != nullptr) == (known != map.end()));
      if (found != nullptr) RC_ASSERT(found->low == known->second);
      if (what < 6 && found == nullptr) {
        partition.Insert({hash, limit}, kAlgorithm, {++value, 0, 0});
        map[{hash, limit}] = value;
      } else if (what < 9) {
        if (found != nullptr) partition.Erase({hash, limit});
        map.erase({hash, limit});
      } else {
        partition.Shrink();
      }
      RC_ASSERT(partition.size() == map.size());
    }
  });
}

// --- Locks --------------------------------------------------------------------------------------

class TableLockTest : public testing::Test {
 protected:
  static KeyHash In(std::uint16_t partition) { return {0, partition}; }
  // The lock of at most eight keys' partitions.
  KeysLock<8> Lock(std::span<const KeyHash> keys) {
    return {*table_, keys.size(), [keys](std::size_t i) { return keys[i].partition; }};
  }

  // Counts in plain memory under a lock that `take` returns; a race loses counts (and
  // ThreadSanitizer reports it).
  template <typename Take>
  std::int64_t CountUnder(Take take) {
    std::int64_t count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (std::int64_t n = 0; n < rounds_; ++n) {
          const auto lock = take(i);
          ++count;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return count;
  }

  const std::int64_t rounds_ = Scaled(2'000);
  const std::unique_ptr<BucketTable> table_ = std::make_unique<BucketTable>();
};

TEST_F(TableLockTest, SamePartitionManyTimesIsLockedOnce) {
  const std::vector<KeyHash> keys = {In(7), In(7), In(3), In(7), In(3), In(4095), In(0)};
  { const auto lock = Lock(keys); }
  const auto again = Lock(keys);
}

// A fetch changes nothing and never waits, not even for a lock that is held.
TEST_F(TableLockTest, FetchesWhetherItIsLockedOrNot) {
  const KeyHash key = In(7);
  {
    const PartitionLock lock(*table_, 7);
    table_->partition(7).Insert({key.hash, LimitId{3}}, kAlgorithm, {1, 2, 3});
    table_->PublishSize(7);
    std::thread([&] { table_->PrefetchBuckets(key); }).join();
  }
  table_->PrefetchPartition(key);
  table_->PrefetchBuckets(key);
  table_->PrefetchBuckets(In(8));
  const PartitionLock lock(*table_, 7);
  EXPECT_EQ(*table_->partition(7).Find({key.hash, LimitId{3}}), (Bucket{1, 2, 3}));
}

// The sizes of all partitions are added up without a lock, as they were last shown.
TEST_F(TableLockTest, SizesAreReadWhileOthersHoldTheLocks) {
  const PartitionLock low(*table_, 7);
  const PartitionLock high(*table_, 4095);
  for (std::uint32_t i = 0; i < 20; ++i)
    table_->partition(7).Insert({i, LimitId{3}}, kAlgorithm, {});
  table_->partition(4095).set_logs_changes(true);
  table_->partition(4095).Insert({1, LimitId{3}}, kAlgorithm, {});
  EXPECT_EQ(table_->size().slots, 0U) << "not shown yet";
  table_->PublishSize(7);
  table_->PublishSize(4095);
  const std::size_t capacity = table_->partition(7).capacity() + table_->partition(4095).capacity();
  std::thread([&] {
    const BucketTable::Size size = table_->size();
    EXPECT_EQ(size.slots, 21U);
    EXPECT_EQ(size.capacity, capacity);
    EXPECT_EQ(size.changes, 1U);
  }).join();
}

TEST_F(TableLockTest, AHoldCoversLocksOfItsThread) {
  PartitionSet partitions;
  partitions.Add(3);
  partitions.Add(5);
  const TableIsolation hold(*table_, partitions);
  const PartitionLock one(*table_, 3);
  const PartitionLock again(*table_, 3);
  const std::vector<KeyHash> keys = {In(5), In(3)};
  const auto both = Lock(keys);
}

TEST_F(TableLockTest, AHoldInsideAnotherAddsAndReleasesNothing) {
  PartitionSet outer;
  outer.Add(3);
  outer.Add(5);
  PartitionSet inner;
  inner.Add(5);
  EXPECT_EQ(CountUnder([&](int) {
              auto hold = std::make_unique<TableIsolation>(*table_, outer);
              { const TableIsolation part(*table_, inner); }
              { const TableIsolation all_of_it(*table_, outer); }
              return hold;
            }),
            4 * rounds_);
}

TEST_F(TableLockTest, ReleasesInItsDestructor) {
  { const TableLock all = TableLock::All(*table_); }
  { const TableLock all = TableLock::All(*table_); }
  const PartitionLock one(*table_, 0);
  const PartitionLock other(*table_, 4095);
}

TEST_F(TableLockTest, OneExcludesOne) {
  EXPECT_EQ(CountUnder([&](int) { return PartitionLock(*table_, 5); }), 4 * rounds_);
}

// Each thread locks a pair in a ring; without a fixed order the threads would deadlock.
TEST_F(TableLockTest, OverlappingSetsExcludeEachOther) {
  const auto take = [&](int i) {
    const auto mine = static_cast<std::uint16_t>(i);
    const auto next = static_cast<std::uint16_t>((i + 1) % 4);
    const std::array<KeyHash, 3> keys = {i % 2 == 0 ? In(mine) : In(next),
                                         i % 2 == 0 ? In(next) : In(mine), In(9)};
    return Lock(keys);
  };
  EXPECT_EQ(CountUnder(take), 4 * rounds_);
}

TEST_F(TableLockTest, AllExcludesEveryPartition) {
  const auto take = [&](int i) {
    PartitionSet one;
    one.Add(1234);
    return i == 0 ? TableLock::All(*table_) : TableLock(*table_, one);
  };
  EXPECT_EQ(CountUnder(take), 4 * rounds_);
}

}  // namespace
}  // namespace weir
