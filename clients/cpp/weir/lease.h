// Lease: a slot such as "5,held" that is kept while a job runs, and freed at the end of its scope.
//
//     auto slot = limiter.Lease(30s, {"printer", "1,held"});
//     if (!slot) return Busy(slot.limited());
//     while (!slot->lost() && Work()) {}
//
// A thread renews it at a third of its time to live. A renewal without an answer is no loss: the
// next may be answered. The lease is lost when weir denies it, or when it was not renewed for its
// whole time to live. If weir gave no answer to the first request and the Limiter fails open, there
// is no lease to renew or to lose.
//
// lost() is thread-safe and asks nothing; Release() is for one thread.
#pragma once

#include <memory>

namespace weir {

namespace client {
class LeaseState;
}  // namespace client

class Lease {
 public:
  explicit Lease(std::shared_ptr<client::LeaseState> state);
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  ~Lease();  // releases; throws nothing

  // Whether weir may have given the slot to another worker. It goes by the clock, so it is in time
  // even if a heartbeat is late.
  [[nodiscard]] bool lost() const;

  // Frees the slot. Returns whether it was held until now. Throws nothing: it expires.
  bool Release();

 private:
  std::shared_ptr<client::LeaseState> state_;  // null once moved from
};

}  // namespace weir
