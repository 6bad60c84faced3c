// A limit on what one key may do: `count` tokens per `period` by one of three algorithms, or per
// window of a calendar, or at a time ("held"); anything ("unlimited"), or nothing ("none").
//
// A Limit exists only when its arithmetic is exact and cannot overflow, so the rules that use it
// check nothing:
//     emission interval  E = period / count = p / n ns, in lowest terms
//                        n < 2^32, else "limit is too fine"
//     capacity           burst * E, the time that a full bucket is worth
//                        <= 2^60 ns, else "limit is too long"
// Immutable and cheap to copy (about 110 bytes). Source: ITU-T I.371, generic cell rate algorithm.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/base/exact_nanos.h"
#include "core/base/instant.h"
#include "core/rules/calendar.h"

namespace weir {

// The last two have no numbers and no bucket.
enum class Algorithm : std::uint8_t {
  kTokenBucket,
  kFixedWindow,
  kSlidingWindow,
  kHeld,  // has a count only
  kUnlimited,
  kNone
};

inline constexpr Nanos kPeriodMin = std::chrono::microseconds{1};
inline constexpr Nanos kPeriodMax{std::int64_t{1} << 58};  // 9 years
inline constexpr Nanos kSlidingPeriodMin = std::chrono::milliseconds{1};
inline constexpr std::int64_t kCountMax = INT64_MAX;
// Of a held limit, a sliding window, and a fixed window that is shorter than kWidePeriodMin or
// aligned to other than whole milliseconds.
inline constexpr std::int64_t kWindowCountMax = INT32_MAX;
// Of any other fixed window, and of a calendar's (fixed_window.h).
inline constexpr std::int64_t kFixedCountMax = (std::int64_t{1} << 51) - 1;
inline constexpr Nanos kWidePeriodMin = std::chrono::seconds{1};
inline constexpr Nanos kCapacityMax{std::int64_t{1} << 60};  // 36 years
inline constexpr std::uint32_t kDenominatorMax = UINT32_MAX;
static_assert(kPeriodMax <= kCapacityMax, "a bucket holds one token of the longest period");
// The greatest sum of the rules (kInstantMax).
static_assert(kMaxWaitMax <= kCapacityMax);
static_assert(kInstantMax.time_since_epoch() <= Nanos::max() - 3 * kCapacityMax);

// The numbers of a limit.
struct LimitShape {
  Algorithm algorithm = Algorithm::kTokenBucket;
  bool aligned = false;    // fixed window only: start at multiples of the period since the epoch
  bool shadow = false;     // evaluated and counted, never denies
  Calendar calendar{};     // fixed window only: its ends are the calendar's, and it has no period
  std::int64_t count = 0;  // tokens per period
  Nanos period{0};
  std::int64_t burst = 0;  // token bucket only: tokens that a full bucket holds; 0 for windows
  // The time for which a denial shuts the limit; 0: it does not. Not for sliding windows.
  Nanos ban{0};

  [[nodiscard]] bool has_calendar() const noexcept { return calendar.unit != CalendarUnit::kNone; }

  friend bool operator==(const LimitShape&, const LimitShape&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LimitShape& shape) {
    if (shape.has_calendar()) h = H::combine(std::move(h), shape.calendar);
    return H::combine(std::move(h), shape.algorithm, shape.aligned, shape.shadow, shape.count,
                      shape.period.count(), shape.burst, shape.ban.count());
  }
};

// Returns the greatest count of a limit with this algorithm, period, calendar and alignment.
[[nodiscard]] std::int64_t CountMaxOf(const LimitShape& shape) noexcept;

// Fails with kInvalidArgument unless a limit can have a ban of this length.
[[nodiscard]] absl::Status CheckBan(Nanos ban);

// The greatest numbers that the limits in one position of a policy have ever had, overrides
// included: what its buckets may still owe.
struct GreatestNumbers {
  Nanos capacity{0};  // of a token bucket; 0 if there was none
  Nanos ban{0};

  friend bool operator==(const GreatestNumbers&, const GreatestNumbers&) = default;
};

// The number that identifies a policy.
enum class PolicyId : std::uint32_t {};
inline constexpr PolicyId kNoPolicy{0};

// The owner of a limit. A limit written out in a request has none. A policy's limits are identified
// by the policy and their position in it, whatever their present numbers.
struct LimitOwner {
  PolicyId policy = kNoPolicy;
  std::uint32_t position = 0;

