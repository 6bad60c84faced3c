// The categories of commands, by which users are allowed them (user.h), and which COMMAND tells.
//
// @limit is ours: all that an application needs that asks for decisions, whatever its client
// library sends besides. The others are Redis's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/commands/command_spec.h"

namespace weir {

using CommandCategories = std::uint32_t;  // a bit each
inline constexpr CommandCategories kEveryCategory = ~CommandCategories{0};

// "limit", in any case; "all" is every one. Nothing: there is none of that name.
[[nodiscard]] std::optional<CommandCategories> FindCategory(std::string_view name);

[[nodiscard]] CommandCategories CategoriesOf(const CommandSpec& spec);

// Their names, without the "@", "all" not among them.
[[nodiscard]] std::vector<std::string_view> CategoryNames(CommandCategories categories);

}  // namespace weir
