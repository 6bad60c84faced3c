// SLOWLOG: the latest commands that took long, in bounded memory.
//
//     SlowLog log(std::chrono::milliseconds{10}, 128);
//     if (log.IsSlow(elapsed)) log.Add({.at = now, .duration = elapsed, ...});
//     log.Latest(10)                                            // newest first
//
// Thread-safe. IsSlow costs one relaxed load; an entry a lock, and 6 KiB at most.
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
  // As Redis has them.
  static constexpr std::size_t kArgumentsMax = 32;  // the last says how many more there were
  static constexpr std::size_t kArgumentBytesMax = 128;

  struct Entry {
    std::uint64_t id = 0;  // from 0 on, in the order of their ends; Add gives it
    Instant at{};
    Nanos duration{0};
    std::vector<std::string> arguments;  // the command's name first; cut
    std::string address;                 // of the client
    std::string client_name;             // empty: it has none
  };

  // `threshold`: what takes so long is slow; nothing: nothing is.
  SlowLog(std::optional<Nanos> threshold, std::size_t length_max);

  void set_threshold(std::optional<Nanos> threshold) noexcept;
  // Drops the oldest entries, where there are more.
  void set_length_max(std::size_t length_max);

  [[nodiscard]] bool IsSlow(Nanos duration) const noexcept {
    return duration.count() >= threshold_ns_.load(std::memory_order_relaxed);
  }
  void Add(Entry entry);

  // Newest first, `count` at most; the one that goes over `bytes_max` of a reply is the last.
  [[nodiscard]] std::vector<Entry> Latest(
      std::size_t count, std::size_t bytes_max = std::numeric_limits<std::size_t>::max()) const;
  [[nodiscard]] std::size_t size() const;
  // Forgets all entries; ids go on.
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
