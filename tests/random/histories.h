// Random histories of one bucket, drawn before its limit and state are known. Each step says, in
// relation to the last answer, how long to wait and how much to ask for, so most steps hit an edge
// of the rule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include "core/base/instant.h"
#include "core/rules/decision.h"
#include "core/rules/limit.h"
#include "tests/random/generators.h"

namespace weir {

struct Move {
  enum class Wait { kNone, kOneNano, kAsTold, kTooShort, kUntilFull, kAlmostFull, kPart, kLong };
  enum class Cost { kZero, kOne, kRemaining, kOneTooMany, kBurst, kExcess, kPart };

  Wait wait = Wait::kNone;
  Cost cost = Cost::kOne;
  std::int64_t part = 0;  // of 1024, for the two kPart

  friend std::ostream& operator<<(std::ostream& out, const Move& move) {
    constexpr const char* kWaits[] = {"at once",   "1 ns later",       "as told",   "1 ns too soon",
                                      "when full", "1 ns before full", "a part on", "long after"};
    constexpr const char* kCosts[] = {
        "0", "1", "what remains", "1 more than remains", "the burst", "the burst and 1", "a part"};
    return out << "\n  " << kWaits[static_cast<int>(move.wait)] << ": "
               << kCosts[static_cast<int>(move.cost)] << " (" << move.part << ")";
  }
};

// A part of 1024, without overflow.
[[nodiscard]] constexpr std::int64_t PartOf(std::int64_t whole, std::int64_t part) noexcept {
  return whole / 1024 * part + whole % 1024 * part / 1024;
}

// The period of a window's limit, or the length that no window of its calendar exceeds.
[[nodiscard]] inline Nanos LongestPeriod(const Limit& limit) {
  const LimitShape& shape = limit.shape();
  return shape.has_calendar() ? LongestWindow(shape.calendar.unit) : shape.period;
}

// The longest time until an unused bucket is full again.
[[nodiscard]] inline Nanos FullWithin(const Limit& limit) {
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

// The instant of the move; the answer before it was `last`, at `now`.
[[nodiscard]] inline Instant NextInstant(const Move& move, const Limit& limit, const Decision& last,
                                         Instant now) {
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

[[nodiscard]] inline std::uint64_t CostOf(const Move& move, const Limit& limit,
                                          const Decision& last) {
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

[[nodiscard]] inline rc::Gen<Move> AnyMove() {
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

// About fifty moves on average, up to a hundred.
[[nodiscard]] inline rc::Gen<std::vector<Move>> AnyHistory() {
  return rc::gen::resize(rc::kNominalSize, rc::gen::container<std::vector<Move>>(AnyMove()));
}

}  // namespace weir
