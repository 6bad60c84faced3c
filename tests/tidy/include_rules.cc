// Rules about #include lines.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

// Which of our folders a folder may include, besides itself. Tests and benchmarks may include all.
const std::map<std::string_view, std::vector<std::string_view>>& Arrows() {
  static const std::map<std::string_view, std::vector<std::string_view>> kArrows = {
      {"core", {}},
      {"protocol", {}},
      {"persistence", {"core"}},
      {"server", {"persistence", "protocol", "core"}},
      {"module", {"core"}},
  };
  return kArrows;
}

// A library that only one folder, and its tests, may know.
struct Confined {
  std::string_view prefix;  // of what is included
  std::string_view folder;
};

constexpr Confined kConfined[] = {
    {.prefix = "asio", .folder = "server"},
    {.prefix = "rocksdb/", .folder = "persistence"},
    {.prefix = "redismodule.h", .folder = "module"},
    {.prefix = "valkeymodule.h", .folder = "module"},
};

// "core/rules/limit.h" of `#include "core/rules/limit.h"`; "" of another line.
std::string_view Included(const SourceFile& file, std::size_t index) {
  constexpr std::string_view kDirective = "#include ";
  if (!file.code[index].starts_with(kDirective)) return "";
  std::string_view name = std::string_view(file.lines[index]).substr(kDirective.size());
  name = name.substr(0, name.find_first_of(">\"", 1));
  return name.empty() ? name : name.substr(1);
}

bool MayInclude(std::string_view from, std::string_view included) {
  const std::string_view to = included.substr(0, included.find('/'));
  if (from == to) return true;
  if (!Arrows().contains(from)) return true;
  const bool ours = Arrows().contains(to) || to == "tests" || to == "bench";
  return !ours || std::ranges::count(Arrows().at(from), to) > 0;
}

}  // namespace

Findings IncludeArrows(const SourceFile& file) {
  Findings findings;
  const std::string_view folder = Folder(file);
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const std::string_view included = Included(file, i);
    if (!MayInclude(folder, included)) {
      findings.push_back({file.path, i + 1,
                          std::string(folder) + " may not include " + std::string(included) +
                              ": the arrows are server -> persistence, protocol, core; "
                              "persistence -> core; module -> core"});
    }
    for (const auto& [prefix, owner] : kConfined) {
      const bool at_home =
          folder == owner || file.path.starts_with("tests/" + std::string(owner) + "/");
      if (included.starts_with(prefix) && !at_home) {
        findings.push_back({file.path, i + 1,
                            std::string(included) + " belongs to " + std::string(owner) +
                                "/: give it an interface there"});
      }
    }
  }
  return findings;
}

Findings PragmaOnce(const SourceFile& file) {
  if (!IsHeader(file)) return {};
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (file.code[i].find_first_not_of(' ') == std::string::npos) continue;
    if (file.code[i] == "#pragma once") return {};
    return {{file.path, i + 1, "the first line of code of a header is `#pragma once`"}};
  }
  return {{file.path, 0, "the header has no code"}};
}

}  // namespace weir::tidy
