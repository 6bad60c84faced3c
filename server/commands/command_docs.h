// The documentation of commands, made from their rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"

namespace weir {

// The flags of a command, as COMMAND INFO and docs/commands.md show them: "write", "denyoom", ...
[[nodiscard]] std::vector<std::string_view> FlagNames(const CommandSpec& spec);

// The text of docs/commands.md.
[[nodiscard]] std::string CommandsMarkdown();

}  // namespace weir
