// A command's documentation, made from its row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"

namespace weir {

// The words of a flag set, as COMMAND INFO and the documentation show them: "write", "denyoom", ...
[[nodiscard]] std::vector<std::string_view> FlagNames(const CommandSpec& spec);

// The whole of docs/commands.md.
[[nodiscard]] std::string CommandsMarkdown();

}  // namespace weir
