#include "server/health/add_event.h"

#include <chrono>
#include <utility>

#include "server/commands/redaction.h"
#include "server/health/health_watch.h"
#include "server/session/call.h"
#include "server/session/services.h"

namespace weir {

void AddEvent(const Services& services, ServerEventKind kind, std::string_view who,
              std::string text) {
  if (!services.health_watch) return;
  const Nanos wall = services.clock.HostNow().time_since_epoch() + services.host_clock_offset();
  services.health_watch->events().Add(
      {.time_ms = std::chrono::floor<std::chrono::milliseconds>(wall).count(),
       .kind = kind,
       .who = std::string(who),
       .text = std::move(text)});
}

void AddCommandEvent(const Call& call, ServerEventKind kind) {
  std::string text;
  for (const std::string_view word : RedactedWords(call.spec, call.words)) {
    if (!text.empty()) text += ' ';
    text += Truncated(word, EventLog::kTextMax);
    if (text.size() > EventLog::kTextMax) break;
  }
  AddEvent(call.services(), kind, call.client().user() ? call.client().user()->name() : "",
           std::move(text));
}

}  // namespace weir
