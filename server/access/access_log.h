// The last refusals, for ACL LOG: wrong passwords, and commands, keys and channels that a
// user may not use.
//
// Refusals with the same user, reason, object and context within kSameTime of each other are one
// entry with a count. As in Redis, only the kLookedAtMax latest entries are compared. An entry has
// no password and is bounded: the object is cut to kObjectBytesMax, and the other fields are
// bounded where they come from (about 1 KiB).
//
// Thread-safe. Adding an entry costs a lock and about a microsecond.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

class AccessLog {
 public:
  static constexpr std::size_t kEntriesMax = 128;
  static constexpr std::size_t kLookedAtMax = 10;
  static constexpr Nanos kSameTime = std::chrono::seconds{60};
  static constexpr std::size_t kObjectBytesMax = 128;

  enum class Reason : std::uint8_t { kPassword, kCommand, kKey, kChannel };
  // Redis's words for the reasons.
  static constexpr std::array<std::string_view, 4> kReasonNames = {"auth", "command", "key",
                                                                   "channel"};
  using Counts = std::array<std::uint64_t, kReasonNames.size()>;  // by reason
  struct Entry {
    Reason reason;
    bool in_transaction = false;
    std::string object;  // the name of the command, key or channel
    std::string user;
    std::string client;  // the client's line of CLIENT LIST at the last refusal
    HostInstant last;    // the time of the last refusal
    std::uint64_t count = 1;

    [[nodiscard]] bool IsLike(const Entry& other) const;
  };

  void Add(Entry entry);
  // At most `max` entries, the latest first.
  [[nodiscard]] std::vector<Entry> Latest(std::size_t max) const;
  void Clear();
  // The number of refusals since the start, which Clear() does not change.
  [[nodiscard]] Counts counts() const;

 private:
  mutable Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the latest first
  Counts counts_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace weir
