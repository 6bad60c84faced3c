// The rows of the commands about holds, which the server and the module have.
#pragma once

#include <array>

#include "core/commands/command_spec.h"
#include "core/commands/hold_handlers.h"
#include "core/commands/limit_commands.h"
#include "core/commands/limit_examples.h"

namespace weir::rows {

using HoldRowHandlers = HoldHandlers<LimitHost>;

inline constexpr std::array kHoldCommands = {
    CommandSpec{
        .name = "RL.CANCEL",
        .arity = AtLeast(2),
        .flags = kWrite | kFast | kAndKeys | kAlwaysChanges | kApplication | kEdgePasses,
        .work = kSettleWork,
        .keys = kOneKey,
        .group = "limit",
        .since = "0.2.0",
        .complexity = "O(limits * log(holds))",
        .summary =
            "Returns what a hold took from these keys and time has not returned already, like "
            "RL.COMMIT with a cost of 0. The expiry of a hold does the same.",
        .syntax = "key [AND (key) ...] HOLD id [WITHLIMITS] [AT unix-time-ns]",
        .examples = examples::kCancel,
        .handler = HoldRowHandlers::Cancel},
    CommandSpec{
        .name = "RL.COMMIT",
        .arity = AtLeast(2),
        .flags = kWrite | kFast | kAndKeys | kAlwaysChanges | kApplication | kEdgePasses,
        .work = kSettleWork,
        .keys = kOneKey,
        .group = "limit",
        .since = "0.2.0",
        .complexity = "O(limits * log(holds))",
        .summary =
            "Settles a hold: the costs of the limits that are named become the true ones, the "
            "others stay, and held limits get their tokens back. Answers 1 if the hold is settled, "
            "by this command or before, and 0 if there is no such hold, and then nothing changes. "
            "The other numbers are those of RL.CHARGE.",
        .syntax = "key [limit ...] [COST cost] [AND (key [limit ...] [COST cost]) ...] HOLD id "
                  "[WITHLIMITS] [AT unix-time-ns]",
        .examples = examples::kCommit,
        .handler = HoldRowHandlers::Commit},
    CommandSpec{
        .name = "RL.RESERVE",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kAndKeys | kApplication | kEdgePasses,
        .keys = kOneKey,
        .group = "limit",
        .since = "0.2.0",
        .complexity = "O(limits * log(holds))",
        .summary =
            "Takes tokens as RL.ALLOW does, and holds them under an id of the client's: for TTL ms "
            "RL.COMMIT may replace the estimate with the true cost, and RL.CANCEL or the end of "
            "the TTL gives them back. The same words again charge nothing and begin the TTL again. "
            "Only this command, and RL.TAKE with HOLD, take from held limits such as 5,held.",
        .syntax = "key limit [limit ...] [COST cost] [AND (key limit [limit ...] [COST cost]) ...] "
                  "[OR (key limit [limit ...] [COST cost] "
                  "[AND (key limit [limit ...] [COST cost]) ...]) ...] "
                  "HOLD id TTL milliseconds [WITHLIMITS] [AT unix-time-ns]",
        .examples = examples::kReserve,
        .handler = HoldRowHandlers::Reserve},
    CommandSpec{
        .name = "RL.SLICE",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kApplication | kEdgePasses,
        .keys = kOneKey,
        .group = "limit",
        .since = "0.2.0",
        .complexity = "O(limits * log(holds))",
        .summary =
            "Takes units that a client spends for a while without asking: those that it needs now, "
            "and some ahead, as much as the limits can spare. Answers granted, remaining, "
            "retry_after_us (until UNIT units are there, -1: never), reset_after_us, which limit "
            "decided, life_us (how long they may be spent, counted from when the request was "
            "sent; 0: not ahead), changes (a counter of what operators have changed), and a row "
            "for each limit. RL.COMMIT returns what is left; at the end of the life nothing comes "
            "back.",
        .syntax = "key limit [limit ...] [COST cost] NEED units UNIT units UPTO units "
                  "HOLD id TTL milliseconds [AT unix-time-ns]",
        .examples = examples::kSlice,
        .handler = HoldRowHandlers::Slice},
};

}  // namespace weir::rows
