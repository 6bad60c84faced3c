// The interned limits: the table's slots store a 4-byte id in place of each limit. Limits with the
// same identity (limit.h) have one id.
//
// An id lives from the first bucket of its limit until some time after the last. Intern gives it
// out, Reclaim takes it back, and its entry counts the buckets that carry it.
//
// Locking: an id is looked up and used under the lock of the partition that holds (or will hold)
// the bucket, and Reclaim runs while *all* partitions are locked. So an id stays valid until that
// lock is released. To keep an id longer, use a LimitHint: its generation tells whether the id
// still means the same limit.
//
// Limits written out in requests are bounded, so that no user can use up the registry: all of them
// together may take nine tenths of it, those that one user has introduced a tenth. The limits of
// policies and of CL.THROTTLE count for no user.
//
// If changes are logged for saves, an id that was taken back is given out again only after a
// complete save that began later, so that no record on disk is read with another limit.
//
// Memory: BytesPerLimit() an entry, in chunks that never move; at most kLimitsMax entries.
// Thread-safe within that rule. Find with a good hint costs one load; without, a mutex and a hash
// look-up. A hint also remembers that the limit has no id, until the next id is given out.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/id_type.h"
#include "core/base/mutex.h"
#include "core/rules/limit.h"

namespace weir {

// An interned limit. The first ids that are given out are 0, 1, 2 and so on.
enum class LimitId : std::uint32_t {};

inline constexpr std::size_t kLimitsMax = 1'000'000;

// The user that a limit counts for until its id is taken back: a hash of the name.
enum class Introducer : std::uint32_t {};
inline constexpr Introducer kNoIntroducer{0};    // a policy or a load: bounded by kLimitsMax only
inline constexpr Introducer kSoleIntroducer{1};  // the only user, bounded with all others together

[[nodiscard]] inline Introducer IntroducerNamed(std::string_view name) noexcept {
  const std::size_t hash = absl::HashOf(absl::string_view(name.data(), name.size()));
  return std::max(static_cast<Introducer>(hash), Next(kSoleIntroducer));
}

// Goes up by one when an id is given out and when it is taken back: odd while a limit has the id.
// No limit has generation 0.
enum class IdGeneration : std::uint32_t {};

// A result of Find that makes the next call cheap. A default-constructed one is empty.
struct LimitHint {
  LimitId id{};
  IdGeneration generation{};
  std::uint32_t missed_at = 0;  // the count of ids given out when the limit had none; 0: unknown
};

// An id that was given out or, if `limit` is empty, taken back.
struct LimitChange {
  LimitId id{};
  std::optional<Limit> limit;
};

class LimitRegistry {
 public:
  // Ids are below this. As many may wait for a save as may be in use.
  static constexpr std::size_t kIdsMax = 2 * kLimitsMax;
  static_assert(kIdsMax <= UINT32_MAX, "LimitId");

  // `limits_max` is lowered by tests only.
  explicit LimitRegistry(std::size_t limits_max = kLimitsMax);
  LimitRegistry(const LimitRegistry&) = delete;
  LimitRegistry& operator=(const LimitRegistry&) = delete;

  // The id of an interned limit, or nothing; brings the hint up to date. One hint belongs to one
  // limit and one thread.
  [[nodiscard]] std::optional<LimitId> Find(const Limit& limit, LimitHint& hint) const {
    const bool is_known =
        hint.generation != LimitHint{}.generation &&
        EntryOf(hint.id).generation.load(std::memory_order_relaxed) == hint.generation;
    WEIR_DCHECK(!is_known || Get(hint.id).SharesBucketsWith(limit));
    return is_known ? hint.id : FindWithoutHint(limit, hint);
  }

  // Finds the limit or gives it an id. Fails with kResourceExhausted, and names the bound.
  [[nodiscard]] absl::StatusOr<LimitId> Intern(const Limit& limit, LimitHint& hint,
                                               Introducer introducer = kNoIntroducer);

  // The memory of one limit: its entry, and its place in the set of ids.
  [[nodiscard]] static std::size_t BytesPerLimit() noexcept;

  // Changes the bound on interned limits; limits above a lowered bound stay.
  void set_limits_max(std::size_t limits) noexcept;

  // The limit of an id that some bucket carries. The reference is good as long as the bucket's
  // partition is locked, or nothing can be taken back (Reclaim). An owned limit has the numbers
  // that it was interned with.
  [[nodiscard]] const Limit& Get(LimitId id) const noexcept;
  // The same, also after the id was taken back, until it is given out again.
  [[nodiscard]] const Limit& LastMeaning(LimitId id) const noexcept;
  // True if the id belongs to a limit. Requires: below used(). Takes no lock.
  [[nodiscard]] bool IsUsed(LimitId id) const noexcept { return IsGivenOut(EntryOf(id)); }

