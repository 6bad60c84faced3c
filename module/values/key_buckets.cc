#include "module/values/key_buckets.h"

#include <algorithm>

#include "core/base/check.h"

namespace weir {

KeyBuckets::KeyBuckets(const KeyBuckets& other)
    : registry_(other.registry_), buckets_(other.buckets_) {
  for (const KeyBucket& one : buckets_) registry_.AddBucket(one.limit);
}

KeyBuckets::~KeyBuckets() {
  for (const KeyBucket& one : buckets_) registry_.RemoveBucket(one.limit);
}

const Bucket* KeyBuckets::Find(LimitId limit) const noexcept {
  const auto found = std::ranges::lower_bound(buckets_, limit, {}, &KeyBucket::limit);
  return found != buckets_.end() && found->limit == limit ? &found->bucket : nullptr;
}

void KeyBuckets::Keep(LimitId limit, const Bucket& bucket) {
  const auto place = std::ranges::lower_bound(buckets_, limit, {}, &KeyBucket::limit);
  if (place != buckets_.end() && place->limit == limit) {
    place->bucket = bucket;
    return;
  }
  WEIR_CHECK(size() < kKeyBucketsMax);
  buckets_.insert(place, {limit, bucket});
  registry_.AddBucket(limit);
}

std::size_t KeyBuckets::EraseIf(absl::FunctionRef<bool(LimitId, const Bucket&)> gone) {
  const auto first = std::remove_if(buckets_.begin(), buckets_.end(), [&](const KeyBucket& one) {
    if (!gone(one.limit, one.bucket)) return false;
    registry_.RemoveBucket(one.limit);
    return true;
  });
  const auto erased = static_cast<std::size_t>(buckets_.end() - first);
  buckets_.erase(first, buckets_.end());
  return erased;
}

std::size_t KeyBuckets::memory() const noexcept {
  const std::size_t elsewhere =
      buckets_.capacity() > 1 ? buckets_.capacity() * sizeof(KeyBucket) : 0;
  return sizeof(*this) + elsewhere;
}

}  // namespace weir
