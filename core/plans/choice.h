// A plan decides one alternative of a request, mostly the only one: it finds the checks that ask
// the same bucket, decides each bucket, and joins the decisions into a verdict. A Choice decides a
// request of several alternatives.
//
//     Plan<kManyChecks> plan(request, max_wait);
//     for (i ...) if (plan.AsksBucket(i)) plan.bucket(i).SetStored(bucket);   // where there is one
//     plan.Decide(now, Purpose::kTake);               // or DecideUpTo, Charge, Refund, Reserve
//     for (i ...) if (const std::optional<Bucket> bucket = plan.Change(i)) ...      // store it
//     plan.Join(now, verdict);
//
// Refund and Reserve keep nothing: a refund takes no tokens, and RL.WAIT refuses `keep=`.
//
// A plan knows no table and stores nothing. The limiter keeps buckets in its own table (limiter.h),
// the module in values of Redis (module/handlers/key_limiter.h); both decide with a plan. Not
// thread-safe. Cost: a rule's decision for each bucket; no allocation up to 4 checks (for more,
// Verdict::decisions allocates).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include "absl/base/attributes.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

#include "core/base/check.h"
#include "core/base/instant.h"
#include "core/plans/reservation.h"
#include "core/rules/bucket.h"
#include "core/rules/decision.h"
#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"
#include "core/rules/slice.h"
#include "core/rules/step.h"
#include "core/words/request.h"

namespace weir {

// Template arguments of Plan: for exactly one check, where the compiler removes the loops, and for
// any number of checks.
inline constexpr std::size_t kOneCheck = 1;
inline constexpr std::size_t kManyChecks = kChecksMax;

static_assert(kChecksMax <= 64, "Verdict::repeated has a bit for each check");

// A look bans nothing.
enum class Purpose : bool { kLook, kTake };

// One value per check, for at most kChecks checks. Never allocates, and touches only the values in
// use.
template <typename T, std::size_t kChecks>
class PerCheck {
 public:
  PerCheck() noexcept { static_assert(std::is_trivially_destructible_v<T>); }
  PerCheck(const PerCheck&) = delete;
  PerCheck& operator=(const PerCheck&) = delete;

  // Makes the i-th value. Requires: it was not made before.
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
  // The sum of the costs of all checks on this bucket, and the greatest number of tokens that one
  // of them keeps. Set at the first of them.
  std::uint64_t cost = 0;
  std::uint64_t keep = 0;
  // The index of the first check that asks the same bucket, which may be this check.
  std::size_t first = 0;
  bool shadow = false;
  bool has_bucket = true;
  bool stored = false;    // if not, `present` is Bucket{}, which is full
  bool replaced = false;  // `present` must be stored
  Bucket present;         // as stored, or as a refund or a ban has left it
  Step step;

  void SetStored(const Bucket& bucket) noexcept {
    stored = true;
    present = bucket;
  }
  // True if the request charges the bucket, in case it passes.
  [[nodiscard]] bool charges() const noexcept {
    return has_bucket && cost > 0 && step.decision.allowed;
  }
};

// Bans the bucket of a limit that says ban= and has denied (rule.h): replaces the step, whose
// decision then tells the end of the ban. Returns false, with nothing changed, if there is no ban
// to write, or if the cost could never pass.
[[nodiscard]] bool BanBucket(const Limit& limit, Instant now, Nanos max_wait, BucketStep& bucket);

// True if both checks are about the same key, and their limits share a bucket.
[[nodiscard]] inline bool AskOneBucket(const Check& a, const Check& b) noexcept {
  return a.hash == b.hash && a.limit->SharesBucketsWith(*b.limit);
}

template <std::size_t kChecks>
class Plan {
 public:
  // Requires: 1 to kChecks checks, which outlive the plan; max_wait as for DecideLimit.
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
  // True if the check is the first to ask its bucket, which the caller must look for.
  [[nodiscard]] bool AsksBucket(std::size_t i) const noexcept {
    return IsFirst(i) && buckets_[i].has_bucket;
  }

