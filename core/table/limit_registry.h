// The interned limits: a limit <-> the 4-byte id that a slot of the table keeps instead of it.
// Limits of one identity (limit.h) are one limit here.
//
// An id lives from the first bucket of its limit until some time after the last. It is given out by
// Intern and taken back by Reclaim, and an entry counts the buckets that carry it.
//
// Who may use an id: ids are looked up and used while the lock of the partition that holds (or will
// hold) the bucket is held, and Reclaim runs while *all* partitions are locked. So an id that was
// found stays true until the lock goes. What is kept longer is a LimitHint, which says by its
// generation whether the id still means the same limit.
//
// Memory: about 100 bytes an entry, in chunks that never move; at most kLimitsMax entries.
// Thread-safe within that rule. Find with a good hint costs one load; without, a mutex and a hash
// look-up.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

#include "core/base/mutex.h"
#include "core/rules/limit.h"

namespace weir {

using LimitId = std::uint32_t;

inline constexpr std::size_t kLimitsMax = 1'000'000;

// What Find remembers between calls. A default-constructed one knows nothing.
struct LimitHint {
  LimitId id = 0;
  std::uint32_t generation = 0;  // 0 is never an entry's
};

// An id that was given out, or (no limit) taken back.
struct LimitChange {
  LimitId id = 0;
  std::optional<Limit> limit;
};

class LimitRegistry {
 public:
  // `limits_max` is lowered by tests only.
  explicit LimitRegistry(std::size_t limits_max = kLimitsMax);
  LimitRegistry(const LimitRegistry&) = delete;
  LimitRegistry& operator=(const LimitRegistry&) = delete;

  // The id of an interned limit, or nothing; brings the hint up to date. One hint belongs to one
  // limit and one thread.
  [[nodiscard]] std::optional<LimitId> Find(const Limit& limit, LimitHint& hint) const;

  // Finds the limit or gives it an id. Fails with kResourceExhausted at the cap.
  [[nodiscard]] absl::StatusOr<LimitId> Intern(const Limit& limit, LimitHint& hint);

  // The limit of an id that some bucket carries. The reference is good as long as the bucket's
  // partition is locked. Of an owned limit, its numbers are those that it had when it was interned.
  [[nodiscard]] const Limit& Get(LimitId id) const noexcept;

  // Keeps count of the buckets that carry `id`.
  void AddBucket(LimitId id) noexcept;
  void RemoveBucket(LimitId id) noexcept;

  // Interned limits, with and without buckets.
  [[nodiscard]] std::size_t size() const;

  // At most `ids_max` interned limits that no bucket carried just now, looked for from where the
  // last call stopped. Takes no lock; two loads for each id looked at.
  [[nodiscard]] std::vector<LimitId> Idle(std::size_t ids_max);

  // Takes back those of `ids` that no bucket carries; returns how many. Cost: about 100 ns each.
  // Requires: no partition of the table is in use by another thread.
  std::size_t Reclaim(std::span<const LimitId> ids);

  // --- Saving and loading ---

  // From now on the ids that are given out and taken back are noted for TakeChanges.
  void NoteChanges();
  // The ids that were given out or taken back since the last call, with what they mean now.
  [[nodiscard]] std::vector<LimitChange> TakeChanges();
  // Notes them again: the save failed.
  void NoteAgain(std::span<const LimitChange> changes);

  // Gives a limit the id that it had when it was saved. Returns false, with nothing changed, if
  // that cannot be: the id is taken or too large, or the limit has another id. Before all others.
  [[nodiscard]] bool Restore(LimitId id, const Limit& limit);
  // Makes the ids that Restore has left out free to be given out. After the last Restore.
  void EndRestore();

 private:
  struct Entry {
    std::optional<Limit> limit;  // set while the id is given out
    std::atomic<std::uint32_t> generation{
        0};  // odd while the id is given out, even while it is free
    std::atomic<std::uint32_t> buckets{0};
  };
  static constexpr std::size_t kChunkEntries = 1024;
  static constexpr std::size_t kChunksMax = (kLimitsMax + kChunkEntries - 1) / kChunkEntries;
  using Chunk = std::array<Entry, kChunkEntries>;

  // An id with the hash of its limit, so that a growing set need not visit the entries.
  struct HashedId {
    LimitId id;
    std::uint32_t hash;
  };
  struct HashOf {
    using is_transparent = void;
    std::size_t operator()(HashedId hashed) const noexcept { return hashed.hash; }
    std::size_t operator()(const Limit& limit) const noexcept;
  };
  struct SameLimit {
    using is_transparent = void;
    const LimitRegistry* registry;
    bool operator()(HashedId a, HashedId b) const { return a.id == b.id; }
    bool operator()(HashedId a, const Limit& b) const {
      return registry->Get(a.id).SharesBucketsWith(b);
    }
    bool operator()(const Limit& a, HashedId b) const { return (*this)(b, a); }
  };

  [[nodiscard]] static bool IsGivenOut(const Entry& entry) noexcept;
  [[nodiscard]] Entry& EntryOf(LimitId id) const noexcept;
  void EnsureChunks(LimitId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveOut(LimitId id, const Limit& limit, LimitHint& hint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::optional<LimitId> FindLocked(const Limit& limit, LimitHint& hint) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t limits_max_;
  std::array<std::atomic<Chunk*>, kChunksMax> chunks_{};  // published once each, owned by storage_

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> storage_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<HashedId, HashOf, SameLimit> ids_ ABSL_GUARDED_BY(mutex_);
  std::vector<LimitId> free_ ABSL_GUARDED_BY(mutex_);  // taken back, to be given out again
  bool notes_changes_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<LimitId> changed_ ABSL_GUARDED_BY(mutex_);
  std::atomic<LimitId> idle_cursor_{0};  // where Idle goes on
  std::atomic<LimitId> used_{0};         // ids ever given out: 0 .. used_ - 1; written under mutex_
};

}  // namespace weir
