#include "server/access/glob.h"

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"

namespace weir {
namespace {

char Fold(char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); }

// One element of a pattern other than '*': its length in the pattern, and whether it matches a
// byte.
struct Element {
  std::size_t bytes;
  bool matches;
};

// Matches the set "[...]" at the front of `pattern`. A set without ']' reaches to the end of the
// pattern. As in Redis, a range may run backwards, and ']' may be the end of a range.
Element MatchSet(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '^';
  if (negated) ++i;
  bool found = false;
  for (; i < pattern.size() && pattern[i] != ']'; ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
      found = found || Fold(pattern[i]) == Fold(c);
      continue;
    }
    char low = Fold(pattern[i]);
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-') {
      high = Fold(pattern[i + 2]);
      i += 2;
    }
    if (low > high) std::swap(low, high);
    found = found || (Fold(c) >= low && Fold(c) <= high);
  }
  return {i < pattern.size() ? i + 1 : i, found != negated};
}

Element MatchOne(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {1, true};
  if (pattern[0] == '[') return MatchSet(pattern, c);
  if (pattern[0] == '\\' && pattern.size() > 1) return {2, Fold(pattern[1]) == Fold(c)};
  return {1, Fold(pattern[0]) == Fold(c)};
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) noexcept {
  if (pattern.size() > kGlobPatternBytesMax) return false;
  std::size_t p = 0;
  std::size_t t = 0;
  // The place to continue from after a mismatch: behind the last '*', which then takes one byte
  // more. Earlier '*' need not take more: the last one can take the same bytes.
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      star_text = t;
      continue;
    }
    if (p < pattern.size()) {
      const Element element = MatchOne(pattern.substr(p), text[t]);
      if (element.matches) {
        p += element.bytes;
        ++t;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    p = star;
    t = ++star_text;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace weir
