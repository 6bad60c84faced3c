// The mistakes that the simulation of edges must find. Each is made by the harness: the primary
// does what it should not, or the edge hears what is not so.
#pragma once

#include <cstdint>

namespace weir {

enum class EdgeBug : std::uint8_t {
  kNone,
  kCancel,   // a slice that lapses is given back, although it may be spent
  kRefund,   // what is left of a slice comes back as by RL.REFUND, not by the rule of settlement
  kWindow,   // slices do not end with the window that they were charged to
  kReceipt,  // the life of a slice counts from the reply, not from the ask
  kDrift,    // no thousandth is taken from a life
  kSpendOn,  // an edge spends on from a slice that was settled
  kIds,      // an edge that starts again counts its ids from 1 again
  kGuess,    // an edge takes for granted what it asked for when the reply is lost
  kUnknown,  // a settlement whose hold is unknown, after a reset, is followed by a refund
  kResend,   // a settlement that was sent again is settled twice
  kOpen,     // an edge admits while the primary is away
  kDenial,   // a denial is kept for twice as long as was promised
  kCost,     // a denial of a large cost is kept for smaller costs, too
  kStuck,    // a link that is there again is not noticed
  kHoard     // slices are asked for without a look at demand, and not given back
};

}  // namespace weir
