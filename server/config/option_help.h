// The groups of the options, and the text of `weir-server --help`: group by group, each begun by
// its two most used options. The manual pages have the same order.
//
// Pure; thread-safe. Tested by option_help_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "server/config/options.h"

namespace weir {

// Help for the words that are no rows of the table.
inline constexpr const char* kHelpHelp = "Prints the options, or those of one group, and exits.";
inline constexpr const char* kVersionHelp = "Prints the version and exits.";
inline constexpr const char* kPingHelp =
    "Asks a running server whether it answers, and exits with 0 or 1: the one that the other "
    "options describe, or the one at ADDRESS (HOST:PORT, an IPv6 address with the port of the "
    "options, or the path of a Unix socket).";

struct OptionGroupTitle {
  OptionGroup group;
  std::string_view word;  // of `--help WORD`
  std::string_view title;
};
// In the order of --help.
[[nodiscard]] std::span<const OptionGroupTitle> OptionGroups() noexcept;

// The options of a group, in the order of --help.
[[nodiscard]] std::vector<const OptionSpec*> OptionsOf(OptionGroup group);

// The default value as an operator would type it, 64mb, 60s or no; empty if there is none.
[[nodiscard]] std::string FallbackText(const OptionSpec& spec);

// The text of --help: all of it, or the group of this word. Lines have at most 100 columns. Fails
// with kInvalidArgument and one line if there is no such group.
[[nodiscard]] absl::StatusOr<std::string> HelpText(std::string_view word = "");

}  // namespace weir
