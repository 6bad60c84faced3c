// The commands that the module adds to the server: those that limit, from the rows that weir's own
// server has (core/commands/limit_commands.h), and RL.STATE, which replicas are told.
#pragma once

#include "core/commands/command_spec.h"
#include "module/api/redis_api.h"

namespace weir {

// handlers/state.cc
void RlState(Call& call);

// The row that RL.WAIT's late answers are given by.
[[nodiscard]] const CommandSpec& WaitRow();

// Adds all of them. Returns false, and logs, where the server does not take one.
[[nodiscard]] bool CreateCommands(redis::Context* context);

}  // namespace weir
