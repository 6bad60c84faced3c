#include "tests/tidy/source_file.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

namespace weir::tidy {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::string_view kCommentEnd = "*/";

bool IsIdentifierByte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_';
}

// Whether the quote at `at` is a digit separator, as in 10'000, and opens no literal.
bool IsDigitSeparator(std::string_view line, std::size_t at) {
  std::size_t start = at;
  while (start > 0 && (IsIdentifierByte(line[start - 1]) || line[start - 1] == '\'')) --start;
  return start < at && std::isdigit(static_cast<unsigned char>(line[start])) != 0;
}

// The end of the literal that opens at `at`: after its closing quote, or the end of the line.
std::size_t EndOfLiteral(std::string_view line, std::size_t at) {
  const char quote = line[at++];
  while (at < line.size() && line[at] != quote) at += line[at] == '\\' ? 2 : 1;
  return std::min(at + 1, line.size());
}

// Replaces comments and the text of literals by blanks, line after line; columns stay.
class CodeReader {
 public:
  std::string Next(std::string_view line) {
    std::string code(line);
    const auto blank = [&code](std::size_t from, std::size_t to) {
      std::fill(code.begin() + static_cast<std::ptrdiff_t>(from),
                code.begin() + static_cast<std::ptrdiff_t>(to), ' ');
    };
    std::size_t at = 0;
    while (at < line.size()) {
      const std::string_view rest = line.substr(at);
      if (!closing_.empty()) {
        const std::size_t length = std::min(rest.find(closing_), rest.size());
        blank(at, at + length);
        at += length;
        if (length == rest.size()) break;
        if (closing_ == kCommentEnd) blank(at, at + closing_.size());
        at += std::exchange(closing_, {}).size();
      } else if (rest.starts_with("//")) {
        blank(at, line.size());
        break;
      } else if (rest.starts_with("/*")) {
        blank(at, at + 2);
        closing_ = kCommentEnd;
        at += 2;
      } else if (rest.starts_with("R\"") && rest.find('(') != kNowhere) {
        const std::size_t bracket = rest.find('(');
        closing_ = ")" + std::string(rest.substr(2, bracket - 2)) + "\"";
        at += bracket + 1;
      } else if (rest.front() == '"' || (rest.front() == '\'' && !IsDigitSeparator(line, at))) {
        const std::size_t end = EndOfLiteral(line, at);
        blank(at + 1, std::max(at + 1, end - 1));
        at = end;
      } else {
        ++at;
      }
    }
    return code;
  }

 private:
  std::string closing_;  // what ends the open comment or raw string; empty: none is open
};

bool IsText(const std::filesystem::path& path) {
  static const std::set<std::string> kExtensions = {".cc",  ".h",  ".py",  ".md",  ".cmake",
                                                    ".sh",  ".pl", ".rb",  ".php", ".mjs",
                                                    ".lua", ".js", ".css", ".html"};
  static const std::set<std::string> kNames = {"CMakeLists.txt", "CMakePresets.json", "dev", "run"};
  return kExtensions.contains(path.extension().string()) ||
         kNames.contains(path.filename().string());
}

bool IsForeign(const std::filesystem::path& folder) {
  const std::string name = folder.filename().string();
  return name == "build" || name == "corpus" || name == "__pycache__" ||
         (name.starts_with('.') && name != ".ci");
}

}  // namespace

SourceFile MakeSourceFile(std::string path, std::string_view text) {
  SourceFile file{.path = std::move(path), .lines = {}, .code = {}};
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    file.lines.emplace_back(text.substr(0, length));
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  CodeReader reader;
  if (!IsCpp(file)) return file;
  for (const std::string& line : file.lines) file.code.push_back(reader.Next(line));
  return file;
}

std::vector<SourceFile> ReadTree(const std::filesystem::path& root) {
  std::vector<SourceFile> tree;
  for (auto entry = std::filesystem::recursive_directory_iterator(root);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    if (entry->is_directory() && IsForeign(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && IsText(entry->path())) {
      std::ostringstream text;
      text << std::ifstream(entry->path(), std::ios::binary).rdbuf();
      tree.push_back(
          MakeSourceFile(entry->path().lexically_relative(root).generic_string(), text.str()));
    }
  }
  std::ranges::sort(tree, {}, &SourceFile::path);
  return tree;
}

std::string_view Folder(const SourceFile& file) {
  const std::size_t slash = file.path.find('/');
  return slash == kNowhere ? "" : std::string_view(file.path).substr(0, slash);
}

bool IsCpp(const SourceFile& file) { return IsHeader(file) || file.path.ends_with(".cc"); }

bool IsHeader(const SourceFile& file) { return file.path.ends_with(".h"); }

bool ContainsWord(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != kNowhere; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool longer_before =
        at > 0 && IsIdentifierByte(word.front()) && IsIdentifierByte(line[at - 1]);
    const bool longer_behind =
        end < line.size() && IsIdentifierByte(word.back()) && IsIdentifierByte(line[end]);
    if (!longer_before && !longer_behind) return true;
  }
  return false;
}

std::string Report(const Findings& findings) {
  std::ostringstream report;
  for (const Finding& finding : findings) {
    report << finding.path << ':' << finding.line << ": " << finding.text << '\n';
  }
  return report.str();
}

}  // namespace weir::tidy
