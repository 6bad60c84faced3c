// Adds events to the log of the server (event_log.h), if it has one: tests may have none.
#pragma once

#include <string>
#include <string_view>

#include "server/health/event_log.h"

namespace weir {

struct Call;
struct Services;

// Adds an event of this moment. `who`: a user's name; empty: the server itself. Thread-safe.
void AddEvent(const Services& services, ServerEventKind kind, std::string_view who,
              std::string text);

// Adds a command that has succeeded: its user, and its words without secrets.
void AddCommandEvent(const Call& call, ServerEventKind kind);

}  // namespace weir
