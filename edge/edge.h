// An edge: decides requests about hot keys on slices (core/rules/slice.h) that its primary has
// charged in advance.
//
//     request -> Decide -> a verdict         from the units in hand, or by a denial in force
//                       -> wait              a slice is asked for; OnReply brings the answer
//                       -> pass it on        the key is cold: the primary decides
//                       -> away              the primary is needed, and there is none
//
// Pure: no sockets, threads or clock; the time is an argument, that of one host, and never goes
// back. One object for each thread, and nothing is shared between them.
//
// What the host does:
// - It keeps the one queue of replies of its link: for each command sent, in order, whether the
//   edge sent it (Host::Send) or a client's request was passed on. A reply to the former goes to
//   OnReply, a verdict of RL.ALLOW for the latter to OnPassedReply before the client gets it.
// - It keeps the words of a request that waits until its answer, which may be to pass it on.
// - It calls OnLinkUp and OnLinkLost in turn; at first the link is down. After OnLinkLost no reply
//   comes to what was sent before. Requests that were passed on are the host's to answer.
// - After each call, it has Tick called at next_tick().
//
// Not thread-safe. Cost: a local decision is a hash of the request's words and a look-up; it
// allocates nothing without WITHLIMITS. A tick looks at each form that was used lately.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "core/table/hold.h"
#include "core/table/key_hash.h"
#include "edge/answer.h"
#include "edge/form_state.h"
#include "edge/form_table.h"
#include "edge/hot_filter.h"
#include "edge/request_words.h"

namespace weir {

// Counts of an edge since it began.
struct EdgeCounts {
  std::uint64_t allowed = 0;  // locally: from the hand
  std::uint64_t denied = 0;   // locally: by a denial in force
  std::uint64_t asks = 0;
  std::uint64_t granted = 0;  // units, which are in the hand until they are one of the next three
  std::uint64_t spent = 0;
  std::uint64_t settled = 0;  // given back
  std::uint64_t wasted = 0;   // lapsed unspent
};

// A change by an operator at the primary.
struct OperatorChange {
  enum class Kind : std::uint8_t { kKey, kPolicy, kAll };
  Kind kind;
  std::string_view name{};    // of the key or the policy
  std::uint64_t changes = 0;  // the primary's counter, as RL.SLICE replies it
};

// With a '-' and a number of up to 18 digits it is the id of a hold.
inline constexpr std::size_t kEdgeRunBytesMax = kHoldIdBytesMax - 19;

// Until the first replies say more.
inline constexpr Nanos kRttAtFirst = std::chrono::milliseconds{2};

class Edge {
 public:
  // What the edge asks for, during the calls of Edge. May not call the edge.
  class Host {
   public:
    Host() = default;
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    // Sends a command to the primary. Called while the link is up.
    virtual void Send(std::span<const std::string_view> words) = 0;
    // Answers a request that waits: anything but kWaits.
    virtual void Answer(std::uint64_t ticket, const EdgeAnswer& answer) = 0;

   protected:
    ~Host() = default;
  };

  // `run`: begins the ids of all holds, and is another one in each run of each edge of the primary;
  // up to kEdgeRunBytesMax bytes. `host` must outlive the edge.
  Edge(Host& host, std::string_view run, const HashSecret& secret);
  Edge(const Edge&) = delete;
  Edge& operator=(const Edge&) = delete;

  // Decides a request: the words of RL.ALLOW without its name. A request that an edge does not
  // decide, or that is wrong, is passed on. The rows of the answer live until the next call.
  [[nodiscard]] EdgeAnswer Decide(std::span<const std::string_view> words, std::uint64_t ticket,
                                  HostInstant now);

  // The bytes of one reply, in RESP2 or RESP3. One that no primary gives counts as an error.
  void OnReply(std::string_view reply, HostInstant now);
  void OnPassedReply(const PassedOn& passed_on, std::string_view reply, HostInstant now);
  void OnLinkUp(HostInstant now);
  void OnLinkLost(HostInstant now);
  // Ends the denials of the keys that the change concerns, and gives their slices back.
  void OnChange(const OperatorChange& change, HostInstant now);
  void Tick(HostInstant now);
  // When Tick is due; nothing if there is nothing to do.
  [[nodiscard]] std::optional<HostInstant> next_tick() const;

  // Smoothed; grows at once with a long round trip.
  [[nodiscard]] Nanos rtt() const noexcept { return rtt_; }
  [[nodiscard]] const EdgeCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] std::size_t forms() const noexcept { return forms_.size(); }
  // Units.
  [[nodiscard]] std::int64_t in_hand() const noexcept {
    return static_cast<std::int64_t>(counts_.granted - counts_.spent - counts_.settled -
                                     counts_.wasted);
  }

 private:
  // A command of the edge that the primary has not answered.
  struct Sent {
    Form* form = nullptr;     // an ask; null: a COMMIT
    std::uint64_t slice = 0;  // the number in the id of the hold
    HostInstant at{};
  };
  // A slice that was given back, as far as the edge knows.
  struct Unsettled {
    std::string key;
    std::int64_t used;
    HostInstant stop;
  };

  [[nodiscard]] EdgeAnswer DecideOne(const EdgeGroup& group, bool with_limits, std::uint64_t ticket,
                                     HostInstant now);
  [[nodiscard]] EdgeAnswer DecideAll(const EdgeRequest& request, HostInstant now);
  void AskAhead(const EdgeGroup& group, HostInstant now);
  [[nodiscard]] std::uint64_t HashOf(const EdgeGroup& group);
  void LearnText(Form& form);
  [[nodiscard]] EdgeAnswer PassOn(const PassedOn& passed_on = {}) const;
  // Returns a new form; null if the table is full of forms that are asked for.
  [[nodiscard]] Form* AddForm(std::uint64_t hash, HostInstant now);
  // Asks for a slice, if one is due.
  void Renew(Form& form, HostInstant now);
  void TakeAskReply(const Sent& sent, std::string_view reply, HostInstant now);
  void Return(const Form& form, std::span<const Slice> slices, HostInstant now);
  void SendCommit(std::uint64_t slice, const Unsettled& unsettled, HostInstant now);
  void DropEnded(Form& form, HostInstant now) {
    counts_.wasted += static_cast<std::uint64_t>(form.state.DropEnded(now));
  }
  void MeasureRtt(HostInstant sent, HostInstant now);
  void CountLocal(const EdgeAnswer& verdict) {
    ++(verdict.allowed() ? counts_.allowed : counts_.denied);
  }
  // Whether a form may have something to do.
  [[nodiscard]] bool IsActive(const Form& form, HostInstant now) const;
  [[nodiscard]] std::string HoldId(std::uint64_t slice) const;

  Host& host_;
  const std::string run_;
  const KeyHasher hasher_;
  bool is_up_ = false;
  Nanos rtt_ = kRttAtFirst;
  FormTable forms_;
  HotFilter filter_;
  std::uint64_t last_slice_ = 0;
  std::deque<Sent> in_flight_;                    // in the order of their replies
  std::map<std::uint64_t, Unsettled> unsettled_;  // by number, so in the order of the asks
  HostInstant last_tick_{};
  EdgeCounts counts_;
  std::string text_;  // of the form that is looked up, to spare an allocation
};

}  // namespace weir
