// The clock of decisions on a server that is, or was, a replica: the host's clock plus a shift, so
// that it shows the time of the primary.
//
//     clock.RunOn(last);        // the start of a replica: no primary has told its time yet
//     clock.Rebase(shift);      // the server begins to follow a primary
//     clock.SetShift(shift);    // again and again, as frames come (replication/time_shift.h)
//     clock.Fix(last_frame);    // the server becomes a primary: the shift is fixed
//     clock.Continue(shift);    // its next start, as a primary
//
// The time continues over a promotion: buckets neither refill at once nor go back. While the server
// follows one primary, and after its promotion, the time never goes back; it may do so only when
// the server begins to follow another one.
//
// Only decisions and their records use this time. It may go back, or leap by hours, when the server
// begins to follow a primary, and it means nothing before the first frame. So durations and
// deadlines of this host are never differences of Now(): they use HostNow(), which is the time of
// the host's clock whatever the shift is, or Stopwatch(). The types enforce this: an Instant and a
// HostInstant neither compare nor subtract.
//
// A server that never followed has no shift, and pays one relaxed load. One that follows pays an
// atomic maximum, since its shift may become smaller; one that was promoted pays four loads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "core/base/clock.h"
#include "core/base/instant.h"

namespace weir {

// Now(), Read() and Stopwatch() may be called on any thread, the others on one thread.
class FollowedClock final : public Clock {
 public:
  // `own`, the host's clock, must outlive it.
  explicit FollowedClock(const Clock& own) : own_(own) {}

  // The time of `own` plus the shift, cut to the range of a Clock.
  [[nodiscard]] Instant Now() const override { return Read().now; }
  // The second hand is that of `own`.
  [[nodiscard]] Reading Read() const override;
  [[nodiscard]] Nanos Stopwatch() const override { return own_.Stopwatch(); }

  // Begins to follow before any primary has told its time. The time continues from `last`, the time
  // of the state on disk, so that nothing ends that a primary may still count. This holds the time
  // back only until Fix().
  void RunOn(Instant last);
  // Begins to follow a primary, whose time may be earlier than the present one. A thread that reads
  // the clock meanwhile gets the time before or after.
  void Rebase(Nanos shift);
  // Moves on, while it follows. With a smaller shift the time does not advance until it is reached.
  void SetShift(Nanos shift);
  // Ends following. From now on the time is no earlier than `at_least` and than any time that the
  // clock has told; unless a primary has told its time, it is no earlier than `own` either. Returns
  // by how much the time moves on because no primary has told its time; 0 if one has. Does nothing
  // on a clock that does not follow.
  Nanos Fix(Instant at_least);
  // Takes up the fixed shift of an earlier run. Requires: no thread reads the clock yet.
  void Continue(Nanos shift);

  // The present shift; 0 if it never followed.
  [[nodiscard]] Nanos shift() const noexcept;

 private:
  // The time of one primary.
  struct PrimaryTime {
    std::atomic<Nanos::rep> shift{0};
    std::atomic<Nanos::rep> latest{0};  // the highest time told by readers that saw it follow
    std::atomic<bool> follows{false};
    bool is_told = false;  // by a primary; of the one thread
  };

  void Begin(Nanos shift, bool is_told);

  const Clock& own_;
  // Two, in turn, so that a thread that has begun to read the time of one primary does not raise
  // the time of the next.
  mutable std::array<PrimaryTime, 2> times_;
  std::size_t next_ = 0;
  std::atomic<PrimaryTime*> present_{nullptr};  // null: it never followed
};

}  // namespace weir