  // Decides each bucket, and bans those of limits that deny and say ban=, unless it is a look. With
  // patience, future tokens may be charged.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Decide(Instant now, Purpose purpose,
                                           Nanos patience = Nanos{0}) {
    allowed_ = true;
    any_new_ = false;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!IsFirst(i)) continue;
      BucketStep& bucket = buckets_[i];
      bucket.step = Ask(i, now, patience);
      if (!bucket.step.decision.allowed) {
        if (!bucket.shadow) allowed_ = false;
        if (purpose == Purpose::kTake && Bans(i)) Ban(i, now);
      }
      if (!bucket.stored && bucket.charges()) any_new_ = true;
    }
    if (!allowed_) any_new_ = false;
    WEIR_DCHECK(shadows_ + shared_ < size() || allowed_);  // Shadows deny nothing.
  }
  // Decides the request as many times as it passes at once, at most `upto`; returns that number. A
  // request that does not pass is decided once, to learn when it would. Requires: upto >= 1.
  std::int64_t DecideUpTo(std::int64_t upto, Instant now);
  // Decides a slice (core/rules/slice.h), without bans. Join has no numbers of it.
  [[nodiscard]] SliceGrant DecideSlice(const SliceWish& wish, Instant now);
  // Charges every bucket its cost, whether the tokens are there or not.
  [[nodiscard]] Charged Charge(Instant now);
  // Gives every bucket its cost back. The verdict is an admission with the numbers after the
  // refund.
  [[nodiscard]] Verdict Refund(Instant now);
  // Decides with patience or, if that is too short, without. The reservation is ready at `now` if
  // no wait is needed, or if the request is denied.
  [[nodiscard]] Reservation Reserve(Instant now, Nanos patience);

  [[nodiscard]] bool allowed() const noexcept { return allowed_; }
  // Has a bit for each check whose bucket was banned.
  [[nodiscard]] std::uint64_t banned() const noexcept { return banned_; }
  // Writes the verdict. In a denial, a limit that would have admitted shows its untouched bucket.
  // Requires: `verdict` is new.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Join(Instant now, Verdict& verdict) const {
    WEIR_CHECK(verdict.decisions.empty());
    verdict.allowed = allowed_;
    verdict.banned = banned_;
    for (std::size_t i = 0; i < size(); ++i) {
      if (IsFirst(i)) {
        verdict.decisions.push_back(AnswerOf(i, now));
      } else {
        verdict.repeated |= std::uint64_t{1} << i;
        verdict.decisions.push_back(Decision(verdict.decisions[FirstOf(i)]));
      }
    }
    JoinNumbers(verdict);
  }

  // Returns the new value of the check's bucket, or nothing if it is unchanged. An admission
  // changes the buckets that it charges or refunds; a denial only clamps or bans buckets of limits
  // that denied.
  [[nodiscard]] ABSL_ATTRIBUTE_ALWAYS_INLINE std::optional<Bucket> Change(
      std::size_t i) const noexcept {
    const BucketStep& bucket = buckets_[i];
    if (!AsksBucket(i)) return std::nullopt;
    const Bucket& after = bucket.step.bucket;
    if (!bucket.stored) {
      return allowed_ && bucket.charges() ? std::optional(after) : std::nullopt;
    }
    const bool is_kept = allowed_ || !bucket.step.decision.allowed;
    return is_kept && (bucket.replaced || after != bucket.present) ? std::optional(after)
                                                                   : std::nullopt;
  }
  // True if some check's bucket must be inserted.
  [[nodiscard]] bool any_new() const noexcept { return any_new_; }
  // True if this check's bucket must be inserted.
  [[nodiscard]] bool IsNew(std::size_t i) const noexcept {
    return allowed_ && AsksBucket(i) && !buckets_[i].stored && buckets_[i].charges();
  }

 private:
  // Sets the numbers of a verdict from its decisions.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void JoinNumbers(Verdict& verdict) const {
    JoinDecisions(
        size(), shadows_ + shared_ == size(),
        [this](std::size_t i) { return shadows_ > 0 && buckets_[FirstOf(i)].shadow; }, verdict);
  }
  // The answer of a first check's limit to the costs of its bucket.
  [[nodiscard]] ABSL_ATTRIBUTE_ALWAYS_INLINE Step Ask(std::size_t i, Instant now,
                                                      Nanos patience) const {
    const BucketStep& bucket = buckets_[i];
    const Limit& limit = *request_[i].limit;
    if (patience == Nanos{0} && bucket.keep == 0) {
      return DecideLimit(limit, bucket.present, now, bucket.cost, max_wait_);
    }
    return DecideLimit(limit, bucket.present, now, bucket.cost, max_wait_, patience, bucket.keep);
  }
  // The decision about the bucket of a first check, after the verdict.
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
  [[nodiscard]] bool ChargeBucket(std::size_t i, Instant now);
  [[nodiscard]] bool Bans(std::size_t i) const noexcept {
    return request_[i].limit->shape().ban > Nanos{0};
  }
  void Ban(std::size_t i, Instant now) {
    if (BanBucket(*request_[i].limit, now, max_wait_, buckets_[i])) {
      banned_ |= std::uint64_t{1} << i;
    }
  }
  [[nodiscard]] std::int64_t TimesAffordable(Instant now, std::int64_t most) const;
  void Multiply(std::int64_t times);
  void JoinSlice(const SliceWish& wish, std::span<const SlicedLimit> limits, Instant now,
                 Verdict& verdict) const;
  void BanBeforeDecide(std::size_t i, Instant now);
  void BanShadows(Instant now);
  Nanos DecideShadowsAt(Instant now);

  const std::span<const Check, kExtent> request_;
  const Nanos max_wait_;
  PerCheck<BucketStep, kChecks> buckets_;
  bool allowed_ = true;
  bool any_new_ = false;
  std::uint64_t banned_ = 0;
  std::size_t shadows_ = 0;  // buckets of shadow limits
  std::size_t shared_ = 0;   // checks on the bucket of an earlier check
};

