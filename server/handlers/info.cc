#include "server/handlers/info.h"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/base/ignore_case.h"
#include "core/base/status.h"
#include "server/measures/measure.h"
#include "server/measures/server_snapshot.h"

namespace weir {

namespace {

bool IsWanted(std::string_view section, std::span<const std::string_view> wanted) {
  const bool is_default = section != "Commandstats" && section != "Latencystats";
  if (wanted.empty()) return is_default;
  return std::ranges::any_of(wanted, [&](std::string_view name) {
    return EqualsIgnoreCase(name, section) || EqualsIgnoreCase(name, "all") ||
           EqualsIgnoreCase(name, "everything") ||
           (is_default && EqualsIgnoreCase(name, "default"));
  });
}

void AddLine(std::string_view name, std::string_view value, std::string& text) {
  absl::StrAppend(&text, AbslView(name), ":", AbslView(value), "\r\n");
}

std::string ValueText(const MeasureValue& measured) {
  if (const auto* const flag = std::get_if<bool>(&measured)) return *flag ? "1" : "0";
  if (const auto* const number = std::get_if<std::int64_t>(&measured)) return absl::StrCat(*number);
  if (const auto* const span = std::get_if<Nanos>(&measured))
    return absl::StrCat(CeilMillis(*span));
  if (const auto* const text = std::get_if<std::string>(&measured)) return *text;
  return "-1";
}

void AddFields(std::string_view name, const MeasureValue& measured, std::string& text) {
  const auto* const fields = std::get_if<MeasureFields>(&measured);
  if (!fields) return AddLine(name, ValueText(measured), text);
  for (const auto& [end, value] : *fields) AddLine(absl::StrCat(AbslView(name), end), value, text);
}

}  // namespace

std::string InfoText(Services& services, Instant now, std::span<const std::string_view> sections) {
  ServerSnapshot server(services, now);
  std::string text;
  bool is_wanted = false;
  for (const Measure& measure : Measures()) {
    if (!measure.section.empty()) {
      is_wanted = measure.Exists(server) && IsWanted(measure.section, sections);
      if (!is_wanted) continue;
      absl::StrAppend(&text, text.empty() ? "" : "\r\n", "# ", AbslView(measure.section), "\r\n");
    } else if (is_wanted && !measure.names.info.empty() && measure.Exists(server)) {
      AddFields(measure.names.info, measure.read(server), text);
    }
  }
  return text;
}

}  // namespace weir
