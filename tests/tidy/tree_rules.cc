// Rules about the tree as a whole.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

using Words = std::set<std::string, std::less<>>;

// The words of a CMakeLists.txt, without its comments.
Words CMakeWords(const SourceFile& list) {
  Words words;
  for (std::string_view line : list.lines) {
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const std::size_t length = std::min(line.find_first_of(" ()\""), line.size());
      words.emplace(line.substr(0, length));
      line.remove_prefix(std::min(length + 1, line.size()));
    }
  }
  return words;
}

// `path` without its extension.
std::string_view Stem(std::string_view path) { return path.substr(0, path.rfind('.')); }

// A header's path as an #include names it.
std::string_view IncludedAs(std::string_view path) {
  constexpr std::string_view kOwnRoot = "clients/cpp/";
  return path.starts_with(kOwnRoot) ? path.substr(kOwnRoot.size()) : path;
}

// Headers of tests and benchmarks belong to no library.
bool IsOfTests(const SourceFile& file) {
  return Folder(file) == "tests" || Folder(file) == "bench";
}

// Whether the CMakeLists.txt in `folder` lists `file`: by its path from `folder`; a header by its
// source's path; a test by its name after its folder's, as weir_tests() takes them; a fuzz target
// or a benchmark without the extension.
bool IsListed(const SourceFile& file, std::string_view folder, const Words& list) {
  const std::string_view path = file.path;
  const std::string_view from_folder = path.substr(folder.empty() ? 0 : folder.size() + 1);
  if (list.contains(from_folder)) return true;
  if (IsHeader(file) && list.contains(std::string(Stem(from_folder)) + ".cc")) return true;
  if (!IsOfTests(file)) return false;
  const std::string_view from_top = path.substr(path.find('/') + 1);
  const std::size_t slash = std::min(from_top.rfind('/'), from_top.size());
  if (list.contains(from_top.substr(0, slash)) && list.contains(path.substr(path.rfind('/') + 1))) {
    return true;
  }
  return list.contains(Stem(from_folder)) || list.contains(Stem(from_top));
}

// Whether some file includes `header`.
bool IsIncluded(const std::vector<SourceFile>& tree, const std::string& header) {
  const std::string line = "#include \"" + header + "\"";
  return std::ranges::any_of(
      tree, [&](const SourceFile& file) { return std::ranges::count(file.lines, line) > 0; });
}

// The number of assertions in a line of code.
std::size_t AssertionsIn(std::string_view code) {
  std::size_t count = 0;
  for (const std::string_view name : {"WEIR_CHECK(", "WEIR_DCHECK(", "AssertHeld("}) {
    for (std::size_t at = 0; (at = code.find(name, at)) != std::string_view::npos; ++at) ++count;
  }
  return count;
}

}  // namespace

Findings FewAssertions(const std::vector<SourceFile>& tree) {
  Findings findings;
  for (const std::string_view room :
       {"server/net/", "server/replicas/", "server/session/", "server/state/"}) {
    std::size_t lines = 0;
    std::size_t assertions = 0;
    for (const SourceFile& file : tree) {
      if (!file.path.starts_with(room)) continue;
      lines += file.lines.size();
      for (const std::string& code : file.code) assertions += AssertionsIn(code);
    }
    if (1000 * assertions >= kAssertionsMin * lines) continue;
    findings.push_back({std::string(room), 0,
                        std::to_string(assertions) + " assertions in " + std::to_string(lines) +
                            " lines: check what must hold at least " +
                            std::to_string(kAssertionsMin) + " times in 1,000"});
  }
  return findings;
}

Findings OwnHeaderFirst(const std::vector<SourceFile>& tree) {
  std::set<std::string, std::less<>> headers;
  for (const SourceFile& file : tree) {
    if (IsHeader(file)) headers.insert(file.path);
  }
  Findings findings;
  for (const SourceFile& file : tree) {
    const std::string own = std::string(Stem(file.path)) + ".h";
    if (!file.path.ends_with(".cc") || !headers.contains(own)) continue;
    const auto first = std::ranges::find_if(
        file.code, [](const std::string& line) { return line.starts_with("#include "); });
    const auto index = static_cast<std::size_t>(first - file.code.begin());
    const std::string included = std::string(IncludedAs(own));
    const std::string wanted = "#include \"" + included + "\"";
    if (first == file.code.end() || file.lines[index] != wanted) {
      findings.push_back({file.path, first == file.code.end() ? 0 : index + 1,
                          "the first that it includes is " + included});
    }
  }
  return findings;
}

Findings DeadFiles(const std::vector<SourceFile>& tree) {
  std::map<std::string, Words> lists;  // by folder
  for (const SourceFile& file : tree) {
    const std::filesystem::path path = file.path;
    if (path.filename() == "CMakeLists.txt") {
      lists[path.parent_path().generic_string()] = CMakeWords(file);
    }
  }

  Findings findings;
  for (const SourceFile& file : tree) {
    if (!IsCpp(file) && !file.path.ends_with("_test.py")) continue;
    std::string folder = file.path;
    do {
      folder = std::filesystem::path(folder).parent_path().generic_string();
    } while (!folder.empty() && !lists.contains(folder));
    const bool included = IsHeader(file) && IsOfTests(file) && IsIncluded(tree, file.path);
    if (!IsListed(file, folder, lists[folder]) && !included) {
      findings.push_back({file.path, 0, "not named in " + folder + "/CMakeLists.txt"});
    }
  }
  return findings;
}

}  // namespace weir::tidy
