// Rules about the Markdown pages: their links, the index of docs/, the promises, README's length.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

constexpr std::string_view kReadme = "README.md";
constexpr std::string_view kIndex = "docs/README.md";
constexpr std::string_view kPromises = "docs/promises.md";

bool IsPage(std::string_view path) { return path.ends_with(".md"); }

struct PageLine {
  std::size_t number = 0;  // from 1
  std::string_view text;
};

// The lines of a page outside of its blocks of code.
std::vector<PageLine> ProseLines(const SourceFile& page) {
  std::vector<PageLine> lines;
  bool fenced = false;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    std::string_view text = page.lines[i];
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.starts_with("```")) {
      fenced = !fenced;
    } else if (!fenced) {
      lines.push_back({i + 1, text});
    }
  }
  return lines;
}

// The texts between pairs of backticks; `rest` gets what is around them.
std::vector<std::string> CodeSpans(std::string_view line, std::string& rest) {
  std::vector<std::string> spans;
  for (std::size_t open = line.find('`'); open != std::string_view::npos; open = line.find('`')) {
    const std::size_t close = line.find('`', open + 1);
    if (close == std::string_view::npos) break;
    rest.append(line.substr(0, open));
    spans.emplace_back(line.substr(open + 1, close - open - 1));
    line.remove_prefix(close + 1);
  }
  rest.append(line);
  return spans;
}

struct PageLink {
  std::size_t line = 0;
  std::string target;  // as written: "commands.md#options"
};

// The relative links of a page.
std::vector<PageLink> RelativeLinks(const SourceFile& page) {
  std::vector<PageLink> links;
  for (const PageLine& line : ProseLines(page)) {
    std::string prose;
    CodeSpans(line.text, prose);
    std::string_view rest = prose;
    for (std::size_t at = rest.find("]("); at != std::string_view::npos; at = rest.find("](")) {
      rest.remove_prefix(at + 2);
      const std::string_view target = rest.substr(0, rest.find_first_of(") "));
      const bool absolute =
          target.find("://") != std::string_view::npos || target.starts_with("mailto:");
      if (!absolute) links.push_back({line.number, std::string(target)});
    }
  }
  return links;
}

// The path that a link of a page leads to, and its anchor, both without a '#'.
struct LinkPlace {
  std::string path;
  std::string anchor;
};

LinkPlace PlaceOf(const SourceFile& page, std::string_view target) {
  const std::size_t hash = std::min(target.find('#'), target.size());
  LinkPlace place{page.path, std::string(target.substr(std::min(hash + 1, target.size())))};
  if (hash > 0) {
    const std::filesystem::path folder = std::filesystem::path(page.path).parent_path();
    place.path = (folder / target.substr(0, hash)).lexically_normal().generic_string();
    if (place.path.ends_with('/')) place.path.pop_back();
  }
  return place;
}

// The anchor of a title as GitHub makes it: letters in lower case, digits, '-' and '_' stay, and a
// blank becomes a '-'.
std::string AnchorOf(std::string_view title) {
  std::string anchor;
  for (const char byte : title) {
    const auto letter = static_cast<unsigned char>(byte);
    const bool stays = std::isalnum(letter) != 0 || byte == '-' || byte == '_' || letter >= 0x80U;
    if (stays) anchor.push_back(static_cast<char>(std::tolower(letter)));
    if (byte == ' ') anchor.push_back('-');
  }
  return anchor;
}

// A title that a page has twice gets a number: "log", then "log-1".
std::set<std::string> AnchorsOf(const SourceFile& page) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  for (const PageLine& line : ProseLines(page)) {
    const std::size_t level = std::min(line.text.find_first_not_of('#'), line.text.size());
    if (level == 0 || level == line.text.size() || line.text[level] != ' ') continue;
    const std::string anchor = AnchorOf(line.text.substr(level + 1));
    const int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return anchors;
}

// Whether a file has `name` as a word.
bool HasWord(const SourceFile& file, std::string_view name) {
  return std::ranges::any_of(file.lines,
                             [name](const std::string& line) { return ContainsWord(line, name); });
}

}  // namespace

Findings ReadmeLength(const SourceFile& file) {
  if (file.path != kReadme) return {};
  const std::size_t lines = file.lines.size();
  if (lines >= kReadmeLinesMin && lines <= kReadmeLinesMax) return {};
  return {{file.path, 0,
           std::to_string(lines) + " lines: it has " + std::to_string(kReadmeLinesMin) + " to " +
               std::to_string(kReadmeLinesMax) + ", the rest belongs to docs/"}};
}

Findings PagesOutsideTheIndex(const std::vector<SourceFile>& tree) {
  std::map<std::string, int> links;
  for (const SourceFile& file : tree) {
    if (file.path != kIndex) continue;
    for (const PageLink& link : RelativeLinks(file)) ++links[PlaceOf(file, link.target).path];
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    const bool indexed = Folder(file) == "docs" && IsPage(file.path) && file.path != kIndex;
    if (indexed && links[file.path] != 1) {
      findings.push_back({file.path, 0,
                          std::string(kIndex) + " links it " + std::to_string(links[file.path]) +
                              " times, not once"});
    }
  }
  return findings;
}

Findings BrokenLinks(const std::vector<SourceFile>& tree,
                     const std::function<bool(const std::string&)>& exists) {
  std::map<std::string, std::set<std::string>> anchors;  // by page
  for (const SourceFile& file : tree) {
    if (IsPage(file.path)) anchors[file.path] = AnchorsOf(file);
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    if (!IsPage(file.path)) continue;
    for (const PageLink& link : RelativeLinks(file)) {
      const LinkPlace place = PlaceOf(file, link.target);
      if (!exists(place.path)) {
        findings.push_back(
            {file.path, link.line, "a link to " + place.path + ", which is missing"});
      } else if (!place.anchor.empty() && anchors.contains(place.path) &&
                 !anchors[place.path].contains(place.anchor)) {
        findings.push_back(
            {file.path, link.line, place.path + " has no title with the anchor #" + place.anchor});
      }
    }
  }
  return findings;
}

Findings UntestedPromises(const std::vector<SourceFile>& tree) {
  std::map<std::string, const SourceFile*> files;
  for (const SourceFile& file : tree) files[file.path] = &file;
  const auto page = files.find(std::string(kPromises));
  if (page == files.end()) return {};
  Findings findings;
  const SourceFile* test = nullptr;  // that the present item of a list is about
  for (const PageLine& line : ProseLines(*page->second)) {
    if (line.text.empty() || line.text.starts_with("- ")) test = nullptr;
    std::string prose;
    for (const std::string& code : CodeSpans(line.text, prose)) {
      if (code.starts_with("tests/")) {
        test = files.contains(code) ? files[code] : nullptr;
        if (test == nullptr) findings.push_back({page->first, line.number, code + " is missing"});
      } else if (test != nullptr && !HasWord(*test, code)) {
        findings.push_back({page->first, line.number, test->path + " has no test " + code});
      }
    }
  }
  return findings;
}

}  // namespace weir::tidy
