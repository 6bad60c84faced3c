// The value of a key: its buckets, by the ids of their limits.
//
// Most keys have one to three, so it is a small sorted array; the first bucket lies in the value
// itself. The limits are interned in one registry for all keys (core/table/limit_registry.h), which
// counts the buckets that carry each, so a value takes 32 bytes, and from two buckets on 16 more
// for each.
//
// Not thread-safe, with one exception: a value may be freed on another thread, because the
// registry's counts are atomic.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "core/rules/bucket.h"
#include "core/table/key_bound.h"
#include "core/table/limit_registry.h"
#include "module/api/redis_allocator.h"

namespace weir {

// The buckets of one key that are not full. At most kKeyBucketsMax, because every change writes all
// of them.
class KeyBuckets {
 public:
  struct KeyBucket {
    LimitId limit;
    Bucket bucket;
  };

  // The registry must outlive this object.
  explicit KeyBuckets(LimitRegistry& registry) : registry_(registry) {}
  KeyBuckets(const KeyBuckets& other);
  KeyBuckets& operator=(const KeyBuckets&) = delete;
  ~KeyBuckets();

  [[nodiscard]] const Bucket* Find(LimitId limit) const noexcept;
  // Sets a limit's bucket, which may be new. Requires: room for a new one.
  void Keep(LimitId limit, const Bucket& bucket);
  // Erases the buckets for which `gone` returns true. Returns how many.
  std::size_t EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone);

  [[nodiscard]] std::size_t size() const noexcept { return buckets_.size(); }
  [[nodiscard]] bool empty() const noexcept { return buckets_.empty(); }
  [[nodiscard]] const KeyBucket* begin() const noexcept { return buckets_.data(); }
  [[nodiscard]] const KeyBucket* end() const noexcept { return buckets_.data() + buckets_.size(); }

  // Bytes in use, the object's own included.
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  LimitRegistry& registry_;
  absl::InlinedVector<KeyBucket, 1, RedisAllocator<KeyBucket>> buckets_;
};

}  // namespace weir
