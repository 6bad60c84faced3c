// All buckets: 4,096 partitions, each an abseil hash map with its own lock.
//
// A slot is {key hash 8, limit id 4, bucket 12} = 24 bytes, whatever the key's length. With one
// byte of control and a load between 7/16 and 7/8, a bucket costs 29 to 57 bytes of memory. One map
// of ten million would stop the world for seconds whenever it grows; 4,096 small ones each pause
// for microseconds, and their locks are rarely contended. All buckets of a key lie in one
// partition, so a scan of that partition finds them (2,400 slots at 10 M buckets).
//
// The table stores and finds; it knows neither limits nor time. Every access needs the lock of its
// partition:
//     TableLock lock(table, hashes);  // all partitions of a request, in ascending order
//     Bucket* bucket = table.partition(hash.partition).Find({hash.hash, limit_id});
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/base/light_mutex.h"
#include "core/rules/bucket.h"
#include "core/table/change_log.h"
#include "core/table/crowded_keys.h"
#include "core/table/hold_table.h"
#include "core/table/key_hash.h"
#include "core/table/partition_set.h"
#include "core/table/slot_key.h"

namespace weir {

// One of the 4,096 partitions. Not thread-safe: the caller holds its lock.
class Partition {
 public:
  using Slots = absl::flat_hash_map<SlotKey, Bucket, SlotHash>;

  // The bucket, or null. The pointer is good until the next Insert or Erase.
  [[nodiscard]] Bucket* Find(SlotKey key) noexcept;
  // Fetches the memory into the cache that Find and a change of the bucket will use.
  void Prefetch(SlotKey key) const noexcept {
    slots_.prefetch(key);
    log_.PrefetchEnd();
  }
  void PrefetchChanges() const noexcept { log_.PrefetchEnd(); }

  // Change the bucket in a slot of this partition, and insert an absent one; both log it if
  // logs_changes(). Replace returns whether changes() may be another number now.
  [[nodiscard]] bool Replace(SlotKey key, Algorithm algorithm, Bucket& slot, Bucket value);
  void Insert(SlotKey key, Algorithm algorithm, Bucket bucket);
  // Erases a present bucket. Logs nothing: a full one need not be logged (LogErased).
  void Erase(SlotKey key);
  // Takes over buckets that are saved already: logs nothing. Requires: an empty partition.
  void Restore(Slots slots);

  struct Erased {
    std::size_t erased = 0;
    std::size_t next = 0;  // where the next call continues; kNoMore: all slots were visited
  };
  static constexpr std::size_t kNoMore = std::numeric_limits<std::size_t>::max();
  // Calls visit(SlotKey, Bucket) for `visits_max` slots from the `first`th in the map's order on,
  // and erases those for which it returns true. Logs nothing. Inserts and erasures between two
  // calls may move slots across that position. Cost: besides the visits, about 1 ns for each slot
  // before the first.
  template <typename Visit>
  Erased EraseSome(std::size_t first, std::size_t visits_max, Visit visit) {
    if (first >= slots_.size()) return {0, kNoMore};
    Erased result;
    auto slot = std::next(slots_.begin(), static_cast<std::ptrdiff_t>(first));
    for (; visits_max > 0 && slot != slots_.end(); --visits_max) {
      const auto current = slot++;
      if (!visit(current->first, current->second)) {
        ++first;
        continue;
      }
      slots_.erase(current);
      ++result.erased;
    }
    if (result.erased > 0) crowded_keys_.CountErase();
    WEIR_CHECK(first <= slots_.size());
    result.next = slot == slots_.end() ? kNoMore : first;
    return result;
  }

  // Calls visit(SlotKey, Bucket) for every slot.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const auto& [key, bucket] : slots_) visit(key, bucket);
  }

  // --- Changes for the next save (change_log.h) ---

  // False at first.
  [[nodiscard]] bool logs_changes() const noexcept { return logs_changes_; }
  void set_logs_changes(bool logs) noexcept { logs_changes_ = logs; }
  // Logs the erasure of a bucket that was not full, or that cannot be recognised as full without
  // its limit. Requires: logs_changes().
  void LogErased(SlotKey key, Algorithm algorithm) {
    log_.Add({key, algorithm, Bucket{}, true}, slots_.size());
  }
  // Moves the changes to `taken`, in their order. Requires: !everything_changed().
  void TakeChangesInto(std::vector<LoggedChange>& taken) { log_.TakeInto(taken); }
  void LogEverything() { log_.Overflow(); }
  void ForgetChanges() { log_.Clear(); }
  [[nodiscard]] bool everything_changed() const noexcept { return log_.overflowed(); }
  [[nodiscard]] std::size_t changes() const noexcept {
    return log_.overflowed() ? slots_.size() : log_.size();
  }

