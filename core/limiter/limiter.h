// The limiter: decides requests on the buckets, all or nothing, each at one execution time.
//
//     Limiter limiter({.secret = RandomHashSecret()});
//     const Limit limit = *ParseLimitWord("10/s")->limit;
//     const Request request = {{.key = "user:42", .limit = &limit, .hash =
//     limiter.Hash("user:42")}}; absl::StatusOr<Verdict> verdict = limiter.Decide(request,
//     clock.Now());
//
// It never reads a clock: `now` is an argument everywhere, in [Instant{}, kInstantMax].
// Thread-safe: a call locks the partitions of its keys, in ascending order, for its whole length;
// requests that share no partition run in parallel. Cost of a decision: a keyed hash and a map
// look-up a key, one division a limit; no allocation up to 4 checks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/base/mutex.h"
#include "core/limiter/live_bucket.h"
#include "core/limiter/reservation.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "core/table/bucket_table.h"
#include "core/table/changed_partitions.h"
#include "core/table/key_hash.h"
#include "core/table/limit_registry.h"
#include "core/table/table_bound.h"
#include "core/table/table_generation.h"
#include "core/words/request.h"

namespace weir {

struct LimiterOptions {
  HashSecret secret{};
  // The longest wait that may ever be reserved: how far past its capacity a stored time is
  // believed. 0 .. kMaxWaitMax.
  Nanos max_wait = std::chrono::seconds{60};
  std::size_t limits_max = kLimitsMax;  // distinct limits in use
  // False where clients bring the execution time: then it may go back between decisions on a key.
  // True where it is a clock's, which several threads read: one that is overtaken between reading
  // the clock and deciding decides as of the latest decision that its keys have seen.
  bool time_is_ordered = true;
  bool notes_changes = false;  // for TakeChanges: a save will want to know
  std::size_t memory_max = 0;  // as set_memory_max
  // Says the present numbers of an interned limit, or that it is gone; empty: as it was interned.
  // Called with a partition's lock held.
  std::function<std::optional<Limit>(const Limit&)> present = nullptr;
};

// The part of a bucket that a save writes.
struct BucketChange {
  SlotKey key;
  std::uint16_t partition;
  Algorithm algorithm;
  bool went_back;  // as in NotedChange
  bool erased;     // there is nothing to write, and what was written before is to go
  Bucket bucket;   // of those not erased
};

// The changes since the last save.
struct LimiterChanges {
  std::vector<BucketChange> buckets;  // by partition, hash, algorithm and limit; distinct
  std::vector<LimitChange> limits;
  // Partitions of which `buckets` has all that there are, in ascending order: what else an earlier
  // save wrote of them is to go.
  std::vector<std::uint16_t> rewritten_partitions;
  TableGeneration generation{};  // buckets of another one are gone
  // Where the next call is to go on, as there were too many for one; kPartitionCount: that was all.
  std::size_t next_partition = kPartitionCount;

  [[nodiscard]] bool empty() const noexcept {
    return buckets.empty() && limits.empty() && rewritten_partitions.empty();
  }
};

class Limiter {
 public:
  explicit Limiter(const LimiterOptions& options);

  // Decides all checks on one state; if all admit, charges all, else none. A denial writes and
  // creates nothing (but for the clamp of token_bucket.h), and so does a cost of 0. Fails, with
  // nothing charged, only with kResourceExhausted (a new limit, and too many are in use: see
  // LimitRegistry, `introducer` is the user) or kOutOfRange (the key has kKeyBucketsMax buckets).
  // Where `now` is earlier than a sweep that dropped buckets of the keys' partitions, the execution
  // time is the sweep's: a bucket that is absent was full then, not before. For decisions that
  // changed buckets there, the same where time is ordered: else the clamp of a late thread could
  // cut what an early one has just charged.
  [[nodiscard]] absl::StatusOr<Verdict> Decide(const Request& request, Instant now,
                                               Introducer introducer = kNoIntroducer);

  // What hashes the keys of checks.
  [[nodiscard]] const KeyHasher& hasher() const noexcept { return hasher_; }
  [[nodiscard]] KeyHash Hash(std::string_view key) const noexcept { return hasher_(key); }

  // Fetches what a later call about this key will look at into the cache of this core, in two
  // steps: some hundred ns apart each finds there what it needs. For callers that have several
  // requests at hand: at a million keys fetching costs more than deciding. No call may be under way
  // in this thread.
  [[nodiscard]] KeyHash PrefetchPartition(std::string_view key) const noexcept {
    const KeyHash hash = hasher_(key);
    table_.PrefetchPartition(hash);
    return hash;
  }
  void PrefetchBuckets(const KeyHash& key) noexcept { table_.PrefetchBuckets(key); }

