// The replies of a session's turn that wait: for a save, for replicas that acknowledge a change
// (ack-replicas), or for an edge's primary. ReplyDelay collects what the reply to one command waits
// for, DelayedReplies has the replies of a turn, in their order, and replaces them when their waits
// have ended.
//
//     delay.AwaitChange();                                        // the command, which ends
//     if (delay.any()) delayed.Add(begin, out.size(), delay.Take(), origin);
//     ...                                                         // the connection waits
//     delayed.Replace(output, outcome, write);
//
// Not thread safe. A reply costs a few words, of which kDelayedKept stay allocated between turns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/check.h"

namespace weir {

class AckWait;
class ClientRecord;
struct Services;

// What a reply, or those of a turn, must wait for.
struct Awaited {
  // A save because of a change, a save that was asked for, a reply that the thread of saves writes
  // at the end of one, or, at an edge, which never saves, a reply of its primary. Of several, the
  // last in this order counts.
  enum class Save : std::uint8_t { kNone, kOfChange, kAsked, kLateReply, kUpstream };

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

// Why a reply that awaited this is replaced; nothing if it is not.
[[nodiscard]] inline std::optional<Replaced> WhyReplaced(const Awaited& awaited,
                                                         const WaitOutcome& outcome) {
  using Save = Awaited::Save;
  if (awaited.save >= Save::kLateReply) return Replaced::kByLateReply;
  const bool is_concerned =
      awaited.save == Save::kAsked || (awaited.save == Save::kOfChange && outcome.fails_changes);
  if (is_concerned && !outcome.saved.ok()) return Replaced::kUnsaved;
  if (awaited.acks > 0 && outcome.acks_missed > 0) return Replaced::kUnacknowledged;
  return std::nullopt;
}

// The reply to a command that the thread of saves executes, or an edge's primary. That thread
// writes it before the save has ended that the connection waits for; a primary's is written on the
// thread of the client, who is woken then.
struct LateReply {
  std::string bytes;
  std::string error;      // with its prefix; if there is one, it is the reply
  bool is_there = false;  // of a primary's: it has come
};

// What delays the reply to a client's present command, and the last change that the client has
// made.
class ReplyDelay {
 public:
  // `record`: of the client that waits.
  ReplyDelay(Services& services, std::shared_ptr<ClientRecord> record)
      : services_(services), record_(std::move(record)) {}

  void AwaitSave() noexcept { awaited_.Add({.save = Awaited::Save::kAsked}); }
  // The thread of saves writes the reply.
  void AwaitLateReply(std::shared_ptr<const LateReply> reply) noexcept {
    awaited_.Add({.save = Awaited::Save::kLateReply});
    late_reply_ = std::move(reply);
  }
  // The primary of this edge gives the reply.
  void AwaitUpstream(std::shared_ptr<const LateReply> reply) noexcept {
    awaited_.Add({.save = Awaited::Save::kUpstream});
    late_reply_ = std::move(reply);
  }
  // The reply depends on a change of the disk that replicas need not have: with --durability always
  // it waits for a save.
  void AwaitSaveOfChange() noexcept;
  // The command may have changed the state: with --ack-replicas the reply waits for replicas, too.
  void AwaitChange() noexcept;
  // Begins a wait for that many replicas to have the client's last change. It may be over already.
  // Requires: the server has replication.
  [[nodiscard]] std::shared_ptr<AckWait> AwaitAcksOfLastChange(std::size_t needed);

  [[nodiscard]] bool any() const noexcept { return awaited_.any(); }
  // Return what the reply waits for, and forget it: the command has ended.
  [[nodiscard]] Awaited Take() noexcept { return std::exchange(awaited_, {}); }
  [[nodiscard]] std::shared_ptr<const LateReply> TakeLateReply() noexcept {
    return std::exchange(late_reply_, nullptr);
  }
  // Ends a turn. Returns true if its commands may have changed the state.
  [[nodiscard]] bool EndTurn() noexcept {
    if (changed_ != Changed::kInTurn) return false;
    changed_ = Changed::kBefore;
    return true;
  }

 private:
  enum class Changed : std::uint8_t { kNo, kBefore, kInTurn };

  Services& services_;
  const std::shared_ptr<ClientRecord> record_;
  Awaited awaited_;
  std::shared_ptr<const LateReply> late_reply_;  // may be null
  Changed changed_ = Changed::kNo;               // since last_change_, and in the present turn
  std::shared_ptr<AckWait> last_change_;  // the last WAIT for changes; null: none was waited for
};

inline constexpr std::size_t kDelayedKept = 64;

// `Origin`: the part of a request that its replacement depends on.
template <typename Origin>
class DelayedReplies {
 public:
  // Adds the bytes from `begin` to `end` of the output. Requires: something is awaited, and the
  // replies added before end at or before `begin`.
  void Add(std::size_t begin, std::size_t end, Awaited awaited, Origin origin) {
    WEIR_CHECK(awaited.any());
    WEIR_CHECK(begin <= end);
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
  void ShrinkBuffers() {
    if (replies_.capacity() > kDelayedKept) replies_ = std::vector<Reply>();
  }

  // The beginning of the first reply; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> begin() const {
    return replies_.empty() ? std::nullopt : std::optional(replies_.front().begin);
  }

  // True if the origins of all replies meet a condition, which is asked of the last one first.
  [[nodiscard]] bool AllOf(auto condition) const {
    return std::all_of(replies_.rbegin(), replies_.rend(),
                       [&](const Reply& reply) { return condition(reply.origin); });
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

  std::vector<Reply> replies_;
  Awaited awaited_;
};

}  // namespace weir
