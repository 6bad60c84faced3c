// The state of one form at an edge, and the rule by which the edge asks for slices of it, spends
// them and gives them back. At most one ask is in flight.
//
//     request    The hand covers it: spend. Else a denial in force covers it: deny. Else, if the
//                form is hot, it waits, and the edge asks at once for all that wait.
//     ask ahead  when hand < demand in (RTT + PACE), for up to demand in (2 RTT + 2 PACE). It comes
//                before the units are needed, so that requests of hot keys hardly ever wait.
//     reply      The requests that NEED counted are served first, as of the primary's decision. The
//                rest is a slice, and serves those that came later. The reply denies one of these
//                only if it says that UNIT is not there, and if the request is no smaller; the next
//                ask is for the others.
//     denial     in force for an eighth of the promise, but for 50 ms to 1 s, and never longer than
//                promised. Then the edge asks again. It covers requests of as many units or more. A
//                form that refills within PACE is *paced*: the edge asks for it each PACE, and
//                denies until the answer is there.
//     return     a slice of a form without demand, one that the others make needless, and one at
//                the end of its life
//
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"

#include "core/base/instant.h"
#include "edge/answer.h"
#include "edge/demand.h"
#include "edge/hand.h"
#include "edge/primary_replies.h"

namespace weir {

// The time between two looks for slices to be given back.
inline constexpr Nanos kEdgeTick = std::chrono::milliseconds{10};
// The shortest and the longest life that is asked for; between them 4 RTT.
inline constexpr Nanos kSliceLifeAskedMin = std::chrono::milliseconds{250};
inline constexpr Nanos kSliceLifeAskedMax = std::chrono::seconds{2};
// How long a form is passed on, request by request, after the primary has refused to slice it. If a
// longer life was asked for than the shortest, as after a stall, it may be sliced soon again.
inline constexpr Nanos kNotSlicedFor = std::chrono::seconds{10};
inline constexpr Nanos kNotSlicedForSoLong = std::chrono::milliseconds{500};

// A request that waits for the reply to an ask.
struct WaitingRequest {
  std::uint64_t ticket = 0;
  std::int64_t units = 1;
  bool with_limits = false;
  bool is_needed = false;  // NEED of the ask that is in flight counts it
};

// The numbers of an RL.SLICE.
struct SliceAsk {
  std::int64_t need = 0;
  std::int64_t unit = 1;
  std::int64_t upto = 1;
  Nanos life = kSliceLifeAskedMin;
};

class FormState {
 public:
  using AnswerTo = absl::FunctionRef<void(const WaitingRequest&, const EdgeAnswer&)>;

  // Notes a request. One that can never be admitted is no demand.
  void Count(std::int64_t units, HostInstant now, Nanos rtt) {
    demand_.Count(IsHopeless(units) ? 0 : units, now, rtt);
    last_ = now;
  }

  // Ends a slot of the demand that is over.
  void Pass(HostInstant now, Nanos rtt) { demand_.Count(0, now, rtt); }

  // --- Local answers. Require that DropEnded was called at this time. ---

  [[nodiscard]] bool Covers(std::int64_t units) const { return hand_.units() >= units; }
  [[nodiscard]] bool Denies(std::int64_t units, HostInstant now) const {
    return denial_ && now < denial_->until && units >= denial_->units;
  }
  // Whether the rows of WITHLIMITS are known for a denial in force.
  [[nodiscard]] bool KnowsRows() const { return denial_ && denial_->has_rows; }
  // Spends what the hand covers.
  [[nodiscard]] EdgeAnswer Spend(std::int64_t units, bool with_limits, HostInstant now) {
    hand_.Spend(units);
    return Admission(units, with_limits, hand_.units(), now);
  }
  // Requires: Denies() and, for the rows, KnowsRows().
  [[nodiscard]] EdgeAnswer Denial(std::int64_t units, bool with_limits, HostInstant now) const;
  // Returns the units that lapse.
  std::int64_t DropEnded(HostInstant now) { return hand_.DropEnded(now); }

  // --- Asks ---

