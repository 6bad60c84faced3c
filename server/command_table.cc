#include "server/command_table.h"

#include <algorithm>
#include <array>

#include "server/command_arguments.h"
#include "server/command_examples.h"
#include "server/handlers.h"

namespace weir {
namespace {

constexpr KeyPositions kFirst = {.first = 1, .last = 1, .step = 1};
constexpr KeyPositions kAll = {.first = 1, .last = -1, .step = 1};
constexpr std::uint32_t kGreeting = kFast | kNoAuth | kLoading;
constexpr std::uint32_t kAboutSelf = kFast | kLoading;

constexpr std::array kCommands = {
    CommandSpec{.name = "AUTH",
                .arity = Between(2, 3),
                .flags = kGreeting,
                .group = "connection",
                .summary = "Authenticates the connection. The default user has no password.",
                .arguments = arguments::kAuth,
                .handler = Auth},
    CommandSpec{.name = "CLIENT",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "connection",
                .summary = "Commands about client connections."},
    CommandSpec{.name = "CLIENT|GETNAME",
                .arity = Exactly(2),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Returns the name of the connection, null if it has none.",
                .handler = ClientGetName},
    CommandSpec{.name = "CLIENT|HELP",
                .arity = Exactly(2),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Lists the subcommands.",
                .handler = ContainerHelp},
    CommandSpec{.name = "CLIENT|ID",
                .arity = Exactly(2),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Returns the number of the connection; later ones have greater numbers.",
                .handler = ClientId},
    CommandSpec{.name = "CLIENT|INFO",
                .arity = Exactly(2),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Returns the connection's line of CLIENT LIST.",
                .handler = ClientInfo},
    CommandSpec{.name = "CLIENT|LIST",
                .arity = AtLeast(2),
                .flags = kAdmin | kLoading,
                .group = "connection",
                .complexity = "O(connections)",
                .summary = "Lists the open connections, a line each.",
                .arguments = arguments::kClientList,
                .handler = ClientList},
    CommandSpec{.name = "CLIENT|SETINFO",
                .arity = Exactly(4),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Notes the client's library and its version, for CLIENT LIST.",
                .arguments = arguments::kSetInfo,
                .handler = ClientSetInfo},
    CommandSpec{.name = "CLIENT|SETNAME",
                .arity = Exactly(3),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Names the connection, for CLIENT LIST.",
                .arguments = arguments::kName,
                .handler = ClientSetName},
    CommandSpec{.name = "COMMAND",
                .arity = AtLeast(1),
                .flags = kContainer | kLoading,
                .group = "server",
                .complexity = "O(commands)",
                .summary = "Describes all commands.",
                .handler = Command},
    CommandSpec{.name = "COMMAND|COUNT",
                .arity = Exactly(2),
                .flags = kLoading,
                .group = "server",
                .summary = "Returns the number of commands.",
                .handler = CommandCount},
    CommandSpec{.name = "COMMAND|DOCS",
                .arity = AtLeast(2),
                .flags = kLoading,
                .group = "server",
                .complexity = "O(names)",
                .summary = "Documents the commands, for the hints of redis-cli.",
                .arguments = arguments::kCommandNames,
                .handler = CommandDocs},
    CommandSpec{.name = "COMMAND|GETKEYS",
                .arity = AtLeast(3),
                .flags = kLoading,
                .group = "server",
                .complexity = "O(words)",
                .summary = "Returns the keys in a command.",
                .arguments = arguments::kWholeCommand,
                .examples = examples::kGetKeys,
                .handler = CommandGetKeys},
    CommandSpec{.name = "COMMAND|HELP",
                .arity = Exactly(2),
                .flags = kLoading,
                .group = "server",
                .summary = "Lists the subcommands.",
                .handler = ContainerHelp},
    CommandSpec{.name = "COMMAND|INFO",
                .arity = AtLeast(2),
                .flags = kLoading,
                .group = "server",
                .complexity = "O(names)",
                .summary = "Describes the named commands, or all.",
                .arguments = arguments::kCommandNames,
                .handler = CommandInfo},
    CommandSpec{.name = "COMMAND|LIST",
                .arity = AtLeast(2),
                .flags = kLoading,
                .group = "server",
                .complexity = "O(commands)",
                .summary = "Lists the names of the commands.",
                .arguments = arguments::kOptionalPattern,
                .handler = CommandList},
    CommandSpec{.name = "CONFIG",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "server",
                .summary = "Commands about the options of the server."},
    CommandSpec{.name = "CONFIG|GET",
                .arity = AtLeast(3),
                .flags = kAdmin | kLoading,
                .group = "server",
                .complexity = "O(options)",
                .summary = "Returns the options whose names match one of the patterns.",
                .arguments = arguments::kPatterns,
                .handler = ConfigGet},
    CommandSpec{.name = "CONFIG|HELP",
                .arity = Exactly(2),
                .flags = kLoading,
                .group = "server",
                .summary = "Lists the subcommands.",
                .handler = ContainerHelp},
    CommandSpec{
        .name = "DBSIZE",
        .arity = Exactly(1),
        .flags = kReadOnly | kFast,
        .group = "keys",
        .complexity = "O(partitions)",
        .summary =
            "Returns the number of buckets stored, full ones that are not swept yet included.",
        .handler = Dbsize},
    CommandSpec{
        .name = "DEL",
        .arity = AtLeast(2),
        .flags = kWrite,
        .keys = kAll,
        .group = "keys",
        .complexity = "O(keys), each a scan of 1/4096 of the table",
        .summary =
            "Forgets all buckets of the keys. Returns how many keys had one that was not full.",
        .arguments = arguments::kManyKeys,
        .handler = Del},
    CommandSpec{.name = "ECHO",
                .arity = Exactly(2),
                .flags = kFast | kLoading,
                .group = "connection",
                .summary = "Returns the message.",
                .arguments = arguments::kMessage,
                .handler = Echo},
    CommandSpec{.name = "EXISTS",
                .arity = AtLeast(2),
                .flags = kReadOnly,
                .keys = kAll,
                .group = "keys",
                .complexity = "O(keys), each a scan of 1/4096 of the table",
                .summary = "Returns how many of the keys have a bucket that is not full.",
                .arguments = arguments::kManyKeys,
                .handler = Exists},
    CommandSpec{.name = "FLUSHALL",
                .arity = Between(1, 2),
                .flags = kWrite,
                .group = "keys",
                .complexity = "O(buckets)",
                .summary = "Forgets all buckets.",
                .arguments = arguments::kFlush,
                .handler = Flush},
    CommandSpec{.name = "FLUSHDB",
                .arity = Between(1, 2),
                .flags = kWrite,
                .group = "keys",
                .complexity = "O(buckets)",
                .summary = "The same: there is one database.",
                .arguments = arguments::kFlush,
                .handler = Flush},
    CommandSpec{.name = "HELLO",
                .arity = AtLeast(1),
                .flags = kGreeting,
                .group = "connection",
                .summary = "Greets the server and chooses RESP2 or RESP3.",
                .arguments = arguments::kHello,
                .handler = Hello},
    CommandSpec{
        .name = "INFO",
        .arity = AtLeast(1),
        .flags = kLoading,
        .group = "server",
        .complexity = "O(partitions)",
        .summary = "Tells how the server is: the sections that tools for Redis read, and Weir.",
        .arguments = arguments::kSections,
        .handler = Info},
    CommandSpec{.name = "PING",
                .arity = Between(1, 2),
                .flags = kFast | kLoading,
                .group = "connection",
                .summary = "Answers PONG, or the message.",
                .arguments = arguments::kOptionalMessage,
                .examples = examples::kPing,
                .handler = Ping},
    CommandSpec{.name = "PTTL",
                .arity = Exactly(2),
                .flags = kReadOnly,
                .keys = kFirst,
                .group = "keys",
                .complexity = "a scan of 1/4096 of the table",
                .summary = "Milliseconds until all of the key's buckets are full; -2 if they are.",
                .arguments = arguments::kOneKey,
                .handler = Pttl},
    CommandSpec{.name = "QUIT",
                .arity = AtLeast(1),
                .flags = kGreeting,
                .group = "connection",
                .summary = "Answers OK and closes the connection.",
                .handler = Quit},
    CommandSpec{
        .name = "RL.ALLOW",
        .arity = AtLeast(3),
        .flags = kWrite | kDenyOom | kFast | kAndKeys,
        .keys = kFirst,
        .group = "limit",
        .complexity = "O(limits)",
        .summary = "Takes tokens from all limits or from none. Answers allowed (0 or 1), remaining "
                   "tokens, retry_after_ms (-1: never), reset_after_ms, and which limit decided.",
        .arguments = arguments::kDecide,
        .examples = examples::kAllow,
        .handler = RlAllow},
    CommandSpec{.name = "RL.HELP",
                .arity = Exactly(1),
                .flags = kFast | kLoading,
                .group = "limit",
                .summary = "Lists the RL commands.",
                .handler = RlHelp},
    CommandSpec{
        .name = "RL.INSPECT",
        .arity = Exactly(2),
        .flags = kReadOnly,
        .keys = kFirst,
        .group = "limit",
        .complexity = "a scan of 1/4096 of the table",
        .summary = "Lists the key's buckets that are not full: limit, remaining, reset_after_ms.",
        .arguments = arguments::kOneKey,
        .examples = examples::kInspect,
        .handler = RlInspect},
    CommandSpec{.name = "RL.PEEK",
                .arity = AtLeast(3),
                .flags = kReadOnly | kFast | kAndKeys,
                .keys = kFirst,
                .group = "limit",
                .complexity = "O(limits)",
                .summary = "Answers what RL.ALLOW would answer, and changes nothing.",
                .arguments = arguments::kDecide,
                .examples = examples::kPeek,
                .handler = RlPeek},
    CommandSpec{
        .name = "RL.RESET",
        .arity = AtLeast(2),
        .flags = kWrite,
        .keys = kFirst,
        .group = "limit",
        .complexity = "a scan of 1/4096 of the table",
        .summary =
            "Forgets the key's buckets: those of the limits, or all. Returns how many were not "
            "full.",
        .arguments = arguments::kReset,
        .examples = examples::kReset,
        .handler = RlReset},
    CommandSpec{.name = "SELECT",
                .arity = Exactly(2),
                .flags = kAboutSelf,
                .group = "connection",
                .summary = "Selects the database. There is one, 0.",
                .arguments = arguments::kIndex,
                .handler = Select},
    CommandSpec{.name = "SHUTDOWN",
                .arity = AtLeast(1),
                .flags = kAdmin | kLoading,
                .group = "server",
                .summary = "Answers what has been asked, then ends the server.",
                .arguments = arguments::kShutdown,
                .handler = Shutdown},
    CommandSpec{.name = "TIME",
                .arity = Exactly(1),
                .flags = kFast | kLoading,
                .group = "server",
                .summary = "Returns the server's time: Unix seconds, and microseconds.",
                .handler = Time},
    CommandSpec{
        .name = "TTL",
        .arity = Exactly(2),
        .flags = kReadOnly,
        .keys = kFirst,
        .group = "keys",
        .complexity = "a scan of 1/4096 of the table",
        .summary = "Seconds, rounded up, until all of the key's buckets are full; -2 if they are.",
        .arguments = arguments::kOneKey,
        .examples = examples::kTtl,
        .handler = Ttl},
    CommandSpec{.name = "TYPE",
                .arity = Exactly(2),
                .flags = kReadOnly,
                .keys = kFirst,
                .group = "keys",
                .complexity = "a scan of 1/4096 of the table",
                .summary = "Answers bucket if the key has one that is not full, else none.",
                .arguments = arguments::kOneKey,
                .handler = Type},
};

static_assert(std::ranges::is_sorted(kCommands, {}, &CommandSpec::name));  // FindCommand bisects.

char UpperCase(char c) noexcept {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// Orders names as the table is ordered, reading `b` in upper case: < 0, 0 or > 0.
int Compare(std::string_view row, std::string_view name) noexcept {
  const std::size_t common = std::min(row.size(), name.size());
  for (std::size_t i = 0; i < common; ++i) {
    const auto a = static_cast<unsigned char>(row[i]);
    const auto b = static_cast<unsigned char>(UpperCase(name[i]));
    if (a != b) return a < b ? -1 : 1;
  }
  return row.size() == name.size() ? 0 : row.size() < name.size() ? -1 : 1;
}

}  // namespace

std::span<const CommandSpec> CommandTable() noexcept { return kCommands; }

const CommandSpec* FindCommand(std::string_view name) noexcept {
  const auto* row = std::ranges::partition_point(
      kCommands, [name](const CommandSpec& spec) { return Compare(spec.name, name) < 0; });
  return row != kCommands.end() && Compare(row->name, name) == 0 ? row : nullptr;
}

std::span<const CommandSpec> SubcommandsOf(const CommandSpec& container) noexcept {
  if (!container.Is(kContainer)) return {};
  const CommandSpec* first = &container + 1;
  const CommandSpec* last = first;
  while (last != kCommands.data() + kCommands.size() && last->name.starts_with(container.name) &&
         last->name[container.name.size()] == '|') {
    ++last;
  }
  return {first, last};
}

const CommandSpec* FindSubcommand(const CommandSpec& container,
                                  std::string_view subcommand) noexcept {
  const std::size_t prefix = container.name.size() + 1;
  for (const CommandSpec& row : SubcommandsOf(container)) {
    if (Compare(row.name.substr(prefix), subcommand) == 0) return &row;
  }
  return nullptr;
}

}  // namespace weir
