// SLOWLOG: the latest commands that took long, in bounded memory.
//
//     SlowLog log(std::chrono::milliseconds{10}, 128);
//     if (log.IsSlow(elapsed)) log.Add({.at = now, .duration = elapsed, ...});
//     log.Latest(10)                                            // newest first
//
// Thread-safe. IsSlow costs one relaxed load; an entry costs a lock and at most 6 KiB.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/instant.h"
#include "core/base/mutex.h"

namespace weir {

class SlowLog {
 public:
  // The bounds of Redis.
  static constexpr std::size_t kArgumentsMax = 32;  // the last one says how many are left out
  static constexpr std::size_t kArgumentBytesMax = 128;

  struct Entry {
    std::uint64_t id = 0;  // set by Add: 0, 1, ... in the order in which the commands ended
    Instant at{};
    Nanos duration{0};
    std::vector<std::string> arguments;  // the command's name first; cut
    std::string address;                 // of the client
    std::string client_name;             // empty: the client has none
  };

  // A command is slow if it takes `threshold` or longer; without a threshold, none is.
  SlowLog(std::optional<Nanos> threshold, std::size_t length_max);

  void set_threshold(std::optional<Nanos> threshold) noexcept;
  // Drops the oldest entries if there are more than `length_max`.
  void set_length_max(std::size_t length_max);

  [[nodiscard]] bool IsSlow(Nanos duration) const noexcept {
    return duration.count() >= threshold_ns_.load(std::memory_order_relaxed);
  }
  void Add(Entry entry);

  // At most `count` entries, newest first. Ends with the entry that makes the reply exceed
  // `bytes_max`.
  [[nodiscard]] std::vector<Entry> Latest(
      std::size_t count, std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) const;
  [[nodiscard]] std::size_t size() const;
  // Removes all entries; ids continue.
  void Reset();

  // The arguments of an entry: the first kArgumentsMax, each cut to kArgumentBytesMax.
  [[nodiscard]] static std::vector<std::string> Cut(std::span<const std::string_view> words);

 private:
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::atomic<Nanos::rep> threshold_ns_;
  mutable Mutex mutex_;
  std::size_t length_max_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Entry> entries_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace weir
