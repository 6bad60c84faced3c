#include "core/commands/decision_events.h"

#include <algorithm>
#include <limits>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/reply_numbers.h"
#include "core/plans/call_plan.h"
#include "core/plans/choice.h"
#include "core/rules/limit_counters.h"
#include "core/rules/top_keys.h"

namespace weir {
namespace {

// Of the numbers and blanks of a message.
constexpr std::size_t kNumbersBytesMax = 32;

std::uint64_t SumOf(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

// True if an event may tell of the check: of several alternatives one that is the winner's or, in a
// denial, the one that decided.
bool IsTold(const Request& checks, const Verdict& verdict, std::size_t check) {
  if (!checks.has_alternatives()) return true;
  if (!verdict.allowed) return check == verdict.limit_index;
  return checks.AlternativeOf(check) == checks.AlternativeOf(verdict.limit_index);
}

// The costs of all checks that ask the bucket of check `first`, taken `times` times.
std::uint64_t CostOf(const Request& checks, const Verdict& verdict, std::size_t first,
                     std::int64_t times) {
  auto cost = static_cast<std::uint64_t>(checks[first].cost);
  const std::size_t end = checks.AlternativeWith(first).end;
  for (std::size_t i = first + 1; verdict.repeated >> first != 0 && i < end; ++i) {
    const bool is_repeated = (verdict.repeated >> i & 1) != 0;
    if (!is_repeated || !AskOneBucket(checks[first], checks[i])) continue;
    cost = SumOf(cost, static_cast<std::uint64_t>(checks[i].cost));
  }
  std::uint64_t product = 0;
  return __builtin_mul_overflow(cost, static_cast<std::uint64_t>(times), &product)
             ? std::numeric_limits<std::uint64_t>::max()
             : product;
}

std::string_view NameOf(const CachedLimit& limit) {
  const std::string_view name = limit.counted_as;
  return name.substr(0, name.find(' '));
}

std::string_view NameOf(const ParsedRequest& request, std::size_t check) {
  return NameOf(*request.limits[check]);
}

std::string_view ShownKey(const Check& check) { return check.key.substr(0, kTopKeyBytesMax); }

bool IsWindowOrHeld(const Limit& limit) {
  return limit.has_bucket() && limit.shape().algorithm != Algorithm::kTokenBucket;
}

// True if time, or the end of holds, gives single tokens back, so that under load the same
// percentage is crossed again and again.
bool ComesBackBitByBit(const Limit& limit) {
  return limit.is_held() || limit.shape().algorithm == Algorithm::kSlidingWindow;
}

}  // namespace

void DecisionEvents::Collect(const ParsedRequest& request, const Verdict& verdict,
                             std::int64_t times, const EventTerms& terms) {
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0 || !IsTold(request.checks, verdict, i)) continue;
    const Answer answer = {request.checks[i], NameOf(request, i), verdict.decisions[i]};
    if (!answer.decision.allowed) {
      AddDenied(answer, terms);
    } else if (verdict.allowed) {
      const std::uint64_t taken = CostOf(request.checks, verdict, i, times);
      const auto left = static_cast<std::uint64_t>(answer.decision.remaining);
      AddUsed(answer, SumOf(left, taken), terms);
    }
  }
}

void DecisionEvents::CollectCharge(const ParsedRequest& request, const Charged& charged,
                                   const EventTerms& terms) {
  const Verdict& verdict = charged.verdict;
  auto available = charged.available_before.begin();
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    const Answer answer = {request.checks[i], NameOf(request, i), verdict.decisions[i]};
    if (!answer.decision.allowed) AddDenied(answer, terms);
    if ((charged.beyond >> i & 1) != 0) {
      AddUsed(answer, static_cast<std::uint64_t>(*available++), terms);
    } else {
      const auto left = static_cast<std::uint64_t>(answer.decision.remaining);
      AddUsed(answer, SumOf(left, CostOf(request.checks, verdict, i, 1)), terms);
    }
  }
}

void DecisionEvents::CollectCall(const CallRequest& call, std::span<CachedLimit* const> of_checks,
                                 const CallVerdict& verdict, const EventTerms& terms) {
  std::size_t i = 0;
  for (const CallPart& part : call.parts) {
    for (const std::size_t end = i + part.checks; i < end; ++i) {
      const bool is_repeated = (verdict.repeated >> i & 1) != 0;
      if (part.shadow || is_repeated || verdict.decisions[i].allowed) continue;
      AddDenied({call.checks[i], NameOf(*of_checks[i]), verdict.decisions[i]}, terms);
    }
  }
}

void DecisionEvents::CollectSlice(const ParsedRequest& request, const SliceGrant& slice,
                                  const EventTerms& terms) {
  const Verdict& verdict = slice.verdict;
  for (std::size_t i = 0; i < verdict.decisions.size(); ++i) {
    if ((verdict.repeated >> i & 1) != 0) continue;
    const Answer answer = {request.checks[i], NameOf(request, i), verdict.decisions[i]};
    if (!answer.decision.allowed) AddDenied(answer, terms);
    const bool may_be_free = !answer.decision.allowed && answer.check.limit->shape().shadow;
    if (slice.granted == 0 || may_be_free) continue;
    const auto left = static_cast<std::uint64_t>(answer.decision.remaining);
    AddUsed(answer, SumOf(left, CostOf(request.checks, verdict, i, slice.granted)), terms);
  }
}

void DecisionEvents::CollectThrottle(const Check& check, const Verdict& verdict,
                                     const EventTerms& terms) {
  if (!verdict.allowed) AddDenied({check, kThrottleName, verdict.decisions[0]}, terms);
}

void DecisionEvents::AddDenied(const Answer& answer, const EventTerms& terms) {
  if (!terms.denied || answer.check.limit->shape().shadow || !HasRoom(answer)) return;
  const std::uint64_t hash = absl::HashOf(answer.check.hash.hash, AbslView(answer.limit));
  if (!recent_.Note(hash, terms.now, terms.interval)) return;
  Add(EventKind::kDenied,
      absl::StrCat(AbslView(answer.limit), " ", RetryMillis(answer.decision.retry_after), " ",
                   AbslView(ShownKey(answer.check))));
}

void DecisionEvents::AddUsed(const Answer& answer, std::uint64_t there, const EventTerms& terms) {
  const Limit& limit = *answer.check.limit;
  if (!terms.used || !IsWindowOrHeld(limit)) return;
  const std::int64_t count = limit.capacity_tokens();
  const auto free = static_cast<std::int64_t>(std::min(there, static_cast<std::uint64_t>(count)));
  const std::int64_t left = std::min(answer.decision.remaining, count);
  const int percent = terms.percents.GreatestCrossed(count, count - free, count - left);
  if (percent == 0 || !HasRoom(answer)) return;
  if (ComesBackBitByBit(limit)) {
    const std::uint64_t hash =
        absl::HashOf(answer.check.hash.hash, AbslView(answer.limit), percent);
    if (!recent_.Note(hash, terms.now, terms.interval)) return;
  }
  Add(EventKind::kUsed,
      absl::StrCat(percent, " ", AbslView(answer.limit), " ",
                   CeilMillis(answer.decision.reset_after), " ", AbslView(ShownKey(answer.check))));
}

bool DecisionEvents::HasRoom(const Answer& answer) const noexcept {
  return bytes_ + kNumbersBytesMax + answer.limit.size() + ShownKey(answer.check).size() <=
         kBytesMax;
}

void DecisionEvents::Add(EventKind kind, std::string message) {
  bytes_ += message.size();
  events_.push_back({kind, std::move(message)});
}

}  // namespace weir
