// Slice: tokens that are taken at once, and spent one by one without asking weir.
//
//     weir::Slice slice = limiter.Slice(50, 1s, {"api", "1000/s"});
//     if (!slice.Spend()) return TooMany();
//
// For a key that is asked too often to ask weir each time. weir says how many tokens there are, 50
// at most, and how long they may be spent, `time` at most. Then what was spent is settled, and the
// rest comes back. A slice that is not settled counts as spent, so a process that dies admits
// nothing twice. Where weir gives no slices of these limits, each token is asked for.
//
// A slice of several keys (AND), or of a weir without RL.SLICE, is a hold of RL.TAKE instead. If
// weir is away at its end, it is settled when weir answers again, if the Slice is still there. A
// process that dies gives all of it back, also what it has spent: so each death may admit a slice
// more than the limit. The limits of several keys must not say cost=.
//
// Thread-safe: one thread asks weir for more while the others wait, for a deadline at most.
#pragma once

#include <memory>

#include "weir/outcome.h"

namespace weir {

namespace client {
class SliceState;
}  // namespace client

class Slice {
 public:
  explicit Slice(std::shared_ptr<client::SliceState> state);
  Slice(Slice&& other) noexcept;
  Slice& operator=(Slice&& other) noexcept;
  ~Slice();  // gives back; throws nothing

  // Spends a token. Throws Mistake. It may take three deadlines: two to settle the last slice, and
  // one to take the next.
  Outcome<void> Spend();

  // Settles the slice, so that what is left comes back. Throws nothing.
  void GiveBack();

 private:
  std::shared_ptr<client::SliceState> state_;  // null once moved from
};

}  // namespace weir
