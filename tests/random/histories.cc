#include "tests/random/histories.h"

#include <algorithm>

namespace weir {

Nanos LongestPeriod(const Limit& limit) {
  const LimitShape& shape = limit.shape();
  return shape.has_calendar() ? LongestWindow(shape.calendar.unit) : shape.period;
}

Nanos FullWithin(const Limit& limit) {
  switch (limit.shape().algorithm) {
    case Algorithm::kTokenBucket:
      return Nanos{limit.emission().capacity.whole};
    case Algorithm::kFixedWindow:
      return LongestPeriod(limit);
    case Algorithm::kSlidingWindow:
      return 2 * limit.shape().period;
    case Algorithm::kHeld:
    case Algorithm::kUnlimited:
    case Algorithm::kNone:
      break;
  }
  return Nanos{0};
}

Instant NextInstant(const Move& move, const Limit& limit, const Decision& last, Instant now) {
  const Nanos told = last.retry_after == kNever ? Nanos{0} : last.retry_after;
  const Nanos capacity = FullWithin(limit);
  Nanos wait{0};
  switch (move.wait) {
    case Move::Wait::kNone:
      break;
    case Move::Wait::kOneNano:
      wait = Nanos{1};
      break;
    case Move::Wait::kAsTold:
      wait = told;
      break;
    case Move::Wait::kTooShort:
      wait = told - Nanos{1};
      break;
    case Move::Wait::kUntilFull:
      wait = last.reset_after;
      break;
    case Move::Wait::kAlmostFull:
      wait = last.reset_after - Nanos{1};
      break;
    case Move::Wait::kPart:
      wait = Nanos{PartOf(capacity.count(), move.part)};
      break;
    case Move::Wait::kLong:
      wait = capacity + Nanos{move.part};
      break;
  }
  return now + std::clamp(wait, Nanos{0}, kInstantMax - now);
}

std::uint64_t CostOf(const Move& move, const Limit& limit, const Decision& last) {
  const auto burst = static_cast<std::uint64_t>(limit.capacity_tokens());
  const auto remaining = static_cast<std::uint64_t>(last.remaining);
  switch (move.cost) {
    case Move::Cost::kZero:
      return 0;
    case Move::Cost::kOne:
      return 1;
    case Move::Cost::kRemaining:
      return remaining;
    case Move::Cost::kOneTooMany:
      return remaining + 1;
    case Move::Cost::kBurst:
      return burst;
    case Move::Cost::kExcess:
      return burst + 1;
    case Move::Cost::kPart:
      return static_cast<std::uint64_t>(PartOf(limit.capacity_tokens(), move.part));
  }
  return 0;
}

rc::Gen<Move> AnyMove() {
  return rc::gen::build<Move>(
      rc::gen::set(&Move::wait, rc::gen::cast<Move::Wait>(Between(0, 7))),
      rc::gen::set(&Move::cost, rc::gen::weightedElement<Move::Cost>({{1, Move::Cost::kZero},
                                                                      {4, Move::Cost::kOne},
                                                                      {3, Move::Cost::kRemaining},
                                                                      {2, Move::Cost::kOneTooMany},
                                                                      {2, Move::Cost::kBurst},
                                                                      {1, Move::Cost::kExcess},
                                                                      {4, Move::Cost::kPart}})),
      rc::gen::set(&Move::part, Between<std::int64_t>(0, 1024)));
}

rc::Gen<std::vector<Move>> AnyHistory() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::container<std::vector<Move>>(AnyMove()));
}

}  // namespace weir
