#include "server/config/option_help.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/filled_text.h"
#include "core/base/nearest.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "protocol/integer.h"

namespace weir {
namespace {

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kTextColumn = 34;

constexpr auto kOptionGroups = std::to_array<OptionGroupTitle>({
    {OptionGroup::kGeneral, "general", "General"},
    {OptionGroup::kListen, "listen", "Listen"},
    {OptionGroup::kAccess, "access", "Who may connect"},
    {OptionGroup::kState, "state", "State and durability"},
    {OptionGroup::kLimits, "limits", "Limits and policies"},
    {OptionGroup::kMemory, "memory", "Memory and clients"},
    {OptionGroup::kHttp, "http", "HTTP and the page"},
    {OptionGroup::kReplicas, "replicas", "Replicas, Sentinel and edges"},
    {OptionGroup::kTls, "tls", "TLS"},
    {OptionGroup::kLogs, "logs", "Logs and diagnosis"},
    {OptionGroup::kRare, "rare", "Rare"},
});
static_assert(std::ranges::is_sorted(kOptionGroups, {}, &OptionGroupTitle::group));

std::string SizeText(std::int64_t bytes) {
  constexpr std::array<std::pair<int, absl::string_view>, 3> kUnits = {
      {{30, "gb"}, {20, "mb"}, {10, "kb"}}};
  for (const auto& [shift, unit] : kUnits) {
    if (bytes != 0 && bytes % (std::int64_t{1} << shift) == 0) {
      return absl::StrCat(bytes >> shift, unit);
    }
  }
  return absl::StrCat(bytes);
}

// An option as it is typed, with its kind and its default: "--port NUMBER=7379", "--tls-only=no".
std::string TypedText(const OptionSpec& spec) {
  const std::string fallback = FallbackText(spec);
  const bool is_flag = OptionKind(spec) == "FLAG";
  return absl::StrCat("--", AbslView(spec.name), is_flag ? "" : " ",
                      is_flag ? "" : AbslView(OptionKind(spec)), fallback.empty() ? "" : "=",
                      fallback);
}

// Appends a row: the text begins in its column, or below a longer name.
void AppendRow(std::string_view name, std::string_view text, std::string& help) {
  std::string head = absl::StrCat("  ", AbslView(name));
  if (head.size() + 2 > kTextColumn) absl::StrAppend(&help, std::exchange(head, {}), "\n");
  head.resize(kTextColumn, ' ');
  AppendFilled(text, kColumnsMax, head, std::string(kTextColumn, ' '), help);
}

void AppendGroup(const OptionGroupTitle& group, std::string& help) {
  absl::StrAppend(&help, AbslView(group.title), " (--help ", AbslView(group.word), ")\n");
  if (group.group == OptionGroup::kGeneral) {
    AppendRow("-h,--help [GROUP]", kHelpHelp, help);
    AppendRow("--version", kVersionHelp, help);
    AppendRow("--ping [ADDRESS]", kPingHelp, help);
  }
  for (const OptionSpec* const spec : OptionsOf(group.group)) {
    AppendRow(TypedText(*spec), OptionHelp(*spec), help);
  }
}

absl::Status UnknownGroup(std::string_view word) {
  const std::string_view nearest = Nearest(word, kOptionGroups, &OptionGroupTitle::word);
  std::string hint = ": must be";
  if (!nearest.empty()) {
    hint = absl::StrCat(": did you mean --help ", AbslView(nearest), "?");
  } else {
    for (const OptionGroupTitle& group : kOptionGroups) {
      absl::StrAppend(&hint, hint.ends_with("be") ? " " : ", ", AbslView(group.word));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown group ", Quote(word), hint));
}

}  // namespace

std::span<const OptionGroupTitle> OptionGroups() noexcept { return kOptionGroups; }

std::vector<const OptionSpec*> OptionsOf(OptionGroup group) {
  std::vector<const OptionSpec*> options;
  for (const OptionSpec& spec : OptionTable()) {
    if (spec.group == group) options.push_back(&spec);
  }
  std::ranges::stable_sort(
      options, {}, [](const OptionSpec* spec) { return spec->rank == 0 ? INT_MAX : spec->rank; });
  return options;
}

std::string FallbackText(const OptionSpec& spec) {
  if (std::holds_alternative<bool Options::*>(spec.field)) {
    return spec.fallback == "true" ? "yes" : "no";
  }
  const std::optional<std::int64_t> number = ParseInteger(spec.fallback);
  const bool is_size = std::holds_alternative<ByteCount Options::*>(spec.field);
  return is_size && number ? SizeText(*number) : std::string(spec.fallback);
}

absl::StatusOr<std::string> HelpText(std::string_view word) {
  std::string help;
  if (!word.empty()) {
    const std::string lower = absl::AsciiStrToLower(AbslView(word));
    const auto* const group = std::ranges::find(kOptionGroups, lower, &OptionGroupTitle::word);
    if (group == kOptionGroups.end()) return UnknownGroup(word);
    AppendGroup(*group, help);
    return help;
  }
  help =
      "Usage: weir-server [--OPTION VALUE] ...\n"
      "A rate-limit server that speaks the Redis protocol. Defaults follow the sign =.\n";
  for (const OptionGroupTitle& group : kOptionGroups) {
    help += "\n";
    AppendGroup(group, help);
  }
  return help;
}

}  // namespace weir