  // The verdict that Decide would give. Changes nothing, creates nothing, interns nothing.
  [[nodiscard]] Verdict Peek(const Request& request, Instant now);

  // Takes the request as many times over as all limits have tokens for, `upto` at most: each time
  // costs every limit its own cost. What costs nothing, a shadow and "unlimited" do not bound it.
  // Fails as Decide does. Requires: upto >= 1.
  [[nodiscard]] absl::StatusOr<Grant> Take(const Request& request, std::int64_t upto, Instant now,
                                           Introducer introducer = kNoIntroducer);

  // Gives every limit its cost back, never past full; shadows, too. Creates nothing. The verdict is
  // an admission with the numbers after it.
  Verdict Refund(const Request& request, Instant now);

  // As Decide, but where the tokens will be there within `patience` it charges them now, so that
  // waiting is first come, first served. A shadow admits where its tokens will be there by then: no
  // client waits longer for it. Otherwise a denial as Decide's. Requires: one key, limits that are
  // token buckets or have no bucket, patience in [0, max_wait].
  [[nodiscard]] absl::StatusOr<Admission> Reserve(const Request& request, Nanos patience,
                                                  Instant now,
                                                  Introducer introducer = kNoIntroducer);
  // (The rest of waiting is in limiter_waiting.cc.)
  // The verdict of a reservation that has been waited for: admitted, with the numbers of `now`.
  [[nodiscard]] Verdict Settle(const Reservation& reservation, Instant now);
  // The verdict of one that was given back before it was ready: denied, with what is still to come.
  [[nodiscard]] Verdict Withdraw(const Reservation& reservation, Instant now);
  // Gives back the tokens of buckets that are still as the reservation left them.
  void GiveBack(const Reservation& reservation);

  // The slots that calls of this thread have visited so far to find the buckets of single keys,
  // those that decisions visited to count a key's buckets, and the ids that they looked at for idle
  // ones. A bucket that Inspect or Watch returns counts as several.
  [[nodiscard]] static std::uint64_t SlotsVisited() noexcept { return slots_visited_; }
  // The slots that such a call about this key would visit: those of its partition, or one for each
  // limit that has been in use at once where that is less. Locks the partition.
  [[nodiscard]] std::size_t CountSlots(std::string_view key);

  // The key's buckets that are not full, by the ids of their limits: in the order of first use, but
  // for ids given out again. The first kInspectedMax, where there are more. Of a limit that has an
  // owner its numbers may have changed since it was interned: `present` says them, or that it is
  // gone.
  static constexpr std::size_t kInspectedMax = 1024;
  using PresentLimit = absl::FunctionRef<std::optional<Limit>(const Limit&)>;
  static std::optional<Limit> AsItWasInterned(const Limit& limit) { return limit; }
  [[nodiscard]] std::vector<LiveBucket> Inspect(std::string_view key, Instant now,
                                                PresentLimit present = AsItWasInterned);

  // Until all of the key's buckets are full; 0 when they are. `present` as above.
  [[nodiscard]] Nanos ResetAfter(std::string_view key, Instant now,
                                 PresentLimit present = AsItWasInterned);

  // Forgets the key's buckets: those of `limits`, or with none given all. Returns how many of them
  // were not full. `present` as above.
  std::size_t Reset(std::string_view key, std::span<const Limit> limits, Instant now,
                    PresentLimit present = AsItWasInterned);

  // A key's buckets as they were at some time, by the ids of their limits.
  struct Watched {
    struct WatchedBucket {
      LimitId id;
      Limit limit;
      Bucket bucket;
    };
    KeyHash key;
    std::vector<WatchedBucket> buckets;
    std::size_t visits = 0;  // slots that Watch has visited; IsUnchanged will visit as many
  };
  [[nodiscard]] Watched Watch(std::string_view key);
  // True unless there was a change since, as of `now`: a bucket that is full counts as absent.
  [[nodiscard]] bool IsUnchanged(const Watched& watched, Instant now);

  // Makes one of several calls: no other thread's call about the same keys comes between those that
  // this thread makes while it exists. Meanwhile the thread may call nothing about other keys, and
  // nothing about all of them (Clear, size, ...) unless it has all; an isolation of some of those
  // that it has adds nothing. Cost: the locks of the keys' partitions; of all, which stops the
  // world, about 50 us.
  class Isolation {
   public:
    Isolation(Limiter& limiter, std::span<const std::string_view> keys,
              std::span<const Watched> watched = {});
    explicit Isolation(Limiter& limiter);  // all keys