  // Gives memory back if the map has more than `capacity_max` slots or less than a quarter of them
  // is in use. Cost: a rehash of the remaining slots.
  void Shrink(std::size_t capacity_max = std::numeric_limits<std::size_t>::max());

  [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
  [[nodiscard]] std::size_t capacity() const noexcept { return slots_.capacity(); }

  [[nodiscard]] CrowdedKeys& crowded_keys() noexcept { return crowded_keys_; }

  // True while a key of the partition has an open hold (BucketTable::holds).
  [[nodiscard]] bool has_open_holds() const noexcept { return has_open_holds_; }

  // The latest execution time of the limiter's changes to this partition.
  [[nodiscard]] Instant decision_time() const noexcept { return decision_time_; }
  void AdvanceDecisionTime(Instant now) noexcept { decision_time_ = std::max(decision_time_, now); }
  // For a table that begins again with another clock.
  void ForgetDecisionTime() noexcept { decision_time_ = Instant{}; }

 private:
  friend class BucketTable;

  bool Log(SlotKey key, Algorithm algorithm, const Bucket& before, const Bucket& after);

  Slots slots_;
  Instant decision_time_;
  CrowdedKeys crowded_keys_;
  [[no_unique_address]] ChangeLog log_;  // the flags behind it use its padding
  bool has_open_holds_ : 1 = false;
  bool logs_changes_ : 1 = false;
};

inline bool Partition::Replace(SlotKey key, Algorithm algorithm, Bucket& slot, Bucket value) {
  WEIR_DCHECK(&slot == Find(key));
  if (slot == value) return false;
  const Bucket before = std::exchange(slot, value);
  return logs_changes_ && Log(key, algorithm, before, value);
}

static_assert(sizeof(std::pair<const SlotKey, Bucket>) == 24);

class BucketTable {
 public:
  BucketTable() = default;
  BucketTable(const BucketTable&) = delete;
  BucketTable& operator=(const BucketTable&) = delete;

  // Requires: this thread holds its lock.
  [[nodiscard]] Partition& partition(std::size_t index) noexcept {
    WEIR_DCHECK(index < kPartitionCount);
    return partitions_[index].partition;
  }

  // The holds of a partition's keys; null if there are none, and no note of one for the next save.
  // Requires: as above.
  [[nodiscard]] HoldTable* holds(std::size_t index) noexcept { return holds_[index].get(); }
  // The same, for a first hold.
  [[nodiscard]] HoldTable& MakeHolds(std::size_t index);
  // To be called after each change of the holds: drops an empty table. Requires: as above.
  void PublishHolds(std::size_t index) noexcept;

  // The content of a partition, which is no longer in the table.
  struct Discarded {
    Partition::Slots slots;
    ChangeLog log;
    std::unique_ptr<HoldTable> holds;
  };
  // Empties the partition and publishes its size. Cost: O(1), but the destruction of the result
  // costs as much as the content. Requires: this thread holds its lock.
  [[nodiscard]] Discarded Discard(std::size_t index);

  // The sizes that the partitions had when they were last published, summed. Takes no lock: about
  // 10 us.
  struct Size {
    std::size_t slots = 0;
    std::size_t capacity = 0;  // slots with and without a bucket
    std::size_t changes = 0;   // logged for the next save
  };
  [[nodiscard]] Size size() const noexcept;
  // Publishes the size of a partition to all threads. To be called after each change of the size,
  // by the thread that holds the partition's lock.
  void PublishSize(std::size_t index) noexcept;
  // The number of buckets that the partition had when it was last published.
  [[nodiscard]] std::size_t PublishedSlots(std::size_t index) const noexcept {
    return sizes_[index].slots.load(std::memory_order_relaxed);
  }

