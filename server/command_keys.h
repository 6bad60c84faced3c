// Where the keys are in the words of a request.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "server/command.h"

namespace weir {

// At the row's positions, and in a command that decides behind each AND. `words`: the whole
// request, the command's name first. Requires: the row's arity allows them.
[[nodiscard]] std::vector<std::string_view> KeysIn(const CommandSpec& spec,
                                                   std::span<const std::string_view> words);

}  // namespace weir
