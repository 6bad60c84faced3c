// The last refusals, for ACL LOG: passwords that were wrong, commands and keys that a user may not
// use.
//
// Those of the same user, for the same reason, of the same thing and in the same context are one
// entry that counts, while they come within kSameTime of each other; they are looked for among the
// kLookedAtMax latest, as Redis does. No password is in an entry, and it has a bound: the object is
// cut to kObjectBytesMax, all else is bounded where it comes from (about 1 KiB).
//
// Thread-safe. To note one costs a lock and about a microsecond.
#pragma once

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

  enum class Reason : std::uint8_t { kPassword, kCommand, kKey };
  struct Entry {
    Reason reason;
    bool in_transaction = false;
    std::string object;  // the command's name, or the key
    std::string user;
    std::string client;  // its line of CLIENT LIST, the last time
    Instant last;        // when that was
    std::uint64_t count = 1;

    [[nodiscard]] bool IsLike(const Entry& other) const;
  };

  void Add(Entry entry);
  // The latest first, `max` at most.
  [[nodiscard]] std::vector<Entry> Latest(std::size_t max) const;
  void Clear();

 private:
  mutable Mutex mutex_;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // the latest first
};

}  // namespace weir
