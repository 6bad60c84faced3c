// Hold: a reservation, settled with what was really used.
//
//     auto held = limiter.Reserve(2min, {"team:7", "10/s", "100k/m,cost={}", "5,held"}, 1500);
//     if (!held) return Denied(held.limited());
//     held->Settle(Complete());    // without it the end of the scope gives all of it back
//
// The reply to a reservation or a settlement that is lost is asked for once more: a hold has a
// random id, so it is charged once. A Hold that weir did not grant, because it gave no answer and
// the Limiter fails open, is not open; settling it does nothing. A process that dies gives its hold
// back at the end of its time to live.
//
// For one thread at a time. It may outlive its Limiter, whose end leaves the hold to expire.
#pragma once

#include <cstdint>
#include <memory>

namespace weir {

namespace client {
class HoldState;
}  // namespace client

class Hold {
 public:
  explicit Hold(std::unique_ptr<client::HoldState> state);
  Hold(Hold&& other) noexcept;
  Hold& operator=(Hold&& other) noexcept;
  ~Hold();  // cancels what is not settled; throws nothing

  // Whether there is a hold to settle.
  [[nodiscard]] bool is_open() const;

  // Charges `used` tokens in place of the estimate, where the words said cost={}. Returns whether
  // that is so. It is not if there is no hold, if it has expired, or if weir gives no answer; only
  // then can it be repeated. Throws Mistake; if `used` is below 0, nothing is asked. One request,
  // or two.
  bool Settle(std::int64_t used);

  // Settles; if the hold has expired, and so gave all of it back, charges what was used. Returns
  // whether it is settled. For a budget that must not be undercounted; one that must not be
  // overdrawn wants Settle(). The charge is not repeated: it may have been made.
  bool SettleOrCharge(std::int64_t used);

  // Gives all of it back, unless it has been settled, or that was tried.
  void Cancel();

 private:
  std::unique_ptr<client::HoldState> state_;  // null once moved from
};

}  // namespace weir
