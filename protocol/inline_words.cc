#include "protocol/inline_words.h"

#include <optional>

#include "core/base/check.h"
#include "protocol/hex_digit.h"

namespace weir {
namespace {

// Returns the byte that "\n", "\t" and so on stand for; any other letter stands for itself.
char EscapedByte(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return letter;
  }
}

// Takes the escape at the front of `rest` and appends the byte that it stands for. Requires: a
// backslash and at least one more byte.
void UnescapeOne(std::string_view& rest, std::string& unquoted) {
  WEIR_CHECK(rest.size() >= 2);
  if (rest.size() >= 4 && rest[1] == 'x') {
    const std::optional<unsigned> high = HexDigit(rest[2]);
    const std::optional<unsigned> low = HexDigit(rest[3]);
    if (high.has_value() && low.has_value()) {
      unquoted.push_back(static_cast<char>(*high * 16 + *low));
      rest.remove_prefix(4);
      return;
    }
  }
  unquoted.push_back(EscapedByte(rest[1]));
  rest.remove_prefix(2);
}

// Takes the quoted part at the front of `rest`, with its quotes, and appends the bytes between
// them. False if the closing quote is missing, or is followed by something other than a blank.
bool UnquoteOne(std::string_view& rest, std::string& unquoted) {
  WEIR_CHECK(!rest.empty());
  const char quote = rest.front();
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != quote) {
    if (rest.size() >= 2 && rest[0] == '\\' && (quote == '"' || rest[1] == '\'')) {
      UnescapeOne(rest, unquoted);
    } else {
      unquoted.push_back(rest.front());
      rest.remove_prefix(1);
    }
  }
  if (rest.empty()) return false;
  rest.remove_prefix(1);
  return rest.empty() || IsBlank(rest.front());
}

// The number of bytes before the next quote or blank.
std::size_t BareBytes(std::string_view rest) {
  std::size_t bytes = 0;
  while (bytes < rest.size() && !IsBlank(rest[bytes]) && rest[bytes] != '"' &&
         rest[bytes] != '\'') {
    ++bytes;
  }
  return bytes;
}

void SkipBlanks(std::string_view& rest) {
  while (!rest.empty() && IsBlank(rest.front())) rest.remove_prefix(1);
}

}  // namespace

absl::Status SplitInlineWords(std::string_view line, std::size_t words_max,
                              std::vector<std::string_view>& words, std::string& unquoted) {
  words.clear();
  unquoted.clear();
  std::string_view rest = line;
  for (SkipBlanks(rest); !rest.empty(); SkipBlanks(rest)) {
    if (words.size() == words_max) {
      return absl::InvalidArgumentError("too many arguments in inline request");
    }
    const std::size_t bare_bytes = BareBytes(rest);
    const std::string_view bare = rest.substr(0, bare_bytes);
    rest.remove_prefix(bare_bytes);
    if (rest.empty() || IsBlank(rest.front())) {
      words.push_back(bare);
      continue;
    }
    // A quote follows. Unquoted text is never longer than its line, so with this room `unquoted`
    // does not move, and views into it stay valid.
    unquoted.reserve(line.size());
    const std::size_t begin = unquoted.size();
    unquoted += bare;
    if (!UnquoteOne(rest, unquoted)) {
      return absl::InvalidArgumentError("unbalanced quotes in request");
    }
    WEIR_CHECK(unquoted.size() <= line.size());
    words.push_back(std::string_view(unquoted).substr(begin));
  }
  return absl::OkStatus();
}

}  // namespace weir
