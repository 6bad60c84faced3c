// Reads a Decision from the reply to RL.ALLOW and to the commands that answer like it.
//
//     *5 or *6: granted, remaining, retry after ms or -1, reset after ms, limit, rows
//     a row: name, allowed, count, remaining, retry after ms or -1, reset after ms, group, cost,
//     keep, and what later versions add
#pragma once

#include "weir/core/request.h"
#include "weir/decision.h"
#include "weir/reply.h"

namespace weir::client {

// Throws Mistake for another reply.
[[nodiscard]] Decision ReadDecision(const Reply& reply, const Request& request);

// The same for the reply to RL.SLICE, whose times are in us, and whose rows are left out:
//
//     *8: granted, remaining, retry after us or -1, reset after us, limit, life us, changes, rows
[[nodiscard]] Decision ReadSlice(Reply reply, const Request& request);

}  // namespace weir::client
