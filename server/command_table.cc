#include "server/command_table.h"

#include <algorithm>
#include <array>

#include "server/connection_commands.h"
#include "server/limit_commands.h"
#include "server/observer_commands.h"
#include "server/redis_commands.h"

namespace weir {
namespace {

// All rows, sorted by name: FindCommand bisects.
constexpr auto kCommands = [] {
  std::array<CommandSpec, rows::kConnectionCommands.size() + rows::kLimitCommands.size() +
                              rows::kObserverCommands.size() + rows::kRedisCommands.size()>
      all{};
  auto* next = all.begin();
  next = std::ranges::copy(rows::kConnectionCommands, next).out;
  next = std::ranges::copy(rows::kLimitCommands, next).out;
  next = std::ranges::copy(rows::kObserverCommands, next).out;
  std::ranges::copy(rows::kRedisCommands, next);
  std::ranges::sort(all, {}, &CommandSpec::name);
  return all;
}();

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

const CommandSpec* FindRequested(std::span<const std::string_view> words) noexcept {
  const CommandSpec* spec = FindCommand(words[0]);
  // "CLIENT|ID" is a row's name, but not what a client says to run it.
  if (!spec || IsSubcommand(*spec)) return nullptr;
  return spec->Is(kContainer) && words.size() > 1 ? FindSubcommand(*spec, words[1]) : spec;
}

}  // namespace weir
