// Random histories of one bucket, drawn before its limit and state are known. Each step says, in
// relation to the last answer, how long to wait and how much to ask for, so most steps hit an edge
// of the rule.
#pragma once

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
[[nodiscard]] Nanos LongestPeriod(const Limit& limit);

// The longest time until an unused bucket is full again.
[[nodiscard]] Nanos FullWithin(const Limit& limit);

// The instant of the move; the answer before it was `last`, at `now`.
[[nodiscard]] Instant NextInstant(const Move& move, const Limit& limit, const Decision& last,
                                  Instant now);

[[nodiscard]] std::uint64_t CostOf(const Move& move, const Limit& limit, const Decision& last);

[[nodiscard]] rc::Gen<Move> AnyMove();

// About fifty moves on average, up to a hundred.
[[nodiscard]] rc::Gen<std::vector<Move>> AnyHistory();

}  // namespace weir
