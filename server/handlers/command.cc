// COMMAND: describes the command table to clients, in the replies of Redis 7.
#include <array>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "core/commands/command_keys.h"
#include "core/commands/command_syntax.h"
#include "core/commands/replies.h"
#include "protocol/arg_reader.h"
#include "server/access/glob.h"
#include "server/commands/command_category.h"
#include "server/commands/command_docs.h"
#include "server/commands/command_table.h"
#include "server/commands/handlers.h"
#include "server/session/call.h"

namespace weir {
namespace {

std::vector<const CommandSpec*> TopLevelCommands() {
  std::vector<const CommandSpec*> commands;
  for (const CommandSpec& spec : CommandTable()) {
    if (!IsSubcommand(spec)) commands.push_back(&spec);
  }
  return commands;
}

std::vector<std::string> Categories(const CommandSpec& spec) {
  std::vector<std::string> names;
  for (const std::string_view name : CategoryNames(CategoriesOf(spec))) {
    names.push_back(absl::StrCat("@", AbslView(name)));
  }
  return names;
}

template <typename Words>
void WriteSimpleSet(RespWriter& reply, const Words& words) {
  reply.Set(words.size());
  for (const auto& word : words) reply.SimpleString(word);
}

// Redis's flags for what the command does with its keys.
std::vector<std::string_view> KeyFlags(const CommandSpec& spec) {
  if (!spec.Is(kWrite)) return {"RO", "access"};
  if (spec.group == "keys" || spec.name == "RL.RESET") return {"RM", "delete"};
  return {"RW", "access", "update"};
}

void WriteKeySpecs(RespWriter& reply, const CommandSpec& spec) {
  if (spec.keys.first == 0) return reply.Set(0);
  reply.Set(1);
  reply.Map(3);
  reply.Bulk("flags");
  std::vector<std::string_view> flags = KeyFlags(spec);
  if (spec.Is(kAndKeys)) flags.emplace_back("incomplete");  // COMMAND GETKEYS finds the others
  WriteSimpleSet(reply, flags);
  reply.Bulk("begin_search");
  reply.Map(2);
  reply.Field("type", "index");
  reply.Bulk("spec");
  reply.Map(1);
  reply.Field("index", spec.keys.first);
  reply.Bulk("find_keys");
  reply.Map(2);
  reply.Field("type", "range");
  reply.Bulk("spec");
  reply.Map(3);
  // Relative to the first key, or from the end.
  reply.Field("lastkey", spec.keys.last < 0 ? spec.keys.last : spec.keys.last - spec.keys.first);
  reply.Field("keystep", spec.keys.step);
  reply.Field("limit", 0);
}

void WriteInfo(RespWriter& reply, const CommandSpec& spec) {
  reply.Array(10);
  reply.Bulk(LowerName(spec));
  reply.Integer(spec.arity.redis());
  WriteSimpleSet(reply, FlagNames(spec));
  reply.Integer(spec.keys.first);
  reply.Integer(spec.keys.last);
  reply.Integer(spec.keys.step);
  WriteSimpleSet(reply, Categories(spec));
  reply.Set(0);  // tips
  WriteKeySpecs(reply, spec);
  const auto subcommands = SubcommandsOf(spec);
  if (subcommands.empty()) return reply.Set(0);  // As Redis: empty, it is a set in RESP3.
  reply.Array(subcommands.size());
  for (const CommandSpec& subcommand : subcommands) WriteInfo(reply, subcommand);
}

// In the order of Argument::Type.
constexpr std::array<std::string_view, 8> kTypeNames = {
    "key", "string", "integer", "unix-time", "pattern", "pure-token", "oneof", "block"};
static_assert(static_cast<std::size_t>(Argument::Type::kBlock) == kTypeNames.size() - 1);

void WriteArguments(RespWriter& reply, std::span<const Argument> arguments) {
  reply.Array(arguments.size());
  for (const Argument& argument : arguments) {
    std::vector<std::string_view> flags;
    if (argument.optional) flags.emplace_back("optional");
    if (argument.multiple) flags.emplace_back("multiple");
    // A group repeats together with its keyword: AND key limit AND key limit.
    if (argument.multiple && !argument.token.empty()) flags.emplace_back("multiple_token");
    const bool key = argument.type == Argument::Type::kKey;
    reply.Map(2 + (key ? 1 : 0) + (argument.token.empty() ? 0 : 1) + (flags.empty() ? 0 : 1) +
              (argument.parts.empty() ? 0 : 1));
    reply.Field("name", argument.name);
    reply.Field("type", kTypeNames[static_cast<std::size_t>(argument.type)]);
    if (key) {
      reply.Field("key_spec_index", 0);
    }
    if (!argument.token.empty()) {
      reply.Field("token", argument.token);
    }
    if (!flags.empty()) {
      reply.Bulk("flags");
      WriteSimpleSet(reply, flags);
    }
    if (!argument.parts.empty()) {
      reply.Bulk("arguments");
      WriteArguments(reply, argument.parts);
    }
  }
}

void WriteDocs(RespWriter& reply, const CommandSpec& spec) {
  const auto subcommands = SubcommandsOf(spec);
  reply.Bulk(LowerName(spec));
  const std::vector<Argument> arguments = ArgumentsOf(spec);
  reply.Map(4 + (arguments.empty() ? 0 : 1) + (subcommands.empty() ? 0 : 1));
  reply.Field("summary", spec.summary);
  reply.Field("since", spec.since);
  reply.Field("group", spec.group);
  reply.Field("complexity", spec.complexity);
  if (!arguments.empty()) {
    reply.Bulk("arguments");
    WriteArguments(reply, arguments);
  }
  if (!subcommands.empty()) {
    reply.Bulk("subcommands");
    reply.Map(subcommands.size());
    for (const CommandSpec& subcommand : subcommands) WriteDocs(reply, subcommand);
  }
}

struct FoundKeys {
  const CommandSpec& spec;
  std::vector<std::string_view> keys;
};

// The keys of a request, or the error if it has none.
absl::StatusOr<FoundKeys> FindKeys(std::span<const std::string_view> words) {
  const CommandSpec* spec = FindRequested(words);
  if (!spec) return absl::InvalidArgumentError("Invalid command specified");
  if (!spec->arity.Allows(words.size())) {
    return absl::InvalidArgumentError("Invalid number of arguments specified for command");
  }
  FoundKeys found{*spec, KeysIn(*spec, words)};
  if (found.keys.empty()) return absl::InvalidArgumentError("The command has no key arguments");
  return found;
}

}  // namespace

void Command(Call& call) {
  const auto commands = TopLevelCommands();
  call.reply.Array(commands.size());
  for (const CommandSpec* spec : commands) WriteInfo(call.reply, *spec);
}

void CommandCount(Call& call) {
  call.reply.Integer(static_cast<std::int64_t>(TopLevelCommands().size()));
}

void CommandInfo(Call& call) {
  if (call.arguments().empty()) return Command(call);
  call.Charge(call.arguments().size());
  call.reply.Array(call.arguments().size());
  for (const std::string_view name : call.arguments()) {
    const CommandSpec* spec = FindCommand(name);
    if (!spec) {
      call.reply.Null();
    } else {
      WriteInfo(call.reply, *spec);
    }
  }
}

void CommandDocs(Call& call) {
  std::vector<const CommandSpec*> commands;
  if (call.arguments().empty()) commands = TopLevelCommands();
  for (const std::string_view name : call.arguments()) {
    const CommandSpec* spec = FindCommand(name);
    // The reply is a map, so a command named twice appears once.
    if (spec && std::ranges::find(commands, spec) == commands.end()) commands.push_back(spec);
  }
  call.Charge(call.arguments().size());
  call.reply.Map(commands.size());
  for (const CommandSpec* spec : commands) WriteDocs(call.reply, *spec);
}

void CommandList(Call& call) {
  ArgReader arguments(call.arguments());
  std::string_view pattern = "*";
  CommandCategories categories = kEveryCategory;
  if (arguments.TryKeyword("FILTERBY")) {
    if (arguments.TryKeyword("PATTERN")) {
      pattern = arguments.Word("pattern");
    } else if (arguments.TryKeyword("ACLCAT")) {
      categories = FindCategory(arguments.Word("category")).value_or(0);
    } else if (arguments.TryKeyword("MODULE")) {
      arguments.Word("module-name");
      categories = 0;  // There are no modules.
    } else {
      arguments.Fail("syntax error, expected PATTERN, ACLCAT or MODULE");
    }
  }
  if (const absl::Status read = arguments.Finish(); !read.ok()) return call.Fail(read);
  std::vector<std::string> names;
  for (const CommandSpec& spec : CommandTable()) {
    const bool in_category = (CategoriesOf(spec) & categories) != 0;
    if (in_category && MatchesGlob(pattern, spec.name)) names.push_back(LowerName(spec));
  }
  call.reply.Array(names.size());
  for (const std::string& name : names) call.reply.Bulk(name);
}

void CommandGetKeys(Call& call) {
  const absl::StatusOr<FoundKeys> found = FindKeys(call.arguments());
  if (!found.ok()) return call.Fail(found.status());
  call.reply.Array(found->keys.size());
  for (const std::string_view key : found->keys) call.reply.Bulk(key);
}

void CommandGetKeysAndFlags(Call& call) {
  const absl::StatusOr<FoundKeys> found = FindKeys(call.arguments());
  if (!found.ok()) return call.Fail(found.status());
  call.reply.Array(found->keys.size());
  for (const std::string_view key : found->keys) {
    call.reply.Array(2);
    call.reply.Bulk(key);
    WriteSimpleSet(call.reply, KeyFlags(found->spec));
  }
}

void ContainerHelp(Call& call) {
  const std::string_view container = call.spec.name.substr(0, call.spec.name.find('|'));
  WriteContainerHelp(call.reply, container, SubcommandsOf(*FindCommand(container)));
}

}  // namespace weir
