// A text file as the rules of the tree see it, and a finding of a rule in a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace weir::tidy {

struct SourceFile {
  std::string path;                // from the root of the tree: "core/rules/limit.h"
  std::vector<std::string> lines;  // as written, without line ends
  std::vector<std::string>
      code;  // C++: `lines` with blanks for comments and for what literals hold
};

// Splits `text` into lines, and finds the code in them if `path` is that of a C++ file.
[[nodiscard]] SourceFile MakeSourceFile(std::string path, std::string_view text);

// The text files of the tree at `root`, by path, without built, downloaded or hidden files.
[[nodiscard]] std::vector<SourceFile> ReadTree(const std::filesystem::path& root);

// "core" for "core/rules/limit.h", "" for "CMakeLists.txt".
[[nodiscard]] std::string_view Folder(const SourceFile& file);

[[nodiscard]] bool IsCpp(const SourceFile& file);
[[nodiscard]] bool IsHeader(const SourceFile& file);

// Whether `line` contains `word` other than as part of a longer identifier: "rand(" is in
// "x = rand();", but not in "srand(1)".
[[nodiscard]] bool ContainsWord(std::string_view line, std::string_view word);

struct Finding {
  std::string path;
  std::size_t line;  // from 1; 0: the file as a whole
  std::string text;  // what is wrong, and what would be right

  friend bool operator==(const Finding&, const Finding&) = default;
};

using Findings = std::vector<Finding>;

// "core/rules/limit.h:12: text", one a line, as compilers do.
[[nodiscard]] std::string Report(const Findings& findings);

}  // namespace weir::tidy
