// The events of one thread's decisions, as a host publishes them: keys that are denied, and keys
// that have used most of a limit.
//
//     weir:denied    limit retry_after_ms key
//         A limit has denied the key: the first time, then at most once an interval. Of several
//         alternatives, all of which are denied, the event is that of the reply's limit.
//     weir:used      percent limit reset_after_ms key
//         An admission, or a charge, has taken the key's window or held limit across a percentage:
//         the greatest of those that it has crossed. Token buckets have no such events, since under
//         load each admission would cross. The tokens of sliding windows and of held limits come
//         back all the time, too, so a percentage of one is reported at most once an interval.
//
// `limit` is the text that RL.STATS shows, up to its first blank. So it lacks the label that a
// policy may give to a limit ("@free#1 daily"). The key comes last, cut to kTopKeyBytesMax, as in
// RL.TOP, and may have any byte. A denial by a shadow limit is no event. A host asks for events
// only if a client may hear them. Not thread-safe. Cost: a hash for each limit that denies or
// crosses, and a string for each event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/instant.h"
#include "core/commands/percents.h"
#include "core/commands/recent_events.h"
#include "core/commands/request_grammar.h"
#include "core/rules/decision.h"
#include "core/words/request.h"

namespace weir {

struct CallRequest;
struct CallVerdict;

enum class EventKind : std::uint8_t { kDenied, kUsed };

// The channels of events, by kind; and the prefix of all channels that a server keeps for itself.
inline constexpr std::array<std::string_view, 2> kEventChannels = {"weir:denied", "weir:used"};
inline constexpr std::string_view kOwnChannelPrefix = "weir:";

struct DecisionEvent {
  EventKind kind;
  std::string message;

  // Returns the index of its channel in kEventChannels.
  [[nodiscard]] std::size_t index() const noexcept { return static_cast<std::size_t>(kind); }
  [[nodiscard]] std::string_view channel() const { return kEventChannels[index()]; }
};

// The events that are wanted.
struct EventTerms {
  Instant now;        // by the host's clock, not the time of a request with AT
  Nanos interval{0};  // 0: every denial
  Percents percents{};
  bool denied = true;  // the kinds
  bool used = true;
};

class DecisionEvents {
 public:
  // Of the messages that wait to be taken. Further events are dropped, and not noted as reported.
  static constexpr std::size_t kBytesMax = std::size_t{512} << 10;

  // Collects the events of a request that takes tokens. `times`: how many times RL.TAKE has taken
  // them, else 1.
  void Collect(const ParsedRequest& request, const Verdict& verdict, std::int64_t times,
               const EventTerms& terms);
  // A charge that RL.ALLOW would not have admitted is a denial, as in RL.STATS.
  void CollectCharge(const ParsedRequest& request, const Charged& charged, const EventTerms& terms);
  // Collects the denials of a call of Envoy's rate limit service, but for those of shadow rules.
  // `of_checks`: the limit of each check.
  void CollectCall(const CallRequest& call, std::span<CachedLimit* const> of_checks,
                   const CallVerdict& verdict, const EventTerms& terms);
  // A slice that is less than what was needed is a denial by the limits that had less; what was
  // granted is used.
  void CollectSlice(const ParsedRequest& request, const SliceGrant& slice, const EventTerms& terms);
  // Collects those of a CL.THROTTLE request.
  void CollectThrottle(const Check& check, const Verdict& verdict, const EventTerms& terms);

  [[nodiscard]] bool has_any() const noexcept { return !events_.empty(); }
  // Returns the events since the last call, in order.
  [[nodiscard]] std::vector<DecisionEvent> Take() {
    bytes_ = 0;
    return std::exchange(events_, {});
  }

 private:
  // A limit of a request, and its answer.
  struct Answer {
    const Check& check;
    std::string_view limit;  // without a blank
    const Decision& decision;
  };

  void AddDenied(const Answer& answer, const EventTerms& terms);
  // `there`: the tokens that were there before the request.
  void AddUsed(const Answer& answer, std::uint64_t there, const EventTerms& terms);
  [[nodiscard]] bool HasRoom(const Answer& answer) const noexcept;
  void Add(EventKind kind, std::string message);

  RecentEvents recent_;
  std::vector<DecisionEvent> events_;
  std::size_t bytes_ = 0;
};

}  // namespace weir
