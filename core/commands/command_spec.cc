#include "core/commands/command_spec.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/status.h"

namespace weir {
namespace {

std::string ArgumentSyntax(const ArgumentSpec& argument);

std::string PartsSyntax(std::span<const ArgumentSpec> parts, std::string_view separator) {
  std::string syntax;
  for (const ArgumentSpec& part : parts) {
    if (!syntax.empty()) absl::StrAppend(&syntax, AbslView(separator));
    absl::StrAppend(&syntax, ArgumentSyntax(part));
  }
  return syntax;
}

std::string ArgumentSyntax(const ArgumentSpec& argument) {
  std::string syntax;
  switch (argument.type) {
    case ArgumentSpec::Type::kToken:
      break;
    case ArgumentSpec::Type::kOneOf:
      syntax = PartsSyntax(argument.parts, "|");
      break;
    case ArgumentSpec::Type::kBlock:
      syntax = PartsSyntax(argument.parts, " ");
      break;
    default:
      syntax = std::string(argument.name);
  }
  if (!argument.token.empty()) {
    syntax = absl::StrCat(AbslView(argument.token), syntax.empty() ? "" : " ", syntax);
  }
  if (argument.multiple && argument.optional) return absl::StrCat("[", syntax, " ...]");
  if (argument.multiple) return absl::StrCat(syntax, " [", syntax, " ...]");
  if (argument.optional) return absl::StrCat("[", syntax, "]");
  return syntax;
}

}  // namespace

std::string CommandSyntax(const CommandSpec& spec) {
  const std::string parts = PartsSyntax(spec.arguments, " ");
  return absl::StrCat(absl::StrReplaceAll(AbslView(spec.name), {{"|", " "}}),
                      parts.empty() ? "" : " ", parts);
}

std::string LowerName(const CommandSpec& spec) {
  return absl::AsciiStrToLower(AbslView(spec.name));
}

std::string WrongArity(const CommandSpec& spec) {
  return absl::StrCat("ERR wrong number of arguments for '", LowerName(spec), "' command");
}

}  // namespace weir