   private:
    // Set where all keys are held: Clear takes it before the partitions' locks, too.
    std::optional<MutexLock<RecursiveMutex>> saving_;
    TableIsolation hold_;
  };

  // Forgets everything. Stops the world meanwhile, as an Isolation of all keys does.
  void Clear();

  // Forgets all buckets of these policies, one partition after the other: a scan of the table.
  void ForgetPolicies(std::span<const PolicyId> policies);

  // Drops the full buckets among `visits_max` slots of one partition, from the `first`th on. At the
  // end of the partition gives memory back, and brings the partition below a lowered bound.
  Partition::Erased SweepSome(std::size_t partition, Instant now, std::size_t first,
                              std::size_t visits_max);
  // All of the partition at once. Returns how many it dropped.
  std::size_t Sweep(std::size_t partition, Instant now) {
    return SweepSome(partition, now, 0, std::numeric_limits<std::size_t>::max()).erased;
  }

  // Keeps the table within so many bytes, and at least TableBound::kBytesMin; 0: no bound. A bucket
  // for which there is no room makes some in its partition: what is full goes, and if that is not
  // enough, those with the smallest used share (rule.h), and of equal ones those that are full
  // sooner. (A 32nd of the partition at once, so that one scan of it, about 4 ns a bucket, serves
  // many.) The next lap of sweeps brings a table that is
  // above a lowered bound below it. At any time, by any thread.
  void set_memory_max(std::size_t bytes) noexcept;
  // How many buckets have gone for that which were not full.
  [[nodiscard]] std::uint64_t evicted() const noexcept {
    return evicted_.load(std::memory_order_relaxed);
  }

  // Takes back ids of limits where so many are in use that a transaction, which holds locks and
  // cannot, might be refused some.
  void MakeRoomForLimits();

  // Takes back ids of limits that no bucket carries any more, `ids_max` at most. Stops the world
  // for up to 0.1 us an id and 50 us, so it does nothing below `ids_min` of them. Returns how many.
  // Calls in a row go on where the last one stopped, so that all together look at each limit twice.
  std::size_t ReclaimLimits(std::size_t ids_min, std::size_t ids_max);

  // --- Saving (limiter_saving.cc). One thread at a time ---

  // Returns the changes since the last call, starting at `first_partition`. Stops at the first
  // partition boundary after kTakenMax changes. A bucket that is full at `now` is erased, if it has
  // to be written at all. Without `now`, where clients bring the time and may go back, only one is
  // full that nothing was ever taken from. Locks those partitions that have changed, one after the
  // other; with `consistent_snapshot` all that has changed at once, so that a request is in it
  // whole or not at all (unless the list of some partition has overflowed or more than kTakenMax
  // has changed: that would hold the locks for too long). Cost: about 100 ns a change and a lock a
  // changed partition. Requires: LimiterOptions::notes_changes.
  static constexpr std::size_t kTakenMax = 256 * 1024;
  [[nodiscard]] LimiterChanges TakeChanges(std::optional<Instant> now, bool consistent_snapshot,
                                           std::size_t first_partition = 0);
  // Notes them again: the save failed.
  void NoteAgain(const LimiterChanges& changes);
  // All that was taken since the last call with `first_partition` 0, and by it, is on disk.
  void EndSave() { registry_.EndSave(); }

  // --- Loading, before anything is decided ---

  // Returns false, with nothing changed, where the id or the limit is taken or the id too large.
  [[nodiscard]] bool RestoreLimit(LimitId id, const Limit& limit) {
    return registry_.Restore(id, limit);
  }
  struct RestoredBucket {
    SlotKey key;
    Bucket bucket;
  };
  // Distinct buckets of restored limits, of a partition that has none. Of more than there is room
  // for, those stay that have the greatest used share at `now`.
  void RestorePartition(std::size_t partition, std::span<const RestoredBucket> buckets,
                        Instant now);
  void EndRestore(TableGeneration generation);
  // The next save writes everything.
  void NoteEverything();

  struct Size {
    std::size_t buckets = 0;      // stored, full ones that are not swept yet included
    std::size_t changes = 0;      // noted for the next save
    std::size_t limits = 0;       // interned
    std::size_t table_bytes = 0;  // of the maps' arrays
  };
  // Locks one partition after the other: about 100 us.
  [[nodiscard]] Size size();

  // Buckets that are not full. Cost: a scan of the table.
  [[nodiscard]] std::size_t CountLive(Instant now);