  // Count the buckets that carry `id`.
  void AddBucket(LimitId id) noexcept;
  void RemoveBucket(LimitId id, std::uint32_t buckets = 1) noexcept;

  // The number of ids ever given out: every id in use is below it. Takes no lock.
  [[nodiscard]] std::uint32_t used() const noexcept {
    return used_.load(std::memory_order_acquire);
  }

  // Interned limits, with and without buckets.
  [[nodiscard]] std::size_t size() const;

  // True if the interned limits are more than four fifths of the bound.
  [[nodiscard]] bool IsNearlyFull() const {
    return size() > limits_max_.load(std::memory_order_relaxed) / 5 * 4;
  }

  // True if that many more limits are within the bound.
  [[nodiscard]] bool HasRoomFor(std::size_t limits) const {
    return size() + limits <= limits_max_.load(std::memory_order_relaxed);
  }

  // Interned limits that no bucket carries. Takes no lock.
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.load(std::memory_order_relaxed); }

  // Returns up to `ids_max` ids of limits that no bucket carried when the search passed them. It
  // continues where the last call stopped. Takes no lock; two loads for each id looked at.
  [[nodiscard]] std::vector<LimitId> Idle(std::size_t ids_max);

  // Takes back those of `ids` that no bucket carries; returns how many. Cost: about 100 ns each.
  // Requires: no partition of the table is in use by another thread.
  std::size_t Reclaim(std::span<const LimitId> ids);

  // --- Saving and loading ---

  // From now on the ids that are given out and taken back are logged for TakeChanges.
  void StartLogging();
  // No longer: nothing waits for a save any more.
  void StopLogging();
  // Begins a save, which will contain all changes up to now.
  void BeginSave();
  // Completes that save: ids that were taken back before it began may be given out again.
  void EndSave();
  // The ids that were given out or taken back since the last call, with what they mean now.
  [[nodiscard]] std::vector<LimitChange> TakeChanges();

  // Gives a limit the id that it had when it was saved. Returns false, with nothing changed, if the
  // id is taken or too large, the limit has an id already, or the registry is full. To be called
  // before any Intern.
  [[nodiscard]] bool Restore(LimitId id, const Limit& limit);
  // Frees the ids below used() that were not restored. To be called after the last Restore.
  void EndRestore();

 private:
  struct Entry {
    std::optional<Limit> limit;  // the one that the id means, or meant last
    std::atomic<IdGeneration> generation{};
    std::atomic<std::uint32_t> buckets{0};
    Introducer introducer = kNoIntroducer;
  };
  static constexpr std::size_t kChunkEntries = 1024;
  static constexpr std::size_t kChunksMax = (kIdsMax + kChunkEntries - 1) / kChunkEntries;
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
  [[nodiscard]] Entry& EntryOf(LimitId id) const noexcept {
    const std::size_t index = NumberOf(id);
    Chunk* const chunk = chunks_[index / kChunkEntries].load(std::memory_order_acquire);
    WEIR_DCHECK(chunk != nullptr);
    return (*chunk)[index % kChunkEntries];
  }
  [[nodiscard]] std::optional<LimitId> FindWithoutHint(const Limit& limit, LimitHint& hint) const;
  void CheckCounts() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EnsureChunks(LimitId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] absl::Status CheckRoom(Introducer introducer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveOut(LimitId id, const Limit& limit, Introducer introducer, LimitHint& hint)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] std::optional<LimitId> FindLocked(const Limit& limit, LimitHint& hint) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<std::size_t> limits_max_;
  std::array<std::atomic<Chunk*>, kChunksMax> chunks_{};  // published once each, owned by storage_
  // The ids that were given out so far, and 1. A thread that holds the lock of a partition sees the
  // count with the ids of its buckets.
  std::atomic<std::uint32_t> given_out_{1};

  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> storage_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_set<HashedId, HashOf, SameLimit> ids_ ABSL_GUARDED_BY(mutex_);
  std::vector<LimitId> free_ ABSL_GUARDED_BY(mutex_);     // may be given out
  std::vector<LimitId> unsaved_ ABSL_GUARDED_BY(mutex_);  // taken back since the last save began
  std::vector<LimitId> in_save_ ABSL_GUARDED_BY(mutex_);  // taken back before that
  // Limits in use that users have introduced: those of each user, and of all.
  absl::flat_hash_map<Introducer, std::size_t> introduced_ ABSL_GUARDED_BY(mutex_);
  std::size_t introduced_by_all_ ABSL_GUARDED_BY(mutex_) = 0;
  bool logs_changes_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_set<LimitId> changed_ ABSL_GUARDED_BY(mutex_);
  std::atomic<std::uint32_t> idle_cursor_{0};  // where Idle continues
  std::atomic<std::size_t> idle_{0};
  std::atomic<std::uint32_t> used_{0};  // ids ever given out: 0 .. used_ - 1; written under mutex_
};

}  // namespace weir
