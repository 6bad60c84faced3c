// The numbers of the page: /api/now, /api/history and /api/limits of the admin port.
//
// They are those of INFO and RL.STATS, and need the rights to these commands.
#pragma once

#include <cstddef>

#include "core/base/instant.h"
#include "server/observe/rate_history.h"
#include "server/session/services.h"

namespace weir {

// The most limits in /api/limits, the busiest first.
inline constexpr std::size_t kApiLimitsMax = 500;

// Lets the history take the present counts, if a second has begun.
void UpdateHistory(RateHistory& history, Services& services, Instant now);

}  // namespace weir
