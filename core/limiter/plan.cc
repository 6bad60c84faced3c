#include "core/limiter/plan.h"

#include <algorithm>
#include <limits>

#include "core/rules/join_decisions.h"
#include "core/rules/rule.h"

namespace weir {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

// Sums and products of costs stop at 2^64-1, which is above every burst.
std::uint64_t SaturatingAdd(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}
std::uint64_t SaturatingMultiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

}  // namespace

void Plan::AddCheck(std::size_t i, std::size_t first) noexcept {
  const Check& check = request_[i];
  WEIR_DCHECK(check.cost >= 0);
  seats_[i].first = first;
  Seat& seat = seats_[first];
  seat.cost = SaturatingAdd(seat.cost, static_cast<std::uint64_t>(check.cost));
  seat.shadow = check.limit->shape().shadow;
  seat.has_bucket = check.limit->has_bucket();
}

void Plan::Decide(Instant now, Nanos patience) {
  allowed_ = true;
  for (std::size_t i = 0; i < size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.first != i) continue;
    seat.step = DecideLimit(*request_[i].limit, seat.present, now, seat.cost, max_wait_, patience);
    allowed_ = allowed_ && (seat.shadow || seat.step.decision.allowed);
  }
}

// How many times over, `most` at most, the request would pass at once.
std::int64_t Plan::TimesAffordable(Instant now, std::int64_t most) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const Seat& seat = seats_[i];
    if (seat.first != i || seat.shadow) continue;
    const Decision look = DecideLimit(*request_[i].limit, seat.present, now, 0, max_wait_).decision;
    if (!look.allowed) return 0;  // "none"
    if (seat.cost == 0 || !seat.has_bucket) continue;
    const std::uint64_t times = static_cast<std::uint64_t>(look.remaining) / seat.cost;
    most = std::min(most, static_cast<std::int64_t>(times));
  }
  return most;
}

std::int64_t Plan::DecideUpTo(std::int64_t upto, Instant now) {
  WEIR_DCHECK(upto >= 1);
  const std::int64_t granted = TimesAffordable(now, upto);
  for (Seat& seat : seats_) {
    seat.cost = SaturatingMultiply(seat.cost,
                                   static_cast<std::uint64_t>(std::max<std::int64_t>(granted, 1)));
  }
  Decide(now);
  WEIR_DCHECK(allowed_ == (granted > 0));
  return granted;
}

Verdict Plan::Refund(Instant now) {
  for (std::size_t i = 0; i < size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.found && seat.cost > 0) {
      seat.present = RefundLimit(*request_[i].limit, seat.before, now, seat.cost, max_wait_);
    }
    seat.cost = 0;
  }
  Decide(now);
  allowed_ = true;  // "none" has nothing to be given, which is no denial.
  Verdict verdict;
  Join(now, verdict);
  verdict.retry_after = Nanos{0};
  return verdict;
}

// Decides the shadows again, whose tokens must be there when those of the others are. Returns how
// long that takes. Requires: Decide has allowed the request.
Nanos Plan::SettleShadows(Instant now) {
  Nanos wait{0};
  for (std::size_t i = 0; i < size(); ++i) {
    const Seat& seat = seats_[i];
    if (seat.first == i && !seat.shadow) wait = std::max(wait, seat.step.decision.retry_after);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    Seat& seat = seats_[i];
    if (seat.first != i || !seat.shadow) continue;
    seat.step = DecideLimit(*request_[i].limit, seat.present, now, seat.cost, max_wait_, wait);
    if (seat.step.decision.allowed) seat.step.decision.retry_after = Nanos{0};
  }
  return wait;
}

Reservation Plan::Reserve(Instant now, Nanos patience) {
  Reservation reservation;
  reservation.ready = now;
  Decide(now, patience);
  if (allowed_) {
    reservation.ready += SettleShadows(now);
  } else {
    Decide(now);  // A denial answers as if the client did not wait.
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const Seat& seat = seats_[i];
    if (seat.first == i) {
      reservation.part_of_check.push_back(static_cast<std::uint8_t>(reservation.parts.size()));
      reservation.parts.push_back({*request_[i].limit, seat.present,
                                   seat.charges() ? seat.step.bucket : seat.present, seat.cost,
                                   seat.step.decision.allowed});
    } else {
      reservation.part_of_check.push_back(reservation.part_of_check[seat.first]);
    }
  }
  return reservation;
}

void Plan::Join(Instant now, Verdict& verdict) const {
  verdict.allowed = allowed_;
  verdict.decisions.resize(size());
  for (std::size_t i = 0; i < size(); ++i) {
    const Seat& seat = seats_[i];
    Decision& decision = verdict.decisions[i];
    if (seat.first != i) {
      verdict.repeated |= std::uint64_t{1} << i;
      decision = verdict.decisions[seat.first];
    } else if (allowed_ || !seat.step.decision.allowed) {
      decision = seat.step.decision;
    } else {
      decision = DecideLimit(*request_[i].limit, seat.present, now, 0, max_wait_).decision;
    }
  }
  JoinDecisions([&](std::size_t i) { return seats_[seats_[i].first].shadow; }, verdict);
}

}  // namespace weir
