#include "core/table/bucket_table.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"

#include "core/base/check.h"

namespace weir {
namespace {

// True if `after` may be full earlier than `before` was. A token bucket and a fixed window begin
// with a time, and a later time is full later. The numbers of a sliding window mean nothing without
// its limit, so the answer is always true.
bool WentBack(Algorithm algorithm, const Bucket& before, const Bucket& after) {
  if (algorithm == Algorithm::kSlidingWindow) return true;
  const auto order = [](const Bucket& bucket) {
    return std::tuple(bucket.high, bucket.low, bucket.extra);
  };
  return order(after) < order(before);
}

}  // namespace

Bucket* Partition::Find(SlotKey key) noexcept {
  const auto slot = slots_.find(key);
  return slot == slots_.end() ? nullptr : &slot->second;
}

void Partition::Insert(SlotKey key, Algorithm algorithm, Bucket bucket) {
  const bool inserted = slots_.emplace(key, bucket).second;
  WEIR_CHECK(inserted);
  crowded_keys_.CountInsert(key.key_hash());
  if (ABSL_PREDICT_FALSE(logs_changes_)) Log(key, algorithm, Bucket{}, bucket);
}

ABSL_ATTRIBUTE_NOINLINE bool Partition::Log(SlotKey key, Algorithm algorithm, const Bucket& before,
                                            const Bucket& after) {
  return log_.Add({key, algorithm, after, WentBack(algorithm, before, after)}, slots_.size());
}

void Partition::Erase(SlotKey key) {
  const std::size_t erased = slots_.erase(key);
  WEIR_CHECK(erased == 1);
  crowded_keys_.CountErase();
}

void Partition::Restore(Slots slots) {
  WEIR_CHECK(slots_.empty());
  slots_ = std::move(slots);
}

void Partition::Shrink(std::size_t capacity_max) {
  if (slots_.capacity() > capacity_max) slots_.rehash(0);
  constexpr std::size_t kSlotsKept = 16;  // smaller maps are not worth an allocation
  if (slots_.capacity() <= kSlotsKept || slots_.size() >= slots_.capacity() / 4) return;
  // Room for as many again, so that it does not grow at the next insert.
  Slots smaller(2 * slots_.size());
  smaller.insert(slots_.begin(), slots_.end());
  WEIR_CHECK(smaller.size() == slots_.size());
  slots_ = std::move(smaller);
}

BucketTable::Size BucketTable::size() const noexcept {
  Size size;
  for (const PublishedSize& published : sizes_) {
    size.slots += published.slots.load(std::memory_order_relaxed);
    size.capacity += published.capacity.load(std::memory_order_relaxed);
    size.changes += published.changes.load(std::memory_order_relaxed);
  }
  return size;
}

HoldTable& BucketTable::MakeHolds(std::size_t index) {
  if (!holds_[index]) holds_[index] = std::make_unique<HoldTable>(partition(index).logs_changes());
  return *holds_[index];
}

void BucketTable::PublishHolds(std::size_t index) noexcept {
  std::unique_ptr<HoldTable>& holds = holds_[index];
  if (holds && holds->empty()) holds.reset();
  partition(index).has_open_holds_ = holds && !holds->open().empty();
}

BucketTable::Discarded BucketTable::Discard(std::size_t index) {
  Partition& emptied = partition(index);
  Discarded discarded = {.slots = std::exchange(emptied.slots_, {}),
                         .log = std::exchange(emptied.log_, {}),
                         .holds = std::move(holds_[index])};
  emptied.crowded_keys_ = {};
  PublishHolds(index);
  PublishSize(index);
  return discarded;
}

bool BucketTable::HasPublishedSize(const Guarded& guarded) const noexcept {
  const Partition& partition = guarded.partition;
  const PublishedSize& published = sizes_[static_cast<std::size_t>(&guarded - partitions_.data())];
  return published.slots.load(std::memory_order_relaxed) == partition.size() &&
         published.capacity.load(std::memory_order_relaxed) == partition.capacity() &&
         published.changes.load(std::memory_order_relaxed) == partition.changes();
}

void BucketTable::PrefetchPartition(std::size_t index) const noexcept {
  const auto* const guarded = reinterpret_cast<const char*>(&partitions_[index]);
  __builtin_prefetch(guarded, 1);
  __builtin_prefetch(guarded + 64, 1);
}

// Fetches the buckets of the first limits (SlotHash::kNeighbours), usually all.
void BucketTable::PrefetchBuckets(const KeyHash& key) noexcept {
  Guarded& guarded = partitions_[key.partition];
  if (!guarded.mutex.TryLock()) return;
  guarded.partition.Prefetch({key.hash, LimitId{}});
  guarded.mutex.Unlock();
}

void BucketTable::PrefetchChanges(std::size_t index) noexcept {
  __builtin_prefetch(&holds_[index]);  // TakeHolds reads it next.
  Guarded& guarded = partitions_[index];
  if (!guarded.mutex.TryLock()) return;
  guarded.partition.PrefetchChanges();
  guarded.mutex.Unlock();
}

TableLock::TableLock(BucketTable& table, const PartitionSet& partitions) : table_(table) {
  partitions.ForEach([this](std::size_t partition) {
    partitions_.push_back(static_cast<std::uint16_t>(partition));
  });
  Acquire();
}

void TableLock::Acquire() {
  WEIR_DCHECK(std::ranges::adjacent_find(partitions_, std::greater_equal{}) == partitions_.end());
  if (TableIsolation::IsHeldByThisThread(table_)) {
    for (const std::uint16_t partition : partitions_) TableIsolation::Covers(table_, partition);
    partitions_.clear();
  }
  for (const std::uint16_t partition : partitions_) table_.partitions_[partition].mutex.Lock();
}

TableLock::~TableLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const std::uint16_t partition : partitions_) {
    WEIR_DCHECK(table_.HasPublishedSize(table_.partitions_[partition]));
    table_.partitions_[partition].mutex.Unlock();
  }
}

constinit thread_local const TableIsolation* TableIsolation::of_this_thread_ = nullptr;

TableIsolation::TableIsolation(BucketTable& table, const PartitionSet& partitions)
    : table_(table), partitions_(partitions) {
  if (const TableIsolation* const outer = of_this_thread_) {
    WEIR_CHECK(&outer->table_ == &table_);
    WEIR_CHECK(outer->partitions_.Contains(partitions_));
    return;
  }
  lock_.emplace(table, partitions_);
  of_this_thread_ = this;
}

TableIsolation::~TableIsolation() {
  if (!lock_) return;
  WEIR_CHECK(of_this_thread_ == this);
  of_this_thread_ = nullptr;
}

}  // namespace weir
