#include "core/plans/call_plan.h"

#include <algorithm>
#include <limits>

#include "core/base/check.h"
#include "core/rules/fixed_window.h"
#include "core/rules/rule.h"

namespace weir {
namespace {

// The costs of a plan saturate at 2^64-1, which is above every burst.
std::uint64_t CostOf(Wide tokens) noexcept {
  return static_cast<std::uint64_t>(
      std::min<Wide>(tokens, std::numeric_limits<std::uint64_t>::max()));
}

constexpr std::uint64_t BitOf(std::size_t check) noexcept { return std::uint64_t{1} << check; }

// Calls visit(part, the range of its checks, index of the part).
template <typename Visit>
void ForEachPart(const CallRequest& call, Visit visit) {
  std::size_t begin = 0;
  for (std::size_t p = 0; p < call.parts.size(); ++p) {
    const std::size_t end = begin + call.parts[p].checks;
    visit(call.parts[p], Request::Range{begin, end}, p);
    begin = end;
  }
  WEIR_CHECK(begin == call.checks.size());
}

}  // namespace

void CallRequest::Add(CallPart part, std::span<const Check> limits) {
  WEIR_CHECK(!limits.empty());
  WEIR_CHECK(checks.size() + limits.size() <= kChecksMax);
  part.checks = static_cast<std::uint8_t>(limits.size());
  parts.push_back(part);
  checks.insert(checks.end(), limits.begin(), limits.end());
}

CallPlan::CallPlan(const CallRequest& call, Nanos max_wait, Plan<kManyChecks>& plan)
    : call_(call), max_wait_(max_wait), plan_(plan) {
  WEIR_DCHECK(!call.checks.has_alternatives());
  ForEachPart(call, [this](const CallPart& part, Request::Range checks, std::size_t) {
    for (std::size_t i = checks.begin; i < checks.end; ++i) AddCheck(i, part);
  });
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (FirstOf(i) == i) SetCost(i);
  }
}

void CallPlan::AddCheck(std::size_t i, const CallPart& part) {
  const Check& check = call_.checks[i];
  WEIR_DCHECK(!check.limit->is_held());
  const std::size_t first = FirstOf(i);
  if (first == i) asked_.Make(i).smallest = i;
  Asked& asked = asked_[first];
  asked.way = std::max(asked.way, part.way);
  asked.marks = asked.marks || part.marks;
  if (check.limit->capacity_tokens() < LimitOf(first).capacity_tokens()) asked.smallest = i;
  const auto tokens = static_cast<std::uint64_t>(check.cost);
  if (part.way == Way::kRefund) asked.refund += tokens;
  if (part.way >= Way::kAsk) asked.charge += tokens;
}

void CallPlan::SetCost(std::size_t first) {
  Asked& asked = asked_[first];
  if (asked.charge < asked.refund) {
    asked.way = Way::kRefund;
  } else if (asked.charge == asked.refund && asked.way != Way::kRefund) {
    asked.way = Way::kLook;
  }
  plan_.bucket(first).cost =
      CostOf(asked.way == Way::kRefund ? asked.refund - asked.charge : asked.charge - asked.refund);
}

// Sets what the limit says, and the bucket of an ask that passes.
void CallPlan::Ask(std::size_t first, Instant now) {
  Asked& asked = asked_[first];
  BucketStep& bucket = plan_.bucket(first);
  const Limit& limit = LimitOf(first);
  Decision& said = bucket.step.decision;
  if (asked.way == Way::kRefund) {
    said.allowed = true;
  } else if (asked.way == Way::kLook) {
    said.retry_after = DebtLeft(limit, bucket.present, now, max_wait_);
    said.allowed = said.retry_after == Nanos{0};
  } else {
    bucket.step =
        DecideLimit(limit, bucket.present, now, bucket.cost, max_wait_, Nanos{0}, bucket.keep);
  }
  asked.denied = !said.allowed && !bucket.shadow;
}

// Sets which rules are over, and whether the call is.
void CallPlan::Judge(CallVerdict& verdict) {
  bool has_quota = call_.quota_passes;
  bool quota_passes = call_.quota_passes;
  verdict.over = call_.is_over;
  ForEachPart(call_, [&](const CallPart& part, Request::Range checks, std::size_t) {
    bool over = false;
    for (std::size_t i = checks.begin; i < checks.end; ++i) over |= asked_[FirstOf(i)].denied;
    for (std::size_t i = checks.begin; i < checks.end; ++i) asked_[FirstOf(i)].is_barred |= over;
    verdict.parts.emplace_back().over = over;
    const bool passes = !over || part.shadow;
    has_quota |= part.quota;
    quota_passes |= part.quota && passes;
    verdict.over |= !part.quota && !passes;
  });
  verdict.over |= has_quota && !quota_passes;
}

