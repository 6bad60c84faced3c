// The table of all commands, and the look-up of the row that a client's words name.
#pragma once

#include <span>
#include <string_view>

#include "core/commands/command_spec.h"

namespace weir {

// All rows, sorted by name, so that a container's subcommands follow it.
[[nodiscard]] std::span<const CommandSpec> CommandTable() noexcept;

// What a call of Envoy's rate limit service counts as. No client sends it, so it is no row.
[[nodiscard]] const CommandSpec& RateLimitCallSpec() noexcept;

// The row of "ping" or "client|id", in any case; null if there is none.
[[nodiscard]] const CommandSpec* FindCommand(std::string_view name) noexcept;

// The row of a container's subcommand; null if there is none.
[[nodiscard]] const CommandSpec* FindSubcommand(const CommandSpec& container,
                                                std::string_view subcommand) noexcept;

// The row that runs a request of these words: for a container with a second word, that of the
// subcommand. Null if there is none.
[[nodiscard]] const CommandSpec* FindRequested(std::span<const std::string_view> words) noexcept;

// The rows of a container's subcommands.
[[nodiscard]] std::span<const CommandSpec> SubcommandsOf(const CommandSpec& container) noexcept;

[[nodiscard]] inline bool IsSubcommand(const CommandSpec& spec) noexcept {
  return spec.Is(kSubcommand);
}

}  // namespace weir