 private:
  struct FoundBucket;
  template <std::size_t kChecks>
  struct LockedRequest;
  static constexpr std::size_t kReclaimsAtOnce = 1024;

  template <typename Try>
  [[nodiscard]] absl::Status WithRoomForLimits(Try attempt);
  [[nodiscard]] absl::Status TryWithRoom(absl::Status status,
                                         absl::FunctionRef<absl::Status()> attempt);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status DecideChecks(const Request& request, Instant now,
                                          Introducer introducer, Verdict& verdict);
  [[nodiscard]] absl::Status DecideMany(const Request& request, Instant now, Introducer introducer,
                                        Verdict& verdict);
  template <std::size_t kChecks>
  [[nodiscard]] static Instant ExecutionTime(const KeysLock<kChecks>& lock, Instant now);
  void FindBucket(const Check& check, FoundBucket& found);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status Conclude(LockedRequest<kChecks>& locked, Introducer introducer,
                                      Verdict& verdict);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status Commit(LockedRequest<kChecks>& locked, Introducer introducer);
  template <std::size_t kChecks>
  [[nodiscard]] absl::Status MakeRoomForNew(LockedRequest<kChecks>& locked, Introducer introducer);
  template <std::size_t kChecks>
  [[nodiscard]] bool IsRoomKnown(const LockedRequest<kChecks>& locked);
  template <std::size_t kChecks>
  void InsertNew(const LockedRequest<kChecks>& locked);
  template <typename Visit>
  void VisitKey(const KeyHash& key, Visit visit);
  [[nodiscard]] std::size_t SlotsOf(const KeyHash& key);
  [[nodiscard]] std::optional<bool> KnownRoom(const KeyHash& key, std::size_t added, Instant now);
  [[nodiscard]] bool HasRoom(const KeyHash& key, std::size_t added, Instant now,
                             std::span<const FoundBucket> asked);
  [[nodiscard]] bool MakeRoomOnKey(const KeyHash& key, std::size_t added, Instant now,
                                   std::span<const FoundBucket> asked);
  template <std::size_t kChecks>
  void AdvanceDecisionTime(const KeysLock<kChecks>& lock, Instant now);
  [[nodiscard]] Verdict VerdictNow(const Reservation& reservation, bool allowed, Instant now);
  [[nodiscard]] Bucket* FindBucket(const KeyHash& key, const Limit& limit, LimitId& id);
  void Replace(const KeyHash& key, LimitId id, const Limit& limit, Bucket& slot, Bucket value);
  void Insert(const KeyHash& key, LimitId id, const Limit& limit, Bucket bucket);
  void MakeRoomFor(std::size_t buckets, std::size_t partition, Instant now);
  void DropDownTo(std::size_t slots_kept, std::size_t index, Instant now);
  void Forget(std::size_t partition, const SlotKey& slot);
  void ForgetFull(std::size_t partition, const SlotKey& slot);
  void NoteChanged(std::size_t partition);
  void NotePartition(std::size_t partition);
  void TakePartition(std::size_t index, std::optional<Instant> now, LimiterChanges& changes);

  static inline constinit thread_local std::uint64_t slots_visited_ = 0;

  const KeyHasher hasher_;
  const Nanos max_wait_;
  const bool time_is_ordered_;
  const bool notes_changes_;
  const std::function<std::optional<Limit>(const Limit&)> present_;
  // Held while changes are taken, and by whatever must not come into the middle of that: what takes
  // an id back, and what forgets everything. Taken before a partition's lock.
  RecursiveMutex saving_mutex_;
  TableGeneration generation_ ABSL_GUARDED_BY(saving_mutex_){};
  const std::size_t limits_max_;
  ChangedPartitions changed_partitions_;     // a superset, where `notes_changes_`
  ChangedPartitions overflowed_partitions_;  // of them, whose list has
  std::atomic<TableBound> bound_;
  std::atomic<std::uint64_t> evicted_{0};
  LimitRegistry registry_;
  BucketTable table_;
};

// Gives a bucket that is there another value.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Limiter::Replace(const KeyHash& key, LimitId id,
                                                          const Limit& limit, Bucket& slot,
                                                          Bucket value) {
  WEIR_DCHECK(!IsMarked(value));
  if (!notes_changes_) {
    slot = value;
    return;
  }
  Partition& partition = table_.partition(key.partition);
  partition.ReplaceNoted({key.hash, id}, limit.shape().algorithm, slot, value);
  NoteChanged(key.partition);
}

}  // namespace weir
