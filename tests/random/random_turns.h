// Random histories of a limiter: turns that are drawn before the limits and their state are known.
//
//     const rc::Gen<Turn> turn =
//         AnyTurn({{50, Turn::What::kDecide}, {5, Turn::What::kInspect}}, kKeys, kLimits);
//
// A turn gives its delay and its costs as a Move (histories.h), relative to the state in which it
// is played, so most turns hit an edge of the rule. Keys and limits are numbers; the code that
// plays a turn gives them a meaning (model_history.h, random_load.h).
#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <utility>
#include <vector>

#include <rapidcheck.h>

#include "tests/random/generators.h"
#include "tests/random/histories.h"

namespace weir {

// One limit of one key, as part of a request.
struct Ask {
  std::size_t key = 0;
  std::size_t limit = 0;
  Move move;  // says what it costs
  Move keep;  // its cost says how many tokens must be left

  friend std::ostream& operator<<(std::ostream& out, const Ask& ask) {
    return out << "key " << ask.key << " limit " << ask.limit << ask.move << " keep" << ask.keep;
  }
};

struct Turn {
  enum class What {
    kDecide,
    kPeek,
    kTake,
    kCharge,
    kRefund,
    kReserve,
    kServe,
    kGiveBack,
    kHold,
    kSettle,
    kReset,
    kResetAll,
    kInspect,
    kSweep,
    kReclaim,
    kChangePolicy,
    kClear
  };
  // The longest wait that a reservation accepts, relative to the wait that it needs.
  enum class Patience { kNone, kTooShort, kJust, kLong };

  What what = What::kDecide;
  Move move;  // says how long to wait before
  Patience patience = Patience::kNone;
  std::vector<Ask> asks;  // one to five; some ask the same

  friend std::ostream& operator<<(std::ostream& out, const Turn& turn) {
    constexpr std::array kNames = {"decide",        "peek",      "take",      "charge", "refund",
                                   "reserve",       "serve",     "give back", "hold",   "settle",
                                   "reset",         "reset all", "inspect",   "sweep",  "reclaim",
                                   "change policy", "clear"};
    constexpr std::array kPatience = {"none", "too short", "just enough", "all there is"};
    out << "\n"
        << kNames[static_cast<std::size_t>(turn.what)] << turn.move << ", patience "
        << kPatience[static_cast<std::size_t>(turn.patience)] << ":";
    for (const Ask& ask : turn.asks) out << "\n    " << ask;
    return out;
  }
};

// The weight of each kind of turn.
using TurnWeights = std::vector<std::pair<std::size_t, Turn::What>>;

rc::Gen<Turn> AnyTurn(const TurnWeights& weights, std::size_t keys, std::size_t limits);

}  // namespace weir
