#include "server/commands/unknown_command.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "server/commands/command_table.h"

namespace weir {
namespace {

constexpr std::size_t kArgumentsBytesMax = 128;  // echoed bytes of an unknown command

}  // namespace

std::string UnknownCommand(std::span<const std::string_view> words) {
  const CommandSpec* const container = FindCommand(words[0]);
  if (container && !IsSubcommand(*container)) {
    return absl::StrCat("ERR unknown subcommand '", AbslView(words[1].substr(0, kQuotedBytesMax)),
                        "'. Try ", AbslView(container->name), " HELP.");
  }
  std::string arguments;
  for (const std::string_view word : words.subspan(1)) {
    if (arguments.size() >= kArgumentsBytesMax) break;
    const std::string_view head = word.substr(0, kArgumentsBytesMax - arguments.size());
    absl::StrAppend(&arguments, "'", AbslView(head), "' ");
  }
  return absl::StrCat("ERR unknown command '", AbslView(words[0].substr(0, kQuotedBytesMax)),
                      "', with args beginning with: ", arguments);
}

}  // namespace weir
