// The categories of commands. A user's rights are given by category (server/access/user.h), and
// COMMAND INFO lists those of a command.
//
// @limit exists in weir only: the commands that an application needs to ask for decisions,
// including those that client libraries send on their own. The other categories are Redis's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"

namespace weir {

using CommandCategories = std::uint32_t;  // one bit per category
inline constexpr CommandCategories kEveryCategory = ~CommandCategories{0};

// The category of this name, in any case; "all" is every category. Unset if there is none.
[[nodiscard]] std::optional<CommandCategories> FindCategory(std::string_view name);

[[nodiscard]] CommandCategories CategoriesOf(const CommandSpec& spec);

// The names of the categories, without "@", and without "all".
[[nodiscard]] std::vector<std::string_view> CategoryNames(CommandCategories categories);

}  // namespace weir
