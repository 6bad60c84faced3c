#include "server/commands/command_table.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/ignore_case.h"
#include "core/commands/hold_commands.h"
#include "core/commands/limit_commands.h"
#include "server/commands/backup_commands.h"
#include "server/commands/connection_commands.h"
#include "server/commands/observer_commands.h"
#include "server/commands/pubsub_commands.h"
#include "server/commands/redis_commands.h"
#include "server/commands/replication_commands.h"

namespace weir {
namespace {

// All rows, sorted by name.
constexpr auto kCommands = [] {
  std::array<CommandSpec, rows::kBackupCommands.size() + rows::kConnectionCommands.size() +
                              rows::kHoldCommands.size() + rows::kLimitCommands.size() +
                              rows::kObserverCommands.size() + rows::kPubSubCommands.size() +
                              rows::kRedisCommands.size() + rows::kReplicationCommands.size()>
      all{};
  auto* next = all.begin();
  next = std::ranges::copy(rows::kBackupCommands, next).out;
  next = std::ranges::copy(rows::kConnectionCommands, next).out;
  next = std::ranges::copy(rows::kHoldCommands, next).out;
  next = std::ranges::copy(rows::kLimitCommands, next).out;
  next = std::ranges::copy(rows::kObserverCommands, next).out;
  next = std::ranges::copy(rows::kPubSubCommands, next).out;
  next = std::ranges::copy(rows::kRedisCommands, next).out;
  std::ranges::copy(rows::kReplicationCommands, next);
  std::ranges::sort(all, {}, &CommandSpec::name);
  for (CommandSpec& row : all) {
    if (row.name.find('|') != std::string_view::npos) row.flags |= kSubcommand;
  }
  return all;
}();

// A hash of a name that ignores case. The length and three letters tell most rows apart.
constexpr std::size_t HashOf(std::string_view name) noexcept {
  constexpr unsigned kCaseless = 0xDF;  // clears the bit that makes a letter lower-case
  const auto letter = [name](std::size_t i) {
    return static_cast<unsigned char>(name[i]) & kCaseless;
  };
  const std::size_t last = name.size() - 1;
  return name.size() * 5 + letter(0) + letter(last / 2) * 17 + letter(last) * 41;
}

// The rows by their names, a hash table with linear probing: an entry is a row's number plus 1, or
// 0 if it is free. (A look-up takes 110 instructions, a bisection 480.)
constexpr auto kRowOf = [] {
  std::array<std::uint8_t, 1024> row_of{};
  static_assert(kCommands.size() < 256);
  for (std::size_t row = 0; row < kCommands.size(); ++row) {
    std::size_t index = HashOf(kCommands[row].name) % row_of.size();
    while (row_of[index] != 0) index = (index + 1) % row_of.size();
    row_of[index] = static_cast<std::uint8_t>(row + 1);
  }
  return row_of;
}();

}  // namespace

std::span<const CommandSpec> CommandTable() noexcept { return kCommands; }

const CommandSpec& RateLimitCallSpec() noexcept {
  static constexpr CommandSpec kSpec = {.name = "RLS",
                                        .arity = AtLeast(2),
                                        .flags = kWrite | kDenyOom | kFast | kApplication,
                                        .group = "limit",
                                        .summary = "A call of Envoy's rate limit service."};
  return kSpec;
}

const CommandSpec* FindCommand(std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  std::size_t index = HashOf(name) % kRowOf.size();
  for (; kRowOf[index] != 0; index = (index + 1) % kRowOf.size()) {
    const CommandSpec& row = kCommands[kRowOf[index] - 1U];
    if (row.name == name || EqualsIgnoreCase(row.name, name)) return &row;
  }
  return nullptr;
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
    if (EqualsIgnoreCase(row.name.substr(prefix), subcommand)) return &row;
  }
  return nullptr;
}

const CommandSpec* FindRequested(std::span<const std::string_view> words) noexcept {
  const CommandSpec* spec = FindCommand(words[0]);
  // "CLIENT|ID" is a row's name; clients send it as two words.
  if (!spec || IsSubcommand(*spec)) return nullptr;
  return spec->Is(kContainer) && words.size() > 1 ? FindSubcommand(*spec, words[1]) : spec;
}

}  // namespace weir
