// Reads what has changed in a limiter: for the saver, and for the stream of the replicas.
//
//     ChangeReader reader(limiter.table());
//     const ChangesLock changes_lock(reader);
//     const LimiterChanges changes = reader.TakeChanges(now, false);
//
// Thread-safe. A reader is a reference to the table, which must outlive it. Fails: never.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/limiter/limiter_changes.h"
#include "core/rules/limit.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/table/table_generation.h"

namespace weir {

struct LimiterTable;

class ChangeReader {
 public:
  explicit ChangeReader(LimiterTable& table) : table_(table) {}

  // Begins to log changes; stops, and forgets those that were not taken. Each locks all for 50 us.
  void StartLogging();
  void StopLogging();
  [[nodiscard]] bool logs_changes() const noexcept;

  // Returns the changes since the last call, from `first_partition` to the first boundary of a
  // partition after kTakenMax changes. A bucket that is full at `now` is returned as erased, or not
  // at all if it need not be written; without `now` (the time may go back), only one from which
  // nothing was ever taken counts as full. Locks the changed partitions one after the other; with
  // `consistent_snapshot` all at once, so that the result has each request whole or not at all
  // (unless a partition's log has overflowed, or there are more than kTakenMax changes, with eight
  // for a hold). Uses the memory of `changes`. Requires: logs_changes(). Cost: about 100 ns a
  // bucket and 200 ns a hold.
  static constexpr std::size_t kTakenMax = 256 * 1024;
  [[nodiscard]] LimiterChanges TakeChanges(std::optional<Instant> now, bool consistent_snapshot,
                                           std::size_t first_partition = 0,
                                           LimiterChanges changes = {});
  // Adds a partition's buckets that are not full at `now`, and all holds and sums, in no order.
  // Cost with the partition locked: 4 ns a bucket, 150 ns a hold; then 11 ns a bucket.
  void CopyPartition(std::size_t partition, std::optional<Instant> now, LimiterChanges& changes);
  // Returns the time up to which what is full at `now` may be dropped, in memory and on disk: of a
  // table that follows, no later than its primary has told. Requires: this thread has a
  // ChangesLock.
  [[nodiscard]] Instant Droppable(Instant now) const noexcept;
  // Returns the ids that were given out or taken back since the last call. A save takes them after
  // its buckets and holds, with the same ChangesLock, so that the limit of each is known.
  [[nodiscard]] std::vector<LimitChange> TakeLimits();
  // Begins a complete save, which will take all changes up to now; and tells that it is on disk.
  void BeginSave();
  void EndSave();
  // Returns the limit that an id means, or meant last. Requires: the id is in changes that were
  // taken with this thread's present ChangesLock, or in a bucket of a partition that it has locked.
  [[nodiscard]] const Limit& LimitOf(LimitId id) const noexcept;
  // Goes up with each Clear. Requires: this thread has a ChangesLock.
  [[nodiscard]] TableGeneration generation() const;
  // The secret of the key hashes.
  [[nodiscard]] const HashSecret& secret() const noexcept;
  // Returns the number of holds, marks and sums of a partition. Locks it.
  [[nodiscard]] std::size_t CountHolds(std::size_t partition);
  // Returns the number of buckets that a partition had when it was last published. Takes no lock.
  [[nodiscard]] std::size_t PublishedSlots(std::size_t partition) const noexcept;

 private:
  friend class ChangesLock;

  LimiterTable& table_;
};

// Holds up Clear, isolations of all keys, and taking back ids of limits until the changes that were
// taken are handed on. One thread at a time has it.
class ChangesLock {
 public:
  explicit ChangesLock(const ChangeReader& reader);

 private:
  MutexLock<RecursiveMutex> lock_;
};

}  // namespace weir
