// A command as data: its name, arguments, key positions and documentation, and the function that
// runs it.
//
// Tables of such rows drive both hosts: the server's (server/commands/command_table.h) dispatch,
// the check of the arity, COMMAND, RL.HELP and docs/commands.md; the module's
// (module/handlers/command_table.h) its registration with Redis. Each host defines its own Call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "core/base/check.h"

namespace weir {

struct Call;

using Handler = void (*)(Call& call);

// Lists the subcommands of the row's container. Each host defines it, as it does with Call.
void ContainerHelp(Call& call);

// The number of words of a command, including its name or names.
struct Arity {
  std::size_t min;
  std::size_t max;

  [[nodiscard]] constexpr bool Allows(std::size_t words) const noexcept {
    return words >= min && words <= max;
  }
  // As Redis writes it: the number, or minus the smallest number.
  [[nodiscard]] constexpr std::int64_t redis() const noexcept {
    const auto least = static_cast<std::int64_t>(min);
    return min == max ? least : -least;
  }
};
[[nodiscard]] constexpr Arity Exactly(std::size_t words) noexcept { return {words, words}; }
[[nodiscard]] constexpr Arity Between(std::size_t min, std::size_t max) noexcept {
  WEIR_CHECK(min < max);
  return {min, max};
}
[[nodiscard]] constexpr Arity AtLeast(std::size_t words) noexcept {
  return {words, std::numeric_limits<std::size_t>::max()};
}

enum CommandFlags : std::uint32_t {
  kWrite = 1 << 0,      // may change buckets
  kReadOnly = 1 << 1,   // reads buckets
  kDenyOom = 1 << 2,    // may need memory
  kFast = 1 << 3,       // O(1) or O(limits)
  kAdmin = 1 << 4,      // for operators
  kNoAuth = 1 << 5,     // also before AUTH
  kLoading = 1 << 6,    // also while state is loaded
  kContainer = 1 << 7,  // has subcommands: "CLIENT" is followed by rows "CLIENT|ID", ...
  kAndKeys = 1 << 8,    // a further key follows each AND or OR
  // Changes stored state whenever it succeeds, so it is refused while changes must be saved and
  // cannot be. (Commands that decide still answer denials then.)
  kAlwaysChanges = 1 << 9,
  kApplication = 1 << 10,       // an application's user may run it: the category @limit
  kAtOnce = 1 << 11,            // runs at once between MULTI and EXEC, is not queued
  kNotInTransaction = 1 << 12,  // may not be queued
  kWholeTable = 1 << 13,        // concerns keys that it does not name
  kSubcommand = 1 << 14,        // "CLIENT|ID"; the table sets it
  kBlocking = 1 << 15,          // may be answered later; the client's next commands wait, too
  kSecret = 1 << 16,            // a password may be among its words
  kOwnConnection = 1 << 17,     // changes its connection: the user, name, replies or end
  kWhileSubscribed = 1 << 18,   // also while the client is subscribed, in RESP2
  kProbe = 1 << 19,             // PING: Sentinel takes an error other than LOADING for death
  kGreets = 1 << 20,            // HELLO, RESET: sets the protocol of all that follows
  // What an edge does with it: runs it itself, or passes it on to its primary. With both it does
  // the first if it can, with neither it refuses.
  kEdgeRuns = 1 << 21,
  kEdgePasses = 1 << 22,
};

// The channels among the words.
enum class ChannelUse : std::uint8_t {
  kNone,
  kFirst,     // PUBLISH: the first argument
  kAll,       // SUBSCRIBE: all arguments
  kPatterns,  // PSUBSCRIBE: patterns of channels
};

// The positions of the keys among the words, as Redis counts them: first 0 means no keys, last -1
// the last word.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;
};

// A command to type, and its reply in the short form of the docs. All examples of a row run in
// order against a fresh server with a stopped clock; docs/commands.md shows them, and a test
// runs them.
struct Example {
  std::string_view command;
  std::string_view reply;
};

// The work of a command with a row for each limit, policy, user, client or channel: statistics of
// 4,097 limits take 4 ms.
inline constexpr std::size_t kListWork = 1024;
// The work of a text for each of 64 limits, or for each subscriber of a channel.
inline constexpr std::size_t kManyTextsWork = 64;
// The work of settling a hold of one key, which has up to 64 limits.
inline constexpr std::size_t kSettleWork = 8;

struct CommandSpec {
  std::string_view name;  // upper case; a subcommand's is "CLIENT|ID"
  Arity arity;
  std::uint32_t flags = 0;
  // For each key, or for all if it names none, in units of about a microsecond; if that is more
  // than its flags and words say.
  std::size_t work = 0;
  KeyPositions keys = {};
  ChannelUse channels = ChannelUse::kNone;
  std::string_view group;  // "limit", "keys", "connection", "transaction", "pubsub", "server"
  std::string_view since = "0.1.0";
  std::string_view complexity = "O(1)";
  std::string_view summary;
  std::string_view syntax = {};  // of the arguments: core/commands/command_syntax.h
  std::span<const Example> examples = {};
  Handler handler = nullptr;
  std::string_view refusal = {};  // the only answer of a command whose handler is Refuse: an error

  [[nodiscard]] bool Is(CommandFlags flag) const noexcept { return (flags & flag) != 0; }
};

// The row of a container's HELP: "CLIENT|HELP".
[[nodiscard]] constexpr CommandSpec HelpRow(std::string_view name, std::string_view group,
                                            std::uint32_t more_flags = 0,
                                            std::string_view since = "0.1.0") noexcept {
  return {.name = name,
          .arity = Exactly(2),
          .flags = kLoading | kEdgeRuns | more_flags,
          .group = group,
          .since = since,
          .summary = "Lists the subcommands.",
          .handler = ContainerHelp};
}

// "config|get", as Redis spells it.
[[nodiscard]] std::string LowerName(const CommandSpec& spec);
// The error of a request with too few or too many words.
[[nodiscard]] std::string WrongArity(const CommandSpec& spec);

}  // namespace weir
