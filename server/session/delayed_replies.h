// The replies of a session's turn that wait, in their order, and what takes their place when the
// waits have ended: for a save, and for replicas that acknowledge a change (ack-replicas).
//
// Not thread safe. A reply costs a few words, of which kDelayedKept stay allocated between turns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/check.h"

namespace weir {

// What a reply, or those of a turn, must wait for.
struct Awaited {
  // A save because of a change, a save that was asked for, or a reply that the thread of saves
  // writes at the end of one. Of several, the last in this order counts.
  enum class Save : std::uint8_t { kNone, kOfChange, kAsked, kLateReply };

  Save save = Save::kNone;
  std::size_t acks = 0;  // the replicas that must acknowledge a change

  void Add(const Awaited& other) {
    save = std::max(save, other.save);
    acks = std::max(acks, other.acks);
  }
  [[nodiscard]] bool any() const { return acks > 0 || save != Save::kNone; }
};

// How the waits of a turn have ended.
struct WaitOutcome {
  absl::Status saved{};         // of the save; OK if none was awaited
  bool fails_changes = false;   // a save that has failed concerns the replies to changes, too
  std::size_t acks_missed = 0;  // not 0: fewer replicas than that have acknowledged in time
};

// Why a reply is replaced.
enum class Replaced : std::uint8_t { kByLateReply, kUnsaved, kUnacknowledged };

// The reply to a command that the thread of saves executes. That thread writes it before the save
// has ended that the connection waits for.
struct LateReply {
  std::string bytes;
  std::string error;  // with its prefix; if there is one, it is the reply
};

inline constexpr std::size_t kDelayedKept = 64;

// `Origin`: the part of a request that its replacement depends on.
template <typename Origin>
class DelayedReplies {
 public:
  // Adds the bytes from `begin` to `end` of the output. Requires: something is awaited, there are
  // bytes, and the replies added before end at or before `begin`.
  void Add(std::size_t begin, std::size_t end, Awaited awaited, Origin origin) {
    WEIR_CHECK(awaited.any());
    WEIR_CHECK(begin < end);
    WEIR_CHECK(replies_.empty() || replies_.back().end <= begin);
    awaited_.Add(awaited);
    replies_.push_back({begin, end, awaited, std::move(origin)});
  }

  // Begins another turn.
  void Clear() {
    replies_.clear();
    awaited_ = {};
  }
  // Frees the memory of a turn with many replies, and may forget them. Requires: they are sent.
  void GiveBack() {
    if (replies_.capacity() > kDelayedKept) replies_ = std::vector<Reply>();
  }

  // The beginning of the first reply; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> begin() const {
    return replies_.empty() ? std::nullopt : std::optional(replies_.front().begin);
  }

  // What all of them wait for.
  [[nodiscard]] const Awaited& awaited() const noexcept { return awaited_; }

  // Replaces the late replies, and those that `outcome` makes wrong. `output`: the output from
  // begin() on. write(origin, reply, why, out) appends what takes the place of a reply. Requires:
  // there are replies, since the output waited for them.
  template <typename Writer>
  void Replace(std::string& output, const WaitOutcome& outcome, Writer write) const {
    WEIR_CHECK(!replies_.empty());
    WEIR_CHECK(replies_.back().end - replies_.front().begin <= output.size());
    std::string replaced;
    std::size_t copied = 0;
    for (const Reply& reply : replies_) {
      const std::optional<Replaced> why = WhyReplaced(reply.awaited, outcome);
      if (!why) continue;
      const std::size_t begin = reply.begin - replies_.front().begin;
      const std::size_t size = reply.end - reply.begin;
      replaced.append(output, copied, begin - copied);
      write(reply.origin, std::string_view(output).substr(begin, size), *why, replaced);
      copied = begin + size;
    }
    replaced.append(output, copied);
    output = std::move(replaced);
  }

 private:
  struct Reply {
    std::size_t begin;
    std::size_t end;
    Awaited awaited;
    Origin origin;
  };

  static std::optional<Replaced> WhyReplaced(const Awaited& awaited, const WaitOutcome& outcome) {
    using Save = Awaited::Save;
    if (awaited.save == Save::kLateReply) return Replaced::kByLateReply;
    const bool is_concerned =
        awaited.save == Save::kAsked || (awaited.save == Save::kOfChange && outcome.fails_changes);
    if (is_concerned && !outcome.saved.ok()) return Replaced::kUnsaved;
    if (awaited.acks > 0 && outcome.acks_missed > 0) return Replaced::kUnacknowledged;
    return std::nullopt;
  }

  std::vector<Reply> replies_;
  Awaited awaited_;
};

}  // namespace weir
