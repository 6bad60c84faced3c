// The commands that the module adds to Redis: those of core/commands/limit_commands.h and
// hold_commands.h, whose rows weir's own server has, too, and RL.STATE, which is sent to replicas.
#pragma once

#include <span>

#include "core/commands/command_spec.h"
#include "module/api/redis_api.h"

namespace weir {

// handlers/state.cc
void RlState(Call& call);

// The commands for clients, sorted by name: all but RL.STATE.
[[nodiscard]] std::span<const CommandSpec> ClientCommands();

// The row of RL.WAIT, for its late answers.
[[nodiscard]] const CommandSpec& WaitRow();

// Adds all commands. Returns false, and logs, if the server refuses one.
[[nodiscard]] bool CreateCommands(redis::Context* context);

}  // namespace weir
