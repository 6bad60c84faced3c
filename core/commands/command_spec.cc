#include "core/commands/command_spec.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"

namespace weir {
std::string LowerName(const CommandSpec& spec) {
  return absl::AsciiStrToLower(AbslView(spec.name));
}

std::string WrongArity(const CommandSpec& spec) {
  return absl::StrCat("ERR wrong number of arguments for '", LowerName(spec), "' command");
}

}  // namespace weir
