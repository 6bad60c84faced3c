#include "server/config/spelled_settings.h"

#include <cstddef>
#include <utility>

#include "core/base/check.h"

namespace weir {
namespace {

constexpr char kMark = '\x01';
constexpr std::string_view kSpelled = "\x01\"'\\`[({<";  // by 'a', 'b', ... after the mark

bool BeginsValueAfter(char last) {
  return last == '\n' || last == '=' || last == '[' || last == ',';
}

bool IsSpelled(char c) { return kSpelled.find(c) != std::string_view::npos; }

void AppendSpelled(char c, std::string& text) {
  WEIR_CHECK(IsSpelled(c));
  text += kMark;
  text += static_cast<char>('a' + kSpelled.find(c));
}

}  // namespace

std::string SpelledSettings(std::string_view text) {
  std::string kept;
  bool in_comment = false;
  char quote = '\0';     // 0: outside of quotes
  bool escapes = false;  // whether the last character takes the meaning from the next one
  char last = '\n';      // the last character that is not blank
  char before = '\n';    // the last character
  for (const char c : text) {
    const bool is_escaped = std::exchange(escapes, false);
    const char previous = std::exchange(before, c);
    bool is_mark = false;  // whether CLI11 is to see it
    if (c == '\n') {
      in_comment = false;
      quote = '\0';
    } else if (quote == '\0') {
      in_comment = in_comment || c == '#';
      const bool is_quote = c == '\'' || (c == '"' && previous != '\\');
      if (is_quote && BeginsValueAfter(last)) quote = c;
      is_mark = (is_quote && previous != c) || (c == '[' && (last == '\n' || last == '='));
    } else if (quote == '"' && c == '\\' && !is_escaped) {
      escapes = true;
    } else if (c == quote && !is_escaped) {
      quote = '\0';
      is_mark = true;
    }
    if (in_comment) continue;
    if (c != ' ' && c != '\t') last = c;
    if (is_mark || !IsSpelled(c)) {
      kept += c;
      continue;
    }
    if (c == '"' && previous == '\\' && quote != '\'') kept.resize(kept.size() - 2);
    AppendSpelled(c, kept);
  }
  return kept;
}

// The loop is plain because a password would stay on the stack, in saved registers, where a
// library's search is bound at its first call.
std::string Unspelled(std::string_view spelled) {
  std::string text;
  text.reserve(spelled.size());
  bool is_letter = false;
  for (const char c : spelled) {
    if (std::exchange(is_letter, !is_letter && c == kMark)) {
      const auto index = static_cast<std::size_t>(c - 'a');
      WEIR_CHECK(index < kSpelled.size());
      text += kSpelled[index];
    } else if (!is_letter) {
      text += c;
    }
  }
  return text;
}

}  // namespace weir
