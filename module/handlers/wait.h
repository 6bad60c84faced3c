// Clients that wait for their tokens, by RL.WAIT.
#pragma once

#include "core/limiter/reservation.h"
#include "core/words/request_grammar.h"
#include "module/handlers/call.h"

namespace weir {

// Blocks the client of the call, and answers it when the reservation is ready. A client that leaves
// before then, or that CLIENT UNBLOCK sends on, gives its tokens back.
void WaitFor(Call& call, const ParsedRequest& request, Reservation reservation);

}  // namespace weir
