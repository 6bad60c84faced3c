#include "core/commands/command_syntax.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/check.h"
#include "core/base/status.h"

namespace weir {
namespace {

Argument::Type TypeOf(std::string_view name) {
  constexpr auto kIntegers = std::to_array<std::string_view>(
      {"bits", "client-id", "cost", "count", "count-per-period", "cursor", "index", "max-burst",
       "newest-version", "offset", "oldest-version", "port", "protover", "milliseconds", "quantity",
       "rows", "period-seconds", "term", "tokens"});
  if (name == "key") return Argument::Type::kKey;
  if (name == "pattern") return Argument::Type::kPattern;
  if (name == "unix-time-ns") return Argument::Type::kUnixTime;
  const bool is_integer = std::ranges::find(kIntegers, name) != kIntegers.end();
  return is_integer ? Argument::Type::kInteger : Argument::Type::kString;
}

std::string WithoutGroups(std::string_view syntax) {
  std::string shown;
  for (const char c : syntax) {
    if (c == '=') {
      shown.erase(shown.find_last_of(" [|") + 1);  // the group's name
    } else if (c != '(' && c != ')') {
      shown += c;
    }
  }
  return shown;
}

// Reads the grammar of the header, a function for each of its rules.
class SyntaxReader {
 public:
  explicit SyntaxReader(std::string_view syntax) : rest_(syntax) {}

  std::vector<Argument> ReadAll() {
    std::vector<Argument> arguments;
    if (rest_.empty()) return arguments;
    do arguments.push_back(ReadArgument());
    while (Skip(" "));
    WEIR_CHECK(rest_.empty());
    return arguments;
  }

 private:
  bool Skip(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  Argument ReadArgument() {
    if (Skip("[")) {
      Argument argument = ReadValue();
      argument.optional = true;
      argument.multiple = Skip(" ...");
      WEIR_CHECK(Skip("]"));
      return argument;
    }
    const std::string_view begin = rest_;
    Argument argument = ReadValue();
    const std::string value = WithoutGroups(begin.substr(0, begin.size() - rest_.size()));
    argument.multiple = Skip(absl::StrCat(" [", value, " ...]"));
    return argument;
  }

  Argument ReadValue() {
    Argument argument;
    if (absl::ascii_isupper(Front())) {
      argument.token = ReadWord();
      argument.name = absl::AsciiStrToLower(argument.token);
      argument.type = Argument::Type::kToken;
      const std::string_view next = rest_.substr(0, 2);
      const auto last = static_cast<unsigned char>(next.empty() ? ' ' : next.back());
      const bool has_value = next.starts_with(' ') && (last == '(' || absl::ascii_islower(last));
      if (!has_value) return argument;
      WEIR_CHECK(Skip(" "));
    }
    if (Front() != '(') {
      argument.name = ReadWord();
      argument.type = TypeOf(argument.name);
      if (!Skip("=")) return argument;
    }
    ReadGroup(argument);
    return argument;
  }

  void ReadGroup(Argument& group) {
    WEIR_CHECK(!group.name.empty());
    WEIR_CHECK(Skip("("));
    group.parts.push_back(ReadArgument());
    const bool is_choice = rest_.starts_with('|');
    group.type = is_choice ? Argument::Type::kOneOf : Argument::Type::kBlock;
    while (Skip(is_choice ? "|" : " ")) group.parts.push_back(ReadArgument());
    WEIR_CHECK(Skip(")"));
  }

  std::string ReadWord() {
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" ()[]|="));
    WEIR_CHECK(!word.empty());
    rest_.remove_prefix(word.size());
    return std::string(word);
  }

  [[nodiscard]] unsigned char Front() const {
    return rest_.empty() ? '\0' : static_cast<unsigned char>(rest_.front());
  }

  std::string_view rest_;
};

}  // namespace

std::vector<Argument> ArgumentsOf(const CommandSpec& spec) {
  return SyntaxReader(spec.syntax).ReadAll();
}

std::string CommandSyntax(const CommandSpec& spec) {
  return absl::StrCat(absl::StrReplaceAll(AbslView(spec.name), {{"|", " "}}),
                      spec.syntax.empty() ? "" : " ", WithoutGroups(spec.syntax));
}

}  // namespace weir
