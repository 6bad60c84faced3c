// A plan decides one request: it knows which of the checks ask the same bucket, what each bucket's
// limit says, and what they say together.
//
//     Plan<kManyChecks> plan(request, max_wait);
//     for (i ...) if (plan.AsksBucket(i)) plan.bucket(i).SetStored(bucket);   // where there is one
//     plan.Decide(now);                                       // or DecideUpTo, Refund, Reserve
//     for (i ...) if (const std::optional<Bucket> bucket = plan.Change(i)) ...      // store it
//     plan.Join(now, verdict);
//
// It knows no table and stores nothing: the limiter has buckets in its own (limiter.h), the module
// in the values of Redis (module/handlers/key_limiter.h), and both decide here. Not thread-safe.
// Cost: a rule's decision a bucket; no allocation up to 4 checks (Verdict::decisions has the rest).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include "absl/base/attributes.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/limiter/reservation.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"
#include "core/rules/step.h"
#include "core/words/request.h"

namespace weir {

// Arguments of Plan: a plan of exactly one check, whose loops the compiler takes away, and one of
// any number.
inline constexpr std::size_t kOneCheck = 1;
inline constexpr std::size_t kManyChecks = kChecksMax;

static_assert(kChecksMax <= 64, "Verdict::repeated has a bit for each check");

// One value a check, of at most kChecks. Never allocates, and only touches the values in use.
template <typename T, std::size_t kChecks>
class PerCheck {
 public:
  PerCheck() noexcept { static_assert(std::is_trivially_destructible_v<T>); }
  PerCheck(const PerCheck&) = delete;
  PerCheck& operator=(const PerCheck&) = delete;

  // Makes the i-th value. Requires: no other was made there.
  T& Make(std::size_t i) noexcept { return *new (&values_[i]) T; }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return values_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return values_[i]; }
  [[nodiscard]] std::span<const T> first(std::size_t count) const noexcept {
    return {values_, count};
  }

 private:
  union {
    T values_[kChecks];  // NOLINT(readability-identifier-naming): private, though a union's
  };
};

// A bucket of a request and its part of the decision.
struct BucketStep {
  std::uint64_t cost = 0;  // of all checks on this bucket, at the first of them
  // The first check that asks the same bucket; itself, if none before does.
  std::size_t first = 0;
  bool shadow = false;
  bool has_bucket = true;
  bool stored = false;  // else `present` is Bucket{}, which is full
  bool refunded = false;
  Bucket present;  // as it is stored, but for a refund
  Step step;

  void SetStored(const Bucket& bucket) noexcept {
    stored = true;
    present = bucket;
  }
  // True if the request, once it passes, leaves something in the bucket.
  [[nodiscard]] bool charges() const noexcept {
    return has_bucket && cost > 0 && step.decision.allowed;
  }
};

// True if both checks are about one key and a limit that has one bucket for both.
[[nodiscard]] inline bool AskOneBucket(const Check& a, const Check& b) noexcept {
  return a.hash == b.hash && a.limit->SharesBucketsWith(*b.limit);
}

template <std::size_t kChecks>
class Plan {
 public:
  // Requires: 1 to kChecksMax checks; they outlive the plan. max_wait as DecideLimit has it.
  ABSL_ATTRIBUTE_ALWAYS_INLINE Plan(std::span<const Check> request, Nanos max_wait)
      : request_(std::span<const Check, kExtent>(request)), max_wait_(max_wait) {
    WEIR_CHECK(!request.empty());
    WEIR_CHECK(request.size() <= kChecks);
    for (std::size_t i = 0; i < size(); ++i) {
      std::size_t first = 0;
      while (first < i && !AskOneBucket(request[first], request[i])) ++first;
      AddCheck(i, first);
    }
  }

  static constexpr std::size_t kExtent = kChecks == kOneCheck ? 1 : std::dynamic_extent;
  [[nodiscard]] std::size_t size() const noexcept { return request_.size(); }
  [[nodiscard]] BucketStep& bucket(std::size_t i) noexcept { return buckets_[i]; }
  [[nodiscard]] const BucketStep& bucket(std::size_t i) const noexcept { return buckets_[i]; }
  // True if the check asks a bucket that none before it does: one that is to be looked for.
  [[nodiscard]] bool AsksBucket(std::size_t i) const noexcept {
    return IsFirst(i) && buckets_[i].has_bucket;
  }

