// The log of events: what happened to the server, and who did it.
//
//     EventLog& log = watch.events();            // health_watch.h
//     log.Add({.time_ms = 1700000000000, .kind = ServerEventKind::kConfig,
//              .who = "admin", .text = "CONFIG SET max-memory 1gb"});
//     log.Since(from_ms)                         // the oldest first
//
// The log is in memory alone: a restart begins an empty one. It is for people who ask why a curve
// bends. Many events of one kind, such as overrides that a program sets, push out no other kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"

#include "core/base/mutex.h"

namespace weir {

enum class ServerEventKind : std::uint8_t {
  kStart,   // the server has started
  kRole,    // it is the primary, or follows one
  kHealth,  // a reason of the verdict begins, or is over (health.h)
  kPolicy,  // a policy, an override or the policy file
  kConfig,  // an option was set
  kUsers,   // the users file was read
  kFlush,   // all buckets were dropped
};
[[nodiscard]] std::string_view WordOf(ServerEventKind kind) noexcept;  // "start", "role", ...

struct ServerEvent {
  std::int64_t time_ms = 0;  // since 1970, by the wall clock when it happened
  ServerEventKind kind = ServerEventKind::kStart;
  std::string who{};   // the user's name; empty: the server itself
  std::string text{};  // one line without control bytes, kTextMax bytes at most

  friend bool operator==(const ServerEvent&, const ServerEvent&) = default;
};

// Thread-safe. Memory: 70 KB at most.
class EventLog {
 public:
  static constexpr std::size_t kOfKindMax = 36;  // then the oldest of the kind goes
  static constexpr std::size_t kWhoMax = 64;     // bytes; a longer text ends in "..."
  static constexpr std::size_t kTextMax = 120;

  void Add(ServerEvent event);
  // The events of this time and later, in the order in which they were added.
  [[nodiscard]] std::vector<ServerEvent> Since(std::int64_t time_ms) const;

 private:
  mutable Mutex mutex_;
  std::deque<ServerEvent> events_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weir
