// The 12 bytes that one limit keeps for one key.
//
// The algorithm gives the words their meaning (token_bucket.h: the theoretical arrival time). A
// bucket of zeros is full under every algorithm, so an absent bucket and a default-constructed one
// are the same thing. The highest bit of `high` belongs to no algorithm: the keeper of the bucket
// may use it as a mark. It has three words, not a 64-bit integer, because the table's slots are
// aligned to 4 bytes.
#pragma once

#include <cstdint>

namespace weir {

struct Bucket {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t extra = 0;

  friend bool operator==(const Bucket&, const Bucket&) = default;
};

static_assert(sizeof(Bucket) == 12);

// The bit of Bucket::high that belongs to the keeper of the bucket. The rules ignore it and write
// it as 0. The table's mark says that the bucket has changed since the last save.
inline constexpr std::uint32_t kBucketMark = std::uint32_t{1} << 31;

[[nodiscard]] constexpr bool IsMarked(const Bucket& bucket) noexcept {
  return (bucket.high & kBucketMark) != 0;
}
[[nodiscard]] constexpr Bucket Marked(Bucket bucket) noexcept {
  bucket.high |= kBucketMark;
  return bucket;
}
[[nodiscard]] constexpr Bucket Unmarked(Bucket bucket) noexcept {
  bucket.high &= ~kBucketMark;
  return bucket;
}

// Bucket::extra of a bucket whose limit a ban has shut: no fraction of a TAT and no count of a
// fixed window is as great. Sliding windows have no bans.
inline constexpr std::uint32_t kBannedExtra = UINT32_MAX;

}  // namespace weir