  // Decides each bucket. With patience tokens of the future will do.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Decide(Instant now, Nanos patience = Nanos{0}) {
    allowed_ = true;
    any_new_ = false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!IsFirst(i)) continue;
      BucketStep& bucket = buckets_[i];
      bucket.step =
          DecideLimit(*request_[i].limit, bucket.present, now, bucket.cost, max_wait_, patience);
      if (!bucket.step.decision.allowed && !bucket.shadow) allowed_ = false;
      if (!bucket.stored && bucket.charges()) any_new_ = true;
    }
    if (!allowed_) any_new_ = false;
    WEIR_DCHECK(shadows_ + shared_ < size() || allowed_);  // Shadows deny nothing.
  }
  // Decides the request as many times over as it passes, at most `upto`; returns that number. A
  // request that does not pass is decided once, to learn when it would. Requires: upto >= 1.
  std::int64_t DecideUpTo(std::int64_t upto, Instant now);
  // Gives every bucket its cost back. The verdict is an admission with the numbers after it.
  [[nodiscard]] Verdict Refund(Instant now);
  // Decides with patience, or where that is not enough without. A reservation is ready at `now`
  // where nothing is to be waited for, or nothing is allowed.
  [[nodiscard]] Reservation Reserve(Instant now, Nanos patience);

  [[nodiscard]] bool allowed() const noexcept { return allowed_; }
  // Writes the verdict. In a denial, a limit that would have admitted shows its untouched bucket.
  // Requires: `verdict` is a new one.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Join(Instant now, Verdict& verdict) const {
    WEIR_CHECK(verdict.decisions.empty());
    verdict.allowed = allowed_;
    for (std::size_t i = 0; i < size(); ++i) {
      if (IsFirst(i)) {
        verdict.decisions.push_back(AnswerOf(i, now));
      } else {
        verdict.repeated |= std::uint64_t{1} << i;
        verdict.decisions.push_back(Decision(verdict.decisions[FirstOf(i)]));
      }
    }
    JoinDecisions(
        size(), shadows_ + shared_ == size(),
        [this](std::size_t i) { return shadows_ > 0 && buckets_[FirstOf(i)].shadow; }, verdict);
  }

  // Returns the new value of the check's bucket, nothing where it stays as it is. An admission
  // changes what it charges or gives back; a denial only cuts the time of a limit that denied.
  [[nodiscard]] ABSL_ATTRIBUTE_ALWAYS_INLINE std::optional<Bucket> Change(
      std::size_t i) const noexcept {
    const BucketStep& bucket = buckets_[i];
    if (!AsksBucket(i)) return std::nullopt;
    const Bucket& after = bucket.step.bucket;
    if (!bucket.stored) {
      return allowed_ && bucket.charges() ? std::optional(after) : std::nullopt;
    }
    const bool is_kept = allowed_ || !bucket.step.decision.allowed;
    return is_kept && (bucket.refunded || after != bucket.present) ? std::optional(after)
                                                                   : std::nullopt;
  }
  // True if some check's bucket is to be stored and is not yet.
  [[nodiscard]] bool any_new() const noexcept { return any_new_; }
  // True if this check's is.
  [[nodiscard]] bool IsNew(std::size_t i) const noexcept {
    return allowed_ && AsksBucket(i) && !buckets_[i].stored && buckets_[i].charges();
  }

 private:
  // Says how the bucket of a first check stands after the verdict.
  [[nodiscard]] ABSL_ATTRIBUTE_ALWAYS_INLINE Decision AnswerOf(std::size_t i, Instant now) const {
    const BucketStep& bucket = buckets_[i];
    if (allowed_ || !bucket.step.decision.allowed) return bucket.step.decision;
    return DecideLimit(*request_[i].limit, bucket.present, now, 0, max_wait_).decision;
  }
  [[nodiscard]] std::size_t FirstOf(std::size_t i) const noexcept {
    return kChecks == kOneCheck ? 0 : buckets_[i].first;
  }
  [[nodiscard]] bool IsFirst(std::size_t i) const noexcept { return FirstOf(i) == i; }
  void AddCheck(std::size_t i, std::size_t first) noexcept;
  [[nodiscard]] std::int64_t TimesAffordable(Instant now, std::int64_t most) const;
  Nanos SettleShadows(Instant now);

  const std::span<const Check, kExtent> request_;
  const Nanos max_wait_;
  PerCheck<BucketStep, kChecks> buckets_;
  bool allowed_ = true;
  bool any_new_ = false;
  std::size_t shadows_ = 0;  // of the buckets
  std::size_t shared_ = 0;   // checks on the bucket of an earlier one
};

template <std::size_t kChecks>
inline void Plan<kChecks>::AddCheck(std::size_t i, std::size_t first) noexcept {
  const Check& check = request_[i];
  WEIR_DCHECK(check.cost >= 0);
  const auto cost = static_cast<std::uint64_t>(check.cost);
  if (first == i) {
    const bool shadow = check.limit->shape().shadow;
    shadows_ += shadow ? 1 : 0;
    BucketStep& bucket = buckets_.Make(i);
    bucket.cost = cost;
    bucket.first = i;
    bucket.shadow = shadow;
    bucket.has_bucket = check.limit->has_bucket();
    return;
  }
  WEIR_DCHECK(first < i);
  WEIR_DCHECK(IsFirst(first));
  ++shared_;
  buckets_.Make(i).first = first;
  // Sums of costs stop at 2^64-1, which is above every burst.
  std::uint64_t& sum = buckets_[first].cost;
  if (__builtin_add_overflow(sum, cost, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

// The functions in plan.cc are made for this one only.
extern template class Plan<kManyChecks>;

}  // namespace weir
