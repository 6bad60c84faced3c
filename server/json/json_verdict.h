// A verdict as JSON, with the numbers and the names of RL.ALLOW's reply.
//
//     {"allowed":true,"remaining":9,"retry_after_ms":0,"reset_after_ms":3600,"limit":0}
//
// A request with OR adds "alternative": the index of the one that was charged, -1 in a denial.
// RL.TAKE adds "granted" behind "allowed"; RL.COMMIT and RL.CANCEL have "settled" in its place.
// WITHLIMITS adds an array "limits" at the end, with an object for each limit: its name and
// kDecisionFields. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/commands/reply_numbers.h"
#include "core/commands/request_grammar.h"
#include "core/commands/settlement_grammar.h"
#include "core/limiter/hold_request.h"
#include "core/rules/decision.h"

namespace weir {

// `first`: as VerdictReader::Read gets it.
void AppendJsonVerdict(const ParsedRequest& request, std::int64_t first, const Verdict& verdict,
                       std::string& out);

// The arguments: as VerdictReader::ReadSettled gets them.
void AppendJsonSettled(const ParsedSettlement& request, const Settled& settled,
                       std::span<const AskedLimit> limits, std::string& out);

}  // namespace weir
