#include "server/health/event_log.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/os/log.h"

namespace weir {
namespace {

// Returns one printable line of at most `bytes_max` bytes; "..." ends one that is cut.
std::string Line(std::string_view text, std::size_t bytes_max) {
  constexpr std::size_t kDots = 3;
  std::string line = EscapedForLog(text, bytes_max - kDots);
  line.shrink_to_fit();
  return line;
}

}  // namespace

std::string_view WordOf(ServerEventKind kind) noexcept {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"start", "role", "health", "policy", "config", "users", "flush"});
  return kWords[static_cast<std::size_t>(kind)];
}

void EventLog::Add(ServerEvent event) {
  event.who = Line(event.who, kWhoMax);
  event.text = Line(event.text, kTextMax);
  const MutexLock lock(mutex_);
  const auto is_same = [&](const ServerEvent& one) { return one.kind == event.kind; };
  if (std::ranges::count_if(events_, is_same) == std::ptrdiff_t{kOfKindMax}) {
    events_.erase(std::ranges::find_if(events_, is_same));
  }
  events_.push_back(std::move(event));
}

std::vector<ServerEvent> EventLog::Since(std::int64_t time_ms) const {
  std::vector<ServerEvent> found;
  const MutexLock lock(mutex_);
  for (const ServerEvent& event : events_) {
    if (event.time_ms >= time_ms) found.push_back(event);
  }
  return found;
}

}  // namespace weir