  // Whether the primary has refused to slice the form, a while ago.
  [[nodiscard]] bool is_not_sliced(HostInstant now) const { return now < not_sliced_until_; }
  [[nodiscard]] bool is_asked() const { return ask_.has_value(); }
  void Wait(const WaitingRequest& request) { waiting_.push_back(request); }
  // Returns the ask that is due, which is then in flight.
  [[nodiscard]] std::optional<SliceAsk> TryAsk(HostInstant now, Nanos rtt);
  // Takes the reply to it. Returns the units of the grant that are of no use: those that no request
  // needed and no slice may have. `number`: of the slice. `to_return`: slices to be given back.
  [[nodiscard]] std::int64_t TakeGrant(const SliceReply& reply, std::uint64_t number,
                                       HostInstant sent, HostInstant now, Nanos rtt,
                                       std::vector<Slice>& to_return, AnswerTo answer);
  // No ask is in flight any more. Tells of each request that waited.
  void EndWaiting(absl::FunctionRef<void(const WaitingRequest&)> tell);
  void MarkNotSliced(HostInstant until) { not_sliced_until_ = until; }
  // Takes the denial of a request that was passed on.
  void TakeDenial(const DenialReply& denial, std::int64_t units, HostInstant sent);

  // --- Returns ---

  // Removes the slices that are of no more use here.
  [[nodiscard]] std::vector<Slice> TakeIdle(HostInstant now, Nanos rtt);
  [[nodiscard]] std::vector<Slice> TakeAll();
  void DropDenial() { denial_.reset(); }
  // A reply with an earlier count of changes serves the requests that it was needed for, and gives
  // no slice and no denial.
  void set_changes(std::uint64_t changes) { changes_ = changes; }

  [[nodiscard]] const Hand& hand() const noexcept { return hand_; }
  [[nodiscard]] HostInstant last() const noexcept { return last_; }
  // The limits of the form, once a slice was granted.
  [[nodiscard]] std::size_t limits() const noexcept { return word_.rows.size(); }
  // Of the names of its limits.
  [[nodiscard]] std::size_t row_bytes() const;

 private:
  // The primary's last word, and when it was asked for.
  struct Word {
    PrimaryNumbers numbers;
    HostInstant sent{};
    std::vector<SliceReply::Row> rows{};
  };
  struct DenialInForce {
    HostInstant until;
    std::int64_t units;
    std::optional<HostInstant> retry_at;  // nothing: never
    PrimaryNumbers numbers;
    HostInstant sent;
    bool has_rows;  // those of word_
  };

  // Whether one of the limits is less than the units take of it, by the primary's last word.
  [[nodiscard]] bool IsHopeless(std::int64_t units) const;
  [[nodiscard]] EdgeAnswer Admission(std::int64_t units, bool with_limits, std::int64_t left,
                                     HostInstant now) const;
  // The rows of an answer, with so many units left at the edge.
  [[nodiscard]] std::vector<EdgeAnswer::Row> Rows(bool allowed, std::int64_t units,
                                                  std::int64_t left, HostInstant now) const;
  // The tokens of a limit in so many units.
  [[nodiscard]] std::int64_t TokensOf(std::int64_t limit_index, std::int64_t units) const;
  void PaceAsks(bool is_kept, bool is_late, HostInstant sent);
  [[nodiscard]] std::int64_t ServeNeeded(std::int64_t granted, HostInstant now, AnswerTo answer);
  void ServeLater(const SliceAsk& ask, bool is_denied, HostInstant now, AnswerTo answer);
  void Deny(const PrimaryNumbers& numbers, Nanos retry_after, std::int64_t units, HostInstant sent,
            std::optional<Nanos> paced_by);

  Hand hand_;
  Demand demand_;
  HostInstant last_{};  // a request
  std::vector<WaitingRequest> waiting_;
  std::optional<SliceAsk> ask_;  // in flight
  HostInstant next_ask_{};       // ahead: not before
  Nanos late_pause_{0};          // since the last slice that came in its life
  HostInstant not_sliced_until_{};
  std::optional<DenialInForce> denial_;
  Word word_;
  std::uint64_t changes_ = 0;
};

}  // namespace weir
