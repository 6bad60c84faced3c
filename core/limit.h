// A limit: what one key may do. `count` tokens per `period`, by one of three algorithms.
//
// A Limit exists only when its arithmetic is exact and cannot overflow, so the rules that use it
// check nothing:
//     emission interval  E = period / count = p / n ns, in lowest terms
//                        n < 2^32, else "limit is too fine"
//     capacity           burst * E, the time that a full bucket is worth
//                        <= 2^61 ns, else "limit is too long"
// Immutable and cheap to copy (about 80 bytes). Source: ITU-T I.371, generic cell rate algorithm.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/exact_nanos.h"
#include "core/instant.h"

namespace weir {

enum class Algorithm : std::uint8_t { kTokenBucket, kFixedWindow, kSlidingWindow };

inline constexpr Nanos kPeriodMin = std::chrono::microseconds{1};
inline constexpr Nanos kPeriodMax{std::int64_t{1} << 58};  // 9 years
inline constexpr Nanos kSlidingPeriodMin = std::chrono::milliseconds{1};
inline constexpr std::int64_t kCountMax = INT64_MAX;
inline constexpr std::int64_t kWindowCountMax = INT32_MAX;
inline constexpr Nanos kCapacityMax{std::int64_t{1} << 61};  // 73 years
inline constexpr std::uint32_t kDenominatorMax = UINT32_MAX;

// What tells two limits apart: a bucket belongs to a key and to all of these.
struct LimitShape {
  Algorithm algorithm = Algorithm::kTokenBucket;
  bool aligned =
      false;  // fixed window only: windows start at multiples of the period since the Unix epoch
  bool shadow = false;     // evaluated and counted, never denies
  std::int64_t count = 0;  // tokens per period
  Nanos period{0};
  std::int64_t burst = 0;  // token bucket only: tokens that a full bucket holds; 0 for windows

  friend bool operator==(const LimitShape&, const LimitShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LimitShape& shape) {
    return H::combine(std::move(h), shape.algorithm, shape.aligned, shape.shadow, shape.count,
                      shape.period.count(), shape.burst);
  }
};

// The time of one token and of a whole bucket, exactly. Token bucket only.
struct Emission {
  std::int64_t period = 0;        // p: ns in which `denominator` tokens come back; in lowest terms
  std::uint32_t denominator = 1;  // n
  ExactNanos interval;            // p / n
  ExactNanos capacity;            // burst * p / n
};

class Limit {
 public:
  // Fails with kInvalidArgument and a message that names the number and its range.
  [[nodiscard]] static absl::StatusOr<Limit> Create(const LimitShape& shape);

  [[nodiscard]] const LimitShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Emission& emission() const noexcept { return emission_; }

  // The most tokens that one request can take: the burst, or a window's count.
  [[nodiscard]] std::int64_t capacity_tokens() const noexcept {
    return shape_.algorithm == Algorithm::kTokenBucket ? shape_.burst : shape_.count;
  }

  friend bool operator==(const Limit& a, const Limit& b) { return a.shape_ == b.shape_; }

 private:
  explicit Limit(const LimitShape& shape) : shape_(shape) {}

  LimitShape shape_;
  Emission emission_;
};

}  // namespace weir