  // Fetch a key's buckets, or the changes of a partition, into the cache of this core, in two
  // steps: the second needs what the first has fetched. None waits for a lock. Requires: this
  // thread holds none.
  void PrefetchPartition(const KeyHash& key) const noexcept { PrefetchPartition(key.partition); }
  void PrefetchPartition(std::size_t index) const noexcept;
  void PrefetchBuckets(const KeyHash& key) noexcept;
  void PrefetchChanges(std::size_t index) noexcept;

 private:
  friend class PartitionLock;
  friend class TableLock;
  friend class TableIsolation;
  template <std::size_t kKeys>
  friend class KeysLock;
  // Aligned to a cache line, so that threads on neighbouring partitions do not disturb each other.
  struct alignas(64) Guarded {
    LightMutex mutex;
    Partition partition;
  };
  static_assert(sizeof(Guarded) == 128, "PrefetchPartition fetches all of it.");
  // The size of a partition, written under its lock and read without. Kept apart from the
  // partitions, which fill two cache lines each.
  struct PublishedSize {
    std::atomic<std::uint32_t> slots{0};
    std::atomic<std::uint32_t> capacity{0};
    std::atomic<std::uint32_t> changes{0};
  };

  // True if the size of a partition is published as it is. Requires: this thread holds its lock.
  [[nodiscard]] bool HasPublishedSize(const Guarded& guarded) const noexcept;

  std::array<Guarded, kPartitionCount> partitions_;
  std::array<PublishedSize, kPartitionCount> sizes_;
  std::array<std::unique_ptr<HoldTable>, kPartitionCount> holds_;  // each guarded as its partition
};

// Holds the lock of one partition. Debug builds check at both ends that the partition's size is
// published as it is, also after what others did with it. (In KeysLock, on the path of every
// decision, even a reference to the table would cost release builds five instructions.)
class PartitionLock {
 public:
  PartitionLock(BucketTable& table, std::size_t partition) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  ~PartitionLock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    WEIR_DCHECK(table_.HasPublishedSize(table_.partitions_[partition_]));
    if (mutex_) mutex_->Unlock();
  }
  PartitionLock(const PartitionLock&) = delete;
  PartitionLock& operator=(const PartitionLock&) = delete;

 private:
  const BucketTable& table_;
  const std::size_t partition_;
  LightMutex* const mutex_;  // null: a TableIsolation of this thread holds it
};

// Holds the locks of the partitions of at most kKeys keys, taken in ascending order, each once, so
// that two requests never wait for each other in a circle.
template <std::size_t kKeys>
class KeysLock {
 public:
  // `partition_of(i)`: the partition of the i-th key. Requires: 1 to kKeys keys.
  template <typename PartitionOf>
  KeysLock(BucketTable& table, std::size_t keys,
           PartitionOf partition_of) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  ~KeysLock() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  KeysLock(const KeysLock&) = delete;
  KeysLock& operator=(const KeysLock&) = delete;

  // Calls visit(Partition&) for each partition.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t i = 0; i < count(); ++i) visit(guarded_[i]->partition);
  }

 private:
  [[nodiscard]] std::size_t count() const noexcept { return kKeys == 1 ? 1 : count_; }

  std::size_t count_ = 1;
  BucketTable::Guarded* guarded_[kKeys];  // the first count_ are set: ascending, distinct
  const bool held_;                       // an isolation of this thread holds the locks
};

// Holds the locks of a set of partitions, in the same order.
class TableLock {
 public:
  TableLock(BucketTable& table, const PartitionSet& partitions);
  // Locks all partitions: the world stops. About 50 us without other threads.
  static TableLock All(BucketTable& table) { return {table, PartitionSet::All()}; }
  ~TableLock();
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;

 private:
  void Acquire() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  BucketTable& table_;
  absl::InlinedVector<std::uint16_t, 8> partitions_;  // ascending, distinct
};

