// Clients that wait for their tokens (RL.WAIT).
#pragma once

#include "core/commands/request_grammar.h"
#include "core/plans/reservation.h"
#include "module/handlers/call.h"

namespace weir {

// Blocks the client of the call, and answers it when the reservation is ready. If the client
// disconnects before, or CLIENT UNBLOCK ends its wait, its tokens are given back.
void WaitFor(Call& call, const ParsedRequest& request, Reservation reservation);

}  // namespace weir
