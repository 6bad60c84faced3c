#include "manual/documents.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "core/base/status.h"
#include "server/commands/command_docs.h"
#include "server/http/metrics.h"
#include "server/measures/measure.h"

namespace weir {
namespace {

// The fields of INFO with their metrics and meanings, without those that Redis documents.
std::string InfoList() {
  std::string list = "| section | field | metric | meaning |\n|---|---|---|---|\n";
  std::string_view section;
  for (const Measure& measure : Measures()) {
    const auto& [info, metric, json] = measure.names;
    if (!measure.section.empty()) section = measure.section;
    if (info.empty() || measure.help == kAsInRedis) continue;
    absl::StrAppend(&list, "| ", AbslView(section), " | `", AbslView(info), "` | ",
                    metric.empty() ? "-" : absl::StrCat("`", AbslView(metric), "`"), " | ",
                    AbslView(measure.help), " |\n");
  }
  return list;
}

constexpr std::array<Document, 9> kDocuments = {{
    {.path = "contrib/bash-completion/weir-server", .make = BashCompletion},
    {.path = "contrib/config/weir.toml", .make = ConfigFile},
    {.path = "docs/commands.md", .make = CommandsMarkdown},
    {.path = "docs/man/weir-check.1", .make = CheckPage},
    {.path = "docs/man/weir-replay.1", .make = ReplayPage},
    {.path = "docs/man/weir-server.1", .make = ServerPage},
    {.path = "docs/man/weir.toml.5", .make = ConfigPage},
    {.path = "docs/metrics.md", .make = MetricsMarkdown, .is_part = true},
    {.path = "docs/observing.md", .make = InfoList, .is_part = true},
}};
constexpr std::string_view kBegin = "<!-- weir-docs: begin -->\n\n";
constexpr std::string_view kEnd = "\n<!-- weir-docs: end -->\n";
static_assert(std::ranges::is_sorted(kDocuments, {}, &Document::path));

}  // namespace

std::span<const Document> Documents() noexcept { return kDocuments; }

std::string TextOf(const Document& document, std::string_view present) {
  if (!document.is_part) return document.make();
  const std::size_t begin = present.find(kBegin);
  const std::size_t end = present.find(kEnd);
  if (begin > end || end == std::string_view::npos) return "";
  return absl::StrCat(AbslView(present.substr(0, begin)), AbslView(kBegin), document.make(),
                      AbslView(present.substr(end)));
}

}  // namespace weir
