// The replies of a session's turn that wait for a save, in their order, and what takes their place
// when it has ended.
//
// Not thread safe. A reply costs a few words, of which kUnsavedKept stay allocated between turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"

namespace weir {

// What a reply must wait for: a save, or a reply that the thread of saves writes at its end.
enum class Awaited : std::uint8_t { kNothing, kSaveOfChange, kSave, kLateReply };

// The reply to a command that the thread of saves executes. That thread writes it before the save
// has ended that the connection waits for.
struct LateReply {
  std::string bytes;
  std::string error;  // with its prefix; if there is one, it is the reply
};

inline constexpr std::size_t kUnsavedKept = 64;

// `Origin`: the part of a request that its replacement depends on.
template <typename Origin>
class UnsavedReplies {
 public:
  // Adds the bytes from `begin` to `end` of the output. Requires: something is awaited, and the
  // replies added before end at or before `begin`.
  void Add(std::size_t begin, std::size_t end, Awaited awaited, Origin origin) {
    WEIR_CHECK(awaited != Awaited::kNothing);
    WEIR_CHECK(replies_.empty() || replies_.back().end <= begin);
    has_late_reply_ = has_late_reply_ || awaited == Awaited::kLateReply;
    replies_.push_back({begin, end, awaited, std::move(origin)});
  }

  // Begins another turn.
  void Clear() {
    replies_.clear();
    has_late_reply_ = false;
  }
  // Frees the memory of a turn with many replies, and may forget them. Requires: they are sent.
  void GiveBack() {
    if (replies_.capacity() > kUnsavedKept) replies_ = std::vector<Reply>();
  }

  // The beginning of the first reply; nothing if there is none.
  [[nodiscard]] std::optional<std::size_t> begin() const {
    return replies_.empty() ? std::nullopt : std::optional(replies_.front().begin);
  }

  [[nodiscard]] bool has_late_reply() const noexcept { return has_late_reply_; }

  // Replaces the late replies; if the save has failed, those to SAVE, too, and with `changes` those
  // to changes. `output`: the output from begin() on. write(origin, reply, out) appends what takes
  // the place of a reply.
  template <typename Writer>
  void Replace(std::string& output, bool saved, bool changes, Writer write) const {
    std::string replaced;
    std::size_t copied = 0;
    for (const Reply& reply : replies_) {
      if (saved && reply.awaited != Awaited::kLateReply) continue;
      if (reply.awaited == Awaited::kSaveOfChange && !changes) continue;
      const std::size_t begin = reply.begin - replies_.front().begin;
      const std::size_t size = reply.end - reply.begin;
      replaced.append(output, copied, begin - copied);
      write(reply.origin, std::string_view(output).substr(begin, size), replaced);
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
  bool has_late_reply_ = false;
};

}  // namespace weir