template <std::size_t kChecks>
inline void Plan<kChecks>::AddCheck(std::size_t i, std::size_t first) noexcept {
  const Check& check = request_[i];
  WEIR_DCHECK(check.cost >= 0);
  WEIR_DCHECK(check.keep >= 0);
  const auto cost = static_cast<std::uint64_t>(check.cost);
  const auto keep = static_cast<std::uint64_t>(check.keep);
  if (first == i) {
    const bool shadow = check.limit->shape().shadow;
    shadows_ += shadow ? 1 : 0;
    BucketStep& bucket = buckets_.Make(i);
    bucket.cost = cost;
    bucket.keep = keep;
    bucket.first = i;
    bucket.shadow = shadow;
    bucket.has_bucket = check.limit->has_bucket();
    return;
  }
  WEIR_DCHECK(first < i);
  WEIR_DCHECK(IsFirst(first));
  ++shared_;
  buckets_.Make(i).first = first;
  // Sums of costs saturate at 2^64-1, which is above every burst.
  buckets_[first].keep = std::max(buckets_[first].keep, keep);
  std::uint64_t& sum = buckets_[first].cost;
  if (__builtin_add_overflow(sum, cost, &sum)) sum = std::numeric_limits<std::uint64_t>::max();
}

// The alternatives of a request, each as a request of its own.
[[nodiscard]] absl::InlinedVector<Request, 2> AlternativesOf(const Request& request);

// Decides a request of alternatives by calls about one alternative each, which nothing may come
// between: all are decided on one state, at one time.
//
//     Choice(request).Decide([&](const Request& one) { return limiter.Peek(one, now); },
//                            [&](const Request& one) { return limiter.Decide(one, now); });
//
// The first alternative that passes alone is charged, and nothing else changes. If none passes,
// each is denied in its order, so that clamps and bans are written. The verdict has the decisions
// of all checks: what each limit said in its own alternative, and for those behind the winner what
// it would have said. The other numbers are those of the winner or, in a denial, of the alternative
// that passes first, as they are after all bans.
//
// Fails as the calls do: a denial must not. Not thread-safe. Cost: a look at each alternative, and
// one more decision; in a denial one of each.
class Choice {
 public:
  // Decides a request without further alternatives.
  using Decider = absl::FunctionRef<absl::StatusOr<Verdict>(const Request& alternative)>;

  explicit Choice(const Request& request)
      : alternatives_(AlternativesOf(request)), verdicts_(alternatives_.size()) {}

  // The verdict that Decide would give, without bans. `look` changes nothing.
  [[nodiscard]] absl::StatusOr<Verdict> Look(Decider look);
  // `take` decides as `look` does, and keeps the changes.
  [[nodiscard]] absl::StatusOr<Verdict> Decide(Decider look, Decider take);
  // The same for a request that holds what it takes. `repeated`: the alternative whose hold it
  // renews, whatever the others say; `hold` then renews it.
  using Holder = absl::FunctionRef<absl::StatusOr<Grant>(const Request& alternative)>;
  [[nodiscard]] absl::StatusOr<Grant> Hold(std::optional<std::size_t> repeated, Decider look,
                                           Holder hold);

 private:
  [[nodiscard]] absl::Status LookAtAll(Decider look);
  [[nodiscard]] absl::StatusOr<Verdict> Take(std::size_t winner, Decider take);
  [[nodiscard]] absl::Status Deny(Decider look, Decider take);
  [[nodiscard]] std::size_t First() const;
  [[nodiscard]] Verdict Joined(std::size_t alternative) const;

  const absl::InlinedVector<Request, 2> alternatives_;
  absl::InlinedVector<Verdict, 2> verdicts_;  // one for each
};

// choice.cc instantiates its functions for this plan, and Charge for one check, too.
extern template class Plan<kManyChecks>;
extern template Charged Plan<kOneCheck>::Charge(Instant now);

}  // namespace weir