// Isolates several calls of one thread: holds the locks of all partitions that they need.
//
// A single request needs no isolation. It locks the partitions of its keys for its whole length, so
// that it happens at one instant: no other request sees half of it. A transaction (EXEC) is several
// requests. Its thread first isolates the partitions of all its keys; each request then finds its
// locks held and takes none. FLUSHALL and changes of a policy isolate all partitions.
//
// Two threads never wait for each other in a circle, for three reasons:
// - Every lock of several partitions takes them in ascending order, here, in KeysLock and in
//   TableLock.
// - A thread with an isolation locks nothing outside of it. A request that tried would abort the
//   server in Covers, rather than risk a circle. An isolation inside another adds nothing.
// - Other locks have fixed places. The mutex of the changes is taken before partitions; the
//   mutexes of the registry of limits and of the policies after them; those of logs and of clients'
//   records last.
//
// An isolation lasts as long as the commands of one EXEC, whose work is bounded
// (server/session/transaction.h). All partitions cost about 50 us, while everything else waits.
class TableIsolation {
 public:
  TableIsolation(BucketTable& table, const PartitionSet& partitions);
  ~TableIsolation();
  // True while this thread has an isolation of the table.
  [[nodiscard]] static bool IsHeldByThisThread(const BucketTable& table) noexcept {
    return of_this_thread_ && &of_this_thread_->table_ == &table;
  }
  TableIsolation(const TableIsolation&) = delete;
  TableIsolation& operator=(const TableIsolation&) = delete;

 private:
  friend class PartitionLock;
  friend class TableLock;
  template <std::size_t kKeys>
  friend class KeysLock;
  // Returns whether this thread holds the partition's lock already. Aborts if it holds only others:
  // to wait for this one could close a circle.
  static bool Covers(const BucketTable& table, std::size_t partition) {
    if (!IsHeldByThisThread(table)) return false;
    WEIR_CHECK(of_this_thread_->partitions_.Contains(partition));
    return true;
  }
  static constinit thread_local const TableIsolation* of_this_thread_;

  const BucketTable& table_;
  const PartitionSet partitions_;
  std::optional<TableLock> lock_;  // none if an outer isolation holds the locks
};

template <std::size_t kKeys>
template <typename PartitionOf>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline KeysLock<kKeys>::KeysLock(BucketTable& table, std::size_t keys,
                                                              PartitionOf partition_of)
    : held_(TableIsolation::IsHeldByThisThread(table)) {
  WEIR_DCHECK(keys > 0);
  WEIR_CHECK(keys <= kKeys);
  WEIR_CHECK(partition_of(0) < kPartitionCount);
  guarded_[0] = &table.partitions_[partition_of(0)];
  // Sorted by insertion: a request has few partitions, mostly one.
  for (std::size_t i = 1; i < (kKeys == 1 ? 1 : keys); ++i) {
    BucketTable::Guarded* const guarded = &table.partitions_[partition_of(i)];
    std::size_t index = count_;
    while (index > 0 && guarded_[index - 1] > guarded) --index;
    WEIR_DCHECK(index == count_ || guarded < guarded_[index]);
    if (index > 0 && guarded_[index - 1] == guarded) continue;
    for (std::size_t j = count_++; j > index; --j) guarded_[j] = guarded_[j - 1];
    guarded_[index] = guarded;
  }
  if (ABSL_PREDICT_FALSE(held_)) {
    for (std::size_t i = 0; i < count(); ++i) {
      TableIsolation::Covers(table,
                             static_cast<std::size_t>(guarded_[i] - table.partitions_.data()));
    }
    return;
  }
  for (std::size_t i = 0; i < count(); ++i) guarded_[i]->mutex.Lock();
}

template <std::size_t kKeys>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline KeysLock<kKeys>::~KeysLock() {
  if (held_) return;
  for (std::size_t i = 0; i < count(); ++i) guarded_[i]->mutex.Unlock();
}

inline void BucketTable::PublishSize(std::size_t index) noexcept {
  const Partition& published = partition(index);
  PublishedSize& size = sizes_[index];
  size.slots.store(static_cast<std::uint32_t>(published.size()), std::memory_order_relaxed);
  size.capacity.store(static_cast<std::uint32_t>(published.capacity()), std::memory_order_relaxed);
  size.changes.store(static_cast<std::uint32_t>(published.changes()), std::memory_order_relaxed);
}

inline PartitionLock::PartitionLock(BucketTable& table, std::size_t partition)
    : table_(table),
      partition_(partition),
      mutex_(TableIsolation::Covers(table, partition) ? nullptr
                                                      : &table.partitions_[partition].mutex) {
  WEIR_CHECK(partition < kPartitionCount);
  if (mutex_) mutex_->Lock();
  WEIR_DCHECK(table_.HasPublishedSize(table_.partitions_[partition]));
}

}  // namespace weir
