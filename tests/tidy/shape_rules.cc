// Rules about the size and shape of lines, functions and files.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

// The columns of a UTF-8 line: its bytes without those that continue a character.
std::size_t Columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

// Whether a line of Markdown outside of code is prose that can be broken: no table, title, HTML or
// definition of a link, and more than one word behind a list's mark.
bool IsProse(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" -*+0123456789.)"), line.size()));
  if (line.starts_with('|') || line.starts_with('#') || line.starts_with('<')) return false;
  const bool defines_link = line.starts_with('[') && line.find("]: ") != std::string_view::npos;
  return !defines_link && line.find(' ') != std::string_view::npos;
}

// `head` without a leading "template <...>".
std::string_view WithoutTemplate(std::string_view head) {
  if (!head.starts_with("template <")) return head;
  int open = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++open;
    if (head[i] == '>' && --open == 0) return head.substr(std::min(i + 2, head.size()));
  }
  return head;
}

// Whether a block is the body of a function. `head` is the code between the previous statement and
// the block's '{'.
bool IsFunctionHead(std::string_view head) {
  head = WithoutTemplate(head);
  const std::string_view first_word = head.substr(0, head.find(' '));
  for (const std::string_view type : {"class", "struct", "union", "enum", "namespace"}) {
    if (first_word == type) return false;
  }
  return head.find('(') != std::string_view::npos;
}

// Whether a '{' after this head opens the value of a member: `Foo() : size_`.
bool IsInitializerHead(std::string_view head) {
  return head.find(") : ") != std::string_view::npos && !head.ends_with(' ');
}

// Finds the outermost functions of a file, byte after byte of its code.
class FunctionFinder {
 public:
  void Read(char byte, std::size_t line) {
    const bool opens = byte == '(' || byte == '{';
    const bool closes = byte == ')' || byte == '}';
    if (function_depth_ == 0 &&
        (nested_ > 0 || byte == '(' || (byte == '{' && IsInitializerHead(head_)))) {
      nested_ += opens ? 1 : closes ? -1 : 0;
      AppendToHead(byte, line);
    } else if (byte == '{') {
      ++depth_;
      if (function_depth_ == 0 && IsFunctionHead(head_)) {
        function_depth_ = depth_;
        function_line_ = head_line_;
      }
      head_.clear();
    } else if (byte == '}') {
      if (depth_ == function_depth_) {
        lengths_[function_line_] = line - function_line_ + 1;
        function_depth_ = 0;
      }
      --depth_;
      head_.clear();
    } else if (byte == ';' || (byte == ':' && IsAccess(head_))) {
      head_.clear();
    } else if (byte != ' ' || !head_.empty()) {
      AppendToHead(byte, line);
    }
  }

  // First line -> how many lines.
  [[nodiscard]] const std::map<std::size_t, std::size_t>& lengths() const { return lengths_; }

 private:
  static bool IsAccess(std::string_view head) {
    return head == "public" || head == "protected" || head == "private";
  }

  void AppendToHead(char byte, std::size_t line) {
    if (head_.empty()) head_line_ = line;
    head_.push_back(byte);
  }

  std::string head_;  // the code since the last statement or block
  std::size_t head_line_ = 0;
  int nested_ = 0;  // brackets that are open within the head
  std::size_t depth_ = 0;
  std::size_t function_depth_ = 0;  // of the body of the open function; 0: none is open
  std::size_t function_line_ = 0;
  std::map<std::size_t, std::size_t> lengths_;
};

}  // namespace

Findings Layout(const SourceFile& file) {
  Findings findings;
  const bool markdown = file.path.ends_with(".md");
  bool fenced = false;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    fenced ^= markdown && line.find("```") < line.find_first_not_of(" `");
    if (Columns(line) > kColumnsMax && (!markdown || (!fenced && IsProse(line)))) {
      findings.push_back({file.path, i + 1, "longer than 100 columns"});
    }
    if (line.find('\t') != std::string::npos) {
      findings.push_back({file.path, i + 1, "a tab: indent with blanks, write \\t in a literal"});
    }
    if (line.ends_with(' ') || line.ends_with('\r')) {
      findings.push_back({file.path, i + 1, "blanks at the end of the line"});
    }
  }
  if (!markdown && file.lines.size() > kFileLinesMax) {
    findings.push_back({file.path, 0, "longer than 500 lines: look for the second noun in it"});
  }
  return findings;
}

Findings LongFunctions(const SourceFile& file) {
  FunctionFinder finder;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (file.code[i].starts_with('#')) continue;
    for (const char byte : file.code[i]) finder.Read(byte, i + 1);
    finder.Read(' ', i + 1);  // for the end of the line
  }
  Findings findings;
  for (const auto& [line, length] : finder.lengths()) {
    if (length > kFunctionLinesMax) {
      findings.push_back({file.path, line,
                          "a function of " + std::to_string(length) + " lines, at most " +
                              std::to_string(kFunctionLinesMax) + " are readable at a glance"});
    }
  }
  return findings;
}

Findings OneTitle(const SourceFile& file) {
  if (!file.path.ends_with(".md")) return {};
  bool fenced = false;
  int titles = 0;
  for (const std::string& line : file.lines) {
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced && line.starts_with("# ")) ++titles;
  }
  if (titles == 1) return {};
  return {{file.path, 0, std::to_string(titles) + " titles (`# ...`): a page has one"}};
}

}  // namespace weir::tidy