  friend bool operator==(const LimitOwner&, const LimitOwner&) = default;
};

// The owner of the one limit that CL.THROTTLE keeps for each key, whatever its parameters.
inline constexpr LimitOwner kThrottleOwner{PolicyId{UINT32_MAX}, 0};

// True for a number that a policy can have.
[[nodiscard]] constexpr bool IsPolicyId(PolicyId id) noexcept {
  return id != kNoPolicy && id != kThrottleOwner.policy;
}

// The identity of a bucket among the buckets of its key. For a limit without an owner, all numbers
// belong to the identity: a changed limit has a new, full bucket. For an owned limit, only the
// fields that give its bucket a meaning do (algorithm, shadow; for windows period, aligned and
// calendar), so that every caller's debt survives a change of numbers.
struct LimitIdentity {
  LimitShape shape;
  LimitOwner owner;

  friend bool operator==(const LimitIdentity&, const LimitIdentity&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const LimitIdentity& identity) {
    return H::combine(std::move(h), identity.shape, identity.owner.policy, identity.owner.position);
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

  [[nodiscard]] static Limit Unlimited() { return Limit({.algorithm = Algorithm::kUnlimited}); }
  [[nodiscard]] static Limit None() { return Limit({.algorithm = Algorithm::kNone}); }

  // The same limit, owned by `owner`. `greatest`: of the owner's limits in this position (see
  // outgrown and greatest_ban).
  [[nodiscard]] Limit OwnedBy(LimitOwner owner, const GreatestNumbers& greatest = {}) const;
  // The same limit as a shadow limit. "@policy,shadow" denies no request, not even if the policy's
  // limit is "none".
  [[nodiscard]] Limit AsShadow() const;

  [[nodiscard]] const LimitShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const Emission& emission() const noexcept { return emission_; }

  [[nodiscard]] LimitOwner owner() const noexcept { return owner_; }
  // The time that a full token bucket is worth, rounded up; 0 for windows.
  [[nodiscard]] Nanos capacity() const noexcept { return Nanos{Ceil(emission_.capacity)}; }
  // The time by which an owner has lowered a token bucket's capacity below its greatest: the bucket
  // may still owe what the greatest capacity let it take. 0 if it was never lowered, and for
  // windows.
  [[nodiscard]] Nanos outgrown() const noexcept { return outgrown_; }
  // The longest ban that a bucket may have: the limit's own, or a longer one of an earlier limit of
  // its owner.
  [[nodiscard]] Nanos greatest_ban() const noexcept { return greatest_ban_; }
  [[nodiscard]] LimitIdentity identity() const noexcept;

  // True if a key has one bucket for both: their identities are the same.
  [[nodiscard]] bool SharesBucketsWith(const Limit& other) const noexcept {
    if (owner_ == LimitOwner{}) return *this == other;
    return owner_ == other.owner_ && identity() == other.identity();
  }
  // True for the limits that need a bucket: all but unlimited and none.
  [[nodiscard]] bool has_bucket() const noexcept {
    return shape_.algorithm < Algorithm::kUnlimited;
  }
  // True for a limit on tokens that are out at a time (held_limit.h).
  [[nodiscard]] bool is_held() const noexcept { return shape_.algorithm == Algorithm::kHeld; }
  // The most tokens in a window's bucket: twice the count, since a charge may leave a debt of the
  // count. An owner's count may have been greater than it is now. 0 for other limits.
  [[nodiscard]] std::int64_t window_used_max() const noexcept;
  // The most tokens that one request can take: the burst, or a window's count.
  [[nodiscard]] std::int64_t capacity_tokens() const noexcept;

  friend bool operator==(const Limit& a, const Limit& b) {
    return a.shape_ == b.shape_ && a.owner_ == b.owner_;
  }

 private:
  explicit Limit(const LimitShape& shape) : shape_(shape), greatest_ban_(shape.ban) {}

  LimitShape shape_;
  LimitOwner owner_;
  Nanos outgrown_{0};
  Nanos greatest_ban_{0};
  Emission emission_;
};

}  // namespace weir
