#include "module/handlers/command_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/commands/command_keys.h"
#include "core/commands/hold_commands.h"
#include "core/commands/limit_commands.h"
#include "core/commands/replies.h"
#include "module/handlers/call.h"
#include "module/handlers/command_info.h"

namespace weir {
namespace {

constexpr CommandSpec kState = {
    .name = "RL.STATE",
    .arity = Exactly(4),
    .flags = kWrite | kFast,  // not kDenyOom: its buckets were granted already
    .keys = rows::kOneKey,
    .group = "limit",
    .summary = "Sets the buckets and holds of a key. Internal: sent to replicas and the AOF."};

constexpr auto kRows = [] {
  std::array<CommandSpec, rows::kHoldCommands.size() + rows::kLimitCommands.size() + 1> all{};
  std::ranges::copy(rows::kLimitCommands, std::ranges::copy(rows::kHoldCommands, all.begin()).out);
  std::ranges::sort(all.begin(), all.end() - 1, {}, &CommandSpec::name);
  all.back() = kState;
  all.back().handler = RlState;
  return all;
}();

bool IsSubcommand(const CommandSpec& row) { return row.name.find('|') != std::string_view::npos; }

// As Redis spells it: "rl.policy", and a subcommand alone: "set".
std::string RedisName(const CommandSpec& row) {
  return LowerName(row).substr(row.name.find('|') + 1);
}

// The row's flags, in Redis's words.
std::string FlagsOf(const CommandSpec& row) {
  constexpr std::array<std::pair<CommandFlags, const char*>, 6> kWords = {{
      {kWrite, "write"},
      {kReadOnly, "readonly"},
      {kDenyOom, "deny-oom"},
      {kFast, "fast"},
      {kAdmin, "admin"},
      {kAndKeys, "getkeys-api"},
  }};
  std::string flags;
  for (const auto& [flag, word] : kWords) {
    if (row.Is(flag)) absl::StrAppend(&flags, flags.empty() ? "" : " ", word);
  }
  return flags;
}

// Reports where the keys are.
void ReportKeyPositions(redis::Context* context, const CommandSpec& row,
                        std::span<const std::string_view> words) {
  const int flags = row.Is(kReadOnly) ? redis::kReadsKey : redis::kChangesKey;
  if (words.size() < 2) return;
  ForEachKey(row, words, [&](const std::string_view& key) {
    redis::KeyAtPosWithFlags(context, static_cast<int>(&key - words.data()), flags);
  });
}

// The function that Redis calls for a row. No exception may leave it, because its caller is C.
template <std::size_t kRow>
int Run(redis::Context* context, redis::String** words, int count) noexcept {
  constexpr const CommandSpec& kSpec = kRows[kRow];
  const bool asks_for_keys = kSpec.Is(kAndKeys) && redis::IsKeysPositionRequest(context) != 0;
  if (!asks_for_keys && !kSpec.arity.Allows(static_cast<std::size_t>(count))) {
    return redis::WrongArity(context);
  }
  Call call(kSpec, context, {words, static_cast<std::size_t>(count)});
  if (asks_for_keys) {
    ReportKeyPositions(context, kSpec, call.words);
    return redis::kOk;
  }
  kSpec.handler(call);
  return redis::kOk;
}

template <std::size_t... kNumbers>
constexpr std::array<redis::Command, sizeof...(kNumbers)> Runners(
    std::index_sequence<kNumbers...> /*numbers*/) {
  return {Run<kNumbers>...};
}

// Adds one row; a subcommand to its container, which was added before.
bool Create(redis::Context* context, const CommandSpec& row, redis::Command run) {
  const std::string name = RedisName(row);
  const std::string flags = FlagsOf(row);
  if (IsSubcommand(row)) {
    // Policies belong to the node. Their subcommands have no keys here, because a cluster would
    // redirect them by their keys.
    const std::string container = LowerName(row).substr(0, row.name.find('|'));
    redis::CommandHandle* const parent = redis::GetCommand(context, container.c_str());
    return parent != nullptr &&
           redis::CreateSubcommand(parent, name.c_str(), run, flags.c_str(), 0, 0, 0) == redis::kOk;
  }
  return redis::CreateCommand(context, name.c_str(), row.Is(kContainer) ? nullptr : run,
                              flags.c_str(), row.keys.first, row.keys.last,
                              row.keys.step) == redis::kOk;
}

// "RL.POLICY" -> its rows.
std::span<const CommandSpec> SubcommandsOf(std::string_view container) {
  const auto is_one = [container](const CommandSpec& row) {
    return row.name.starts_with(container) && row.name.substr(container.size()).starts_with('|');
  };
  const auto* const first = std::ranges::find_if(kRows, is_one);
  return {first, std::find_if_not(first, kRows.end(), is_one)};
}

}  // namespace

std::span<const CommandSpec> ClientCommands() {
  return std::span<const CommandSpec>(kRows).first(kRows.size() - 1);
}

const CommandSpec& WaitRow() {
  static const CommandSpec& row =
      *std::ranges::find(kRows, std::string_view("RL.WAIT"), &CommandSpec::name);
  return row;
}

void ContainerHelp(Call& call) {
  const std::string_view container = call.spec.name.substr(0, call.spec.name.find('|'));
  WriteContainerHelp(call.reply, container, SubcommandsOf(container));
}

bool CreateCommands(redis::Context* context) {
  constexpr auto kRunners = Runners(std::make_index_sequence<kRows.size()>());
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (!Create(context, kRows[i], kRunners[i])) {
      // redis-cell or another module may have added it before; that command stays as it is.
      const bool may_be_taken = kRows[i].name == "CL.THROTTLE";
      redis::Log(context, may_be_taken ? "notice" : "warning", "weir: the server refused %s",
                 LowerName(kRows[i]).c_str());
      if (!may_be_taken) return false;
      continue;
    }
    if (!Describe(context, LowerName(kRows[i]), kRows[i])) return false;
  }
  return true;
}

}  // namespace weir
