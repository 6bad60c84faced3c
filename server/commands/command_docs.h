// What people read of a command, made from its row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/session/call.h"

namespace weir {

// The words of a flag set, as COMMAND INFO and the documentation show them: "write", "denyoom", ...
[[nodiscard]] std::vector<std::string_view> FlagNames(const CommandSpec& spec);

// The whole of docs/commands.md.
[[nodiscard]] std::string CommandsMarkdown();

}  // namespace weir
