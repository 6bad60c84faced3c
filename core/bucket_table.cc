#include "core/bucket_table.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace weir {

Bucket* Partition::Find(SlotKey key) noexcept {
  const auto slot = slots_.find(key);
  return slot == slots_.end() ? nullptr : &slot->second;
}

void Partition::Insert(SlotKey key, Bucket bucket) {
  const bool inserted = slots_.emplace(key, bucket).second;
  WEIR_DCHECK(inserted);
  static_cast<void>(inserted);
}

void Partition::Erase(SlotKey key) { slots_.erase(key); }

void Partition::Shrink() {
  constexpr std::size_t kSlotsKept = 16;  // below this an allocation is not worth the trouble
  if (slots_.capacity() <= kSlotsKept || slots_.size() >= slots_.capacity() / 4) return;
  // Room for as many again, so that it does not grow at the next insert.
  absl::flat_hash_map<SlotKey, Bucket, SlotHash> smaller(2 * slots_.size());
  smaller.insert(slots_.begin(), slots_.end());
  slots_ = std::move(smaller);
}

TableLock::TableLock(BucketTable& table, std::size_t partition) : table_(table) {
  partitions_.push_back(static_cast<std::uint16_t>(partition));
  Acquire();
}

TableLock::TableLock(BucketTable& table, std::span<const KeyHash> keys) : table_(table) {
  for (const KeyHash& key : keys) partitions_.push_back(key.partition);
  if (partitions_.size() > 1) {
    std::ranges::sort(partitions_);
    partitions_.erase(std::unique(partitions_.begin(), partitions_.end()), partitions_.end());
  }
  Acquire();
}

TableLock::TableLock(BucketTable& table) : table_(table) {
  partitions_.resize(kPartitionCount);
  std::iota(partitions_.begin(), partitions_.end(), std::uint16_t{0});
  Acquire();
}

void TableLock::Acquire() {
  for (const std::uint16_t partition : partitions_) table_.partitions_[partition].mutex.Lock();
}

TableLock::~TableLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const std::uint16_t partition : partitions_) table_.partitions_[partition].mutex.Unlock();
}

}  // namespace weir