// Bans or marks the bucket of an ask that its limit denies.
void CallPlan::Deny(std::size_t first, CallVerdict& verdict) {
  BucketStep& bucket = plan_.bucket(first);
  const Limit& limit = LimitOf(first);
  const LimitShape& shape = limit.shape();
  if (shape.ban > Nanos{0} && BanBucket(limit, verdict.now, max_wait_, bucket)) {
    verdict.banned |= BitOf(first);
  } else if (asked_[first].marks && shape.aligned &&
             UsedInFixedWindow(limit, bucket.present, verdict.now) == shape.count) {
    bucket.step.bucket = ChargeFixedWindow(limit, bucket.present, verdict.now, 1);
  }
}

// Charges nothing, but gives back what is to be given back.
Decision CallPlan::Leave(std::size_t first, Instant now) {
  BucketStep& bucket = plan_.bucket(first);
  const Limit& limit = LimitOf(first);
  const bool refunds = WayOf(first) == Way::kRefund;
  bucket.step.bucket =
      refunds ? RefundLimit(limit, bucket.present, now, bucket.cost, max_wait_) : bucket.present;
  bucket.cost = 0;
  Decision numbers = DecideLimit(limit, bucket.step.bucket, now, 0, max_wait_).decision;
  numbers.allowed = bucket.step.decision.allowed;
  numbers.retry_after = bucket.step.decision.retry_after;
  return numbers;
}

// Charges a report that the limit denies.
Decision CallPlan::ChargeBeyond(std::size_t first, CallVerdict& verdict) {
  BucketStep& bucket = plan_.bucket(first);
  const Limit& limit = LimitOf(first);
  Decision& said = bucket.step.decision;
  if (bucket.has_bucket && bucket.cost > static_cast<std::uint64_t>(said.remaining)) {
    verdict.beyond |= BitOf(first);
    verdict.left_of_beyond.push_back(said.remaining);
  }
  said.allowed = true;  // so that the plan keeps the charge
  bucket.step.bucket = ChargeLimit(limit, bucket.present, verdict.now, bucket.cost, max_wait_);
  return DecideLimit(limit, bucket.step.bucket, verdict.now, bucket.cost, max_wait_, Nanos{0},
                     bucket.keep)
      .decision;
}

// Charges, refunds, bans or leaves the bucket. Returns the answer of its limit.
Decision CallPlan::Conclude(std::size_t first, CallVerdict& verdict) {
  const Asked& asked = asked_[first];
  const Decision& said = plan_.bucket(first).step.decision;
  if (asked.way == Way::kAsk && !said.allowed) {
    Deny(first, verdict);
    return said;
  }
  const bool is_charged =
      asked.way == Way::kReport || (asked.way == Way::kAsk && !asked.is_barred && !verdict.over);
  if (!is_charged) return Leave(first, verdict.now);
  verdict.taken |= BitOf(first);
  return said.allowed ? said : ChargeBeyond(first, verdict);
}

// The numbers of a bucket behind the call. A fixed window of which nothing is used ends, too.
Decision CallPlan::NumbersOf(std::size_t first, CallVerdict& verdict) {
  Decision numbers = Conclude(first, verdict);
  const Limit& limit = LimitOf(first);
  if (numbers.reset_after == Nanos{0} && limit.shape().algorithm == Algorithm::kFixedWindow) {
    numbers.reset_after =
        DecideLimit(limit, Bucket{}, verdict.now, 1, max_wait_).decision.reset_after;
  }
  return numbers;
}

// Sets the check that decides a rule. Shadow limits count if there are no others.
void CallPlan::Tell(Request::Range checks, const CallVerdict& verdict, PartVerdict& rule) const {
  const auto is_shadow = [this](std::size_t i) { return plan_.bucket(FirstOf(i)).shadow; };
  bool all_shadow = true;
  for (std::size_t i = checks.begin; i < checks.end; ++i) all_shadow &= is_shadow(i);
  bool is_first = true;
  for (std::size_t i = checks.begin; i < checks.end; ++i) {
    if (is_shadow(i) && !all_shadow) continue;
    const Decision& one = verdict.decisions[i];
    const bool decides = rule.over ? one.retry_after > rule.decision.retry_after
                                   : one.remaining < rule.decision.remaining;
    if (!is_first && !decides) continue;
    rule.decision = one;
    rule.decider = asked_[FirstOf(i)].smallest;
    is_first = false;
  }
}

CallVerdict CallPlan::Decide(Instant now) {
  CallVerdict verdict;
  verdict.now = now;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    if (FirstOf(i) == i) Ask(i, now);
  }
  Judge(verdict);
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const std::size_t first = FirstOf(i);
    if (first != i) verdict.repeated |= BitOf(i);
    verdict.decisions.push_back(first == i ? NumbersOf(i, verdict)
                                           : Decision(verdict.decisions[first]));
    verdict.changes |= plan_.Change(i).has_value();
  }
  ForEachPart(call_, [&](const CallPart&, Request::Range checks, std::size_t part) {
    Tell(checks, verdict, verdict.parts[part]);
  });
  return verdict;
}

}  // namespace weir
