// The 12 bytes that one limit keeps for one key.
//
// The algorithm gives the words their meaning (token_bucket.h: the theoretical arrival time). A
// bucket of zeros is full under every algorithm, so an absent bucket and a default-constructed one
// are the same thing. It has three words, not a 64-bit integer, because the table's slots are
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

// The bit of Bucket::high that only a fixed window sets, for counts beyond 32 bits
// (fixed_window.h). The other rules ignore it and write it as 0; their stored bytes that have it
// are damaged.
inline constexpr std::uint32_t kBucketSpareBit = std::uint32_t{1} << 31;

[[nodiscard]] constexpr bool HasSpareBit(const Bucket& bucket) noexcept {
  return (bucket.high & kBucketSpareBit) != 0;
}
[[nodiscard]] constexpr Bucket WithoutSpareBit(Bucket bucket) noexcept {
  bucket.high &= ~kBucketSpareBit;
  return bucket;
}

// Bucket::extra of a bucket whose limit a ban has shut: no fraction of a TAT is as great, and a
// fixed window's count that is has the spare bit. Sliding windows have no bans.
inline constexpr std::uint32_t kBannedExtra = UINT32_MAX;

}  // namespace weir
