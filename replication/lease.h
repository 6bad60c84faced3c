// Leases: the time for which a replica promises not to become a primary, as both servers know it. A
// primary that admits nothing after the leases of its replicas have ended never admits at the same
// time as a replica that was promoted.
//
//     primary                                      replica
//     a frame of the time t, by its own clock ---> hears it, and promises: "no promotion for M from
//                                                  now on, by my clock" (LeasePromise)
//     hears the echo of t: the promise holds  <--- ACK with t
//     until t + M, by its own clock (ReplicaLease)
//
// The promise begins after the frame was sent, so it ends after t + M, although the clocks show
// different times: only their rates matter. A replica makes each promise longer by a thousandth,
// which covers clocks that drift 500 ppm each. The time of the ACK's receipt says nothing: an ACK
// may be on its way for long.
//
// M is an option of the primary, and heartbeats carry it. A replica knows M once it has read such a
// heartbeat; the primary knows that when the replica echoes a later frame.
//
// The times of frames are the primary's times of decisions, which do not jump while it is a
// primary.
//
// Pure; not thread-safe. Times are [Instant{}, kInstantMax].
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "core/base/instant.h"

namespace weir {

// What a primary knows of one replica's promises, on one link. Cost: O(1).
class ReplicaLease {
 public:
  // A heartbeat was sent that asks for promises of this length; 0: none.
  void OnHeartbeatSent(Nanos length, Instant heartbeat_time) noexcept {
    known_ = std::min(known_, length);
    if (length == asked_) return;
    asked_ = length;
    asked_at_ = heartbeat_time;
  }

  // An ACK has come that echoes the time of a frame. A replica that is not synced promises nothing
  // of use: it could not take over. Requires: `echoed` is no earlier than at the last call.
  void OnAck(Instant echoed, bool synced) noexcept {
    if (echoed > asked_at_) known_ = asked_;
    if (!synced) return;
    echoed_ = echoed;
    promised_until_ = std::max(promised_until_, echoed + known_);
  }

  // The length that the last heartbeat asked for.
  [[nodiscard]] Nanos asked() const noexcept { return asked_; }
  // The time until which the replica is known to be there: `length` after the last time that it
  // echoed while synced. Instant{}: it was never synced.
  [[nodiscard]] Instant HeardUntil(Nanos length) const noexcept {
    return echoed_ == Instant{} ? Instant{} : std::min(echoed_ + length, kInstantMax);
  }
  // The time until which it will not be a primary, for leases of at most `length`.
  [[nodiscard]] Instant PromisedUntil(Nanos length) const noexcept {
    return std::min(promised_until_, HeardUntil(length));
  }

 private:
  Nanos asked_{0};
  Instant asked_at_{};
  Nanos known_{0};  // the shortest length that the replica may go by
  Instant echoed_{};
  Instant promised_until_{};
};

// An older YIELD, and an older request for one, does not count: its sender may have given up.
inline constexpr Nanos kYieldAgeMax = std::chrono::seconds{2};

// The n-th latest of the times: until then, n of them have not passed. kInstantMax for n == 0, and
// Instant{} if there are fewer than n. Cost: O(number of times).
[[nodiscard]] inline Instant NthLatest(std::vector<Instant> times, std::size_t n) {
  if (n == 0) return kInstantMax;
  if (times.size() < n) return Instant{};
  const auto nth = times.begin() + static_cast<std::ptrdiff_t>(n - 1);
  std::ranges::nth_element(times, nth, std::ranges::greater());
  return *nth;
}

// The promises of a replica, to all primaries that it has had since its start. Cost: O(1).
class LeasePromise {
 public:
  // An ACK is sent now, by the replica's own clock, to a primary whose last heartbeat
  // has asked for promises of this length; or a YIELD that may count for so long.
  void Acked(Nanos length, HostInstant now) noexcept {
    if (length <= Nanos{0}) return;
    const Nanos longer = length + length / kDriftDivisor + Nanos{1};
    until_ = std::max(until_, std::min(now + longer, kHostInstantMax));
  }

  // The server must not become a primary before this time, unless its primary has yielded.
  [[nodiscard]] HostInstant until() const noexcept { return until_; }

 private:
  static constexpr int kDriftDivisor = 1000;

  HostInstant until_{};
};

}  // namespace weir
