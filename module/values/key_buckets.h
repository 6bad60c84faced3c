// The value of a key: its buckets, by the ids of their limits, and its holds.
//
// Most keys have one to three buckets, so these are a small sorted array; the first bucket lies in
// the value itself. The limits are interned in one registry for all keys
// (core/table/limit_registry.h), which counts the buckets that carry each, so a value takes 40
// bytes, and from two buckets on 16 more for each. A key with holds has a table of them
// (core/table/hold_table.h), which takes about 300 bytes, and some 200 more for each hold.
//
// The table notes the holds that change, so that replicas and the AOF need not get all of them with
// every change.
//
// Not thread-safe, but another thread may free a value: the registry and the records of
// holds count atomically.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "core/limiter/hold_records.h"
#include "core/rules/bucket.h"
#include "core/table/hold_table.h"
#include "core/table/key_bound.h"
#include "core/table/limit_registry.h"
#include "core/table/slot_key.h"
#include "module/api/redis_allocator.h"

namespace weir {

// The buckets of one key that are not full, and its holds. At most kKeyBucketsMax, because every
// change writes all of them.
class KeyBuckets {
 public:
  struct KeyBucket {
    LimitId limit;
    Bucket bucket;
  };

  // What the values of all keys share. It must outlive them.
  struct Shared {
    Shared(LimitRegistry& limit_registry, HoldRecords& of_holds)
        : registry(limit_registry), hold_records(of_holds) {}
    LimitRegistry& registry;
    HoldRecords& hold_records;
    bool has_holds = false;  // true for Held
  };
  explicit KeyBuckets(const Shared& shared) : shared_(&shared) {}
  KeyBuckets(const KeyBuckets& other);
  KeyBuckets& operator=(const KeyBuckets&) = delete;
  ~KeyBuckets();

  [[nodiscard]] const Bucket* Find(LimitId limit) const noexcept;
  // Sets a limit's bucket, which may be new. Requires: room for a new one.
  void Keep(LimitId limit, const Bucket& bucket);
  // Erases the buckets for which `gone` returns true. Returns how many.
  std::size_t EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone);

  // Erases all buckets and holds.
  void Clear() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return buckets_.size(); }
  [[nodiscard]] bool empty() const noexcept { return buckets_.empty(); }
  [[nodiscard]] const KeyBucket* begin() const noexcept { return buckets_.data(); }
  [[nodiscard]] const KeyBucket* end() const noexcept { return buckets_.data() + buckets_.size(); }

  // The place of a bucket among the holds' (HoldTerms::key): a value belongs to one key.
  static constexpr std::uint64_t kKey = 0;
  [[nodiscard]] static SlotKey SlotOf(LimitId limit) noexcept { return {kKey, limit}; }

  // The holds, or null if the key has none.
  [[nodiscard]] HoldTable* holds() const noexcept { return held() ? &held()->holds : nullptr; }
  [[nodiscard]] HoldTable& MakeHolds();
  // Forgets the table's notes of changes, and the table itself if it has no holds.
  void EndHoldChanges() noexcept;
  // The version of the policies (Policies::version) at which each hold's policies were there.
  [[nodiscard]] std::uint64_t holds_checked_at() const noexcept {
    return held() ? held()->checked_at : 0;
  }
  void set_holds_checked_at(std::uint64_t version) noexcept {
    if (held()) held()->checked_at = version;
  }

  // Looks at `now` use a copy of the buckets while holds are due that a look must not settle. The
  // copy is valid until another hold is due, the policies have another version, or the value
  // changes; a change must call ForgetLook. MakeLook copies the buckets as they are, for the caller
  // to change, and requires holds.
  [[nodiscard]] KeyBuckets* FindLook(Instant now, std::uint64_t version) const noexcept;
  [[nodiscard]] KeyBuckets& MakeLook(Instant now, std::uint64_t version);
  void ForgetLook() noexcept;

  // When the sweeper (hold_sweeper.h) will look at the holds.
  [[nodiscard]] Instant sweep_at() const noexcept { return held() ? held()->sweep_at : Instant{}; }
  void set_sweep_at(Instant when) noexcept {
    if (held()) held()->sweep_at = when;
  }

  // The time of the last change, at which no bucket was full, or of the load after it. It tells the
  // age of a sliding window, because the bucket knows its age for 2^31 windows only
  // (sliding_window.h).
  [[nodiscard]] Instant changed_at() const noexcept { return changed_at_; }
  void set_changed_at(Instant now) noexcept { changed_at_ = now; }

  // Bytes in use, the object's own included.
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  // Takes the place of `shared_` in a value with holds. Other values need no memory for holds.
  struct Held : Shared {
    explicit Held(const Shared& shared) : Shared(shared), of_all(&shared) { has_holds = true; }
    const Shared* of_all;
    HoldTable holds{true};
    std::uint64_t checked_at = 0;
    Instant sweep_at;
    struct Look {
      std::unique_ptr<KeyBuckets> buckets;
      Instant begin;
      Instant end;
      std::uint64_t version = 0;
    };
    Look look;
  };
  [[nodiscard]] Held* held() const noexcept {
    return shared_->has_holds ? const_cast<Held*>(static_cast<const Held*>(shared_)) : nullptr;
  }
  void DeleteHeld() noexcept;

  const Shared* shared_;  // owned if it is a Held
  Instant changed_at_;
  absl::InlinedVector<KeyBucket, 1, RedisAllocator<KeyBucket>> buckets_;
};

}  // namespace weir
