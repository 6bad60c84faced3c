// What people read of a command, made from its row: the syntax line and docs/commands.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/command.h"

namespace weir {

// "RL.ALLOW key limit [limit ...] [COST cost] [AND ...] [WITHLIMITS] [AT unix-time]"
[[nodiscard]] std::string CommandSyntax(const CommandSpec& spec);

// The words of a flag set, as COMMAND INFO and the documentation show them: "write", "denyoom", ...
[[nodiscard]] std::vector<std::string_view> FlagNames(const CommandSpec& spec);

// The whole of docs/commands.md.
[[nodiscard]] std::string CommandsMarkdown();

}  // namespace weir
