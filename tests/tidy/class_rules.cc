// The rule about the public functions of a class.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/tidy/rules.h"

namespace weir::tidy {
namespace {

bool IsNameByte(char byte) { return std::isalnum(static_cast<unsigned char>(byte)) || byte == '_'; }

// The words of a declaration from its first one that stands neither in a template's parameters nor
// in an attribute.
std::string_view WithoutPrefixes(std::string_view head) {
  for (;;) {
    while (head.starts_with(' ')) head.remove_prefix(1);
    const bool is_attribute = head.starts_with("[[");
    if (!is_attribute && !head.starts_with("template <")) return head;
    int open = 0;
    std::size_t end = 0;
    for (bool closed = false; end < head.size() && !closed; ++end) {
      const bool opens = head[end] == (is_attribute ? '[' : '<');
      const bool closes = head[end] == (is_attribute ? ']' : '>');
      open += opens ? 1 : closes ? -1 : 0;
      closed = closes && open == 0;
    }
    head.remove_prefix(end);
  }
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view FirstWord(std::string_view head) {
  return head.substr(0, std::ranges::find_if_not(head, IsNameByte) - head.begin());
}

// The parameter lists of a head are written "()": see ClassReader. A function's name stands before
// the first one that is no template argument. What annotates a variable is a macro with a name
// like WEIR_X.
bool DeclaresFunction(std::string_view head) {
  head = WithoutPrefixes(head);
  if (IsOneOf(FirstWord(head), {"using", "friend", "typedef", "static_assert"})) return false;
  while (head.ends_with(' ')) head.remove_suffix(1);
  if (IsOneOf(head.substr(head.rfind(' ') + 1), {"delete", "default", "override"})) return false;
  if (head.find("operator") != std::string_view::npos) return true;
  int angles = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++angles;
    if (head[i] == '>') --angles;
    if (angles > 0) continue;
    if (head[i] == '=') return false;
    if (head[i] != '(') continue;
    std::size_t begin = i;
    while (begin > 0 && IsNameByte(head[begin - 1])) --begin;
    const std::string_view name = head.substr(begin, i - begin);
    const bool is_macro = name.find('_') != std::string_view::npos &&
                          std::ranges::none_of(name, [](char byte) { return std::islower(byte); });
    return !name.empty() && name != "alignas" && !is_macro;
  }
  return false;
}

struct Class {
  std::string name;
  std::size_t line = 0;  // of the first word of its head
  std::size_t functions = 0;
};

// Counts the public functions of the classes of a file, byte after byte of its code.
class ClassReader {
 public:
  void Read(char byte, std::size_t line) {
    if (body_depth_ > 0) {  // in a function or a value
      body_depth_ += byte == '{' ? 1 : byte == '}' ? -1 : 0;
    } else if (parentheses_ > 0 || byte == '(') {
      parentheses_ += byte == '(' ? 1 : byte == ')' ? -1 : 0;
      const bool is_outer = (byte == '(' && parentheses_ == 1) || parentheses_ == 0;
      if (is_outer) Append(byte, line);
    } else if (byte == '{') {
      Open();
    } else if (byte == '}') {
      if (!blocks_.empty()) Close();
      head_.clear();
    } else if (byte == ';') {
      if (IsCounted() && DeclaresFunction(head_)) ++blocks_.back().of.functions;
      head_.clear();
    } else if (byte == ':' && IsOneOf(head_, {"public", "protected", "private"})) {
      if (!blocks_.empty()) blocks_.back().is_public = head_ == "public";
      head_.clear();
    } else if (byte != ' ' || (!head_.empty() && !head_.ends_with(' '))) {
      Append(byte, line);
    }
  }

  [[nodiscard]] const std::vector<Class>& classes() const { return classes_; }

 private:
  struct Block {
    bool is_class = false;  // false: a namespace
    bool is_public = false;
    Class of;
  };

  [[nodiscard]] bool IsCounted() const { return !blocks_.empty() && blocks_.back().is_public; }

  // A '{' behind the head: of a namespace, of a class, of a member's value, or of a function.
  void Open() {
    const std::string_view head = WithoutPrefixes(head_);
    const std::string_view kind = FirstWord(head);
    if (kind == "namespace" || kind == "extern") {
      blocks_.emplace_back();
      head_.clear();
      return;
    }
    if (IsOneOf(kind, {"class", "struct", "union"}) && head.find(" = ") == std::string_view::npos) {
      blocks_.push_back({.is_class = true,
                         .is_public = kind != "class",
                         .of = {.name = NameIn(head), .line = head_line_}});
      head_.clear();
      return;
    }
    body_depth_ = 1;
    // The value of a member in a constructor's list is no body: `Foo() : size_{1} {}`.
    const bool is_value = head_.find(") :") != std::string::npos && IsNameByte(head_.back());
    if (is_value || !DeclaresFunction(head_)) return;
    if (IsCounted()) ++blocks_.back().of.functions;
    head_.clear();
  }

  void Close() {
    if (blocks_.back().is_class) classes_.push_back(std::move(blocks_.back().of));
    blocks_.pop_back();
  }

  // "Hold" for "class ABSL_X Hold final : public Base".
  static std::string NameIn(std::string_view head) {
    head = head.substr(0, head.find(" : "));
    while (head.ends_with(' ')) head.remove_suffix(1);
    if (head.ends_with(" final")) head.remove_suffix(6);
    return std::string(head.substr(head.rfind(' ') + 1));
  }

  void Append(char byte, std::size_t line) {
    if (head_.empty()) head_line_ = line;
    head_.push_back(byte);
  }

  std::string head_;  // the code since the last statement or block, without what "()" hold
  std::size_t head_line_ = 0;
  int parentheses_ = 0;  // that are open within the head
  int body_depth_ = 0;
  std::vector<Block> blocks_;  // that are open
  std::vector<Class> classes_;
};

constexpr std::string_view kWaiver = "// public-functions: ";

// The number of a waiver; nothing if the line is none, or gives no reason.
std::optional<std::size_t> Waived(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  if (!line.starts_with(kWaiver)) return std::nullopt;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.begin() + kWaiver.size(), line.end(), number);
  const std::string_view reason(end, static_cast<std::size_t>(line.end() - end));
  return error == std::errc() && reason.starts_with(", ") ? std::optional(number) : std::nullopt;
}

}  // namespace

Findings ManyPublicFunctions(const SourceFile& file) {
  if (!IsCpp(file) || IsOneOf(Folder(file), {"tests", "bench", "clients", "contrib"})) return {};
  ClassReader reader;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    if (file.code[i].starts_with('#')) continue;
    for (const char byte : file.code[i]) reader.Read(byte, i + 1);
    reader.Read(' ', i + 1);  // for the end of the line
  }
  Findings findings;
  for (const Class& one : reader.classes()) {
    const std::optional<std::size_t> waived =
        one.line >= 2 ? Waived(file.lines[one.line - 2]) : std::nullopt;
    const std::string found =
        one.name + " has " + std::to_string(one.functions) + " public functions, ";
    if (one.functions > waived.value_or(kPublicFunctionsMax)) {
      findings.push_back({file.path, one.line,
                          found + "at most " + std::to_string(kPublicFunctionsMax) +
                              " fit into a reader's head: find the second noun in it"});
    } else if (waived && one.functions <= kPublicFunctionsMax) {
      findings.push_back({file.path, one.line - 1, found + "and needs no waiver"});
    }
  }
  return findings;
}

}  // namespace weir::tidy
