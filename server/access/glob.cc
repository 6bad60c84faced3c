#include "server/access/glob.h"

#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"

namespace weir {
namespace {

using Fold = char (*)(char);

char ToLower(char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); }
char AsItIs(char c) { return c; }

// One element of a pattern other than '*': its length in the pattern, and whether it matches a
// byte.
struct Element {
  std::size_t bytes;
  bool matches;
};

// Matches the set "[...]" at the front of `pattern`. A set without ']' reaches to the end of the
// pattern. As in Redis, a range may run backwards, and ']' may be the end of a range.
template <Fold kFold>
Element MatchSet(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '^';
  if (negated) ++i;
  bool found = false;
  for (; i < pattern.size() && pattern[i] != ']'; ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
      found = found || kFold(pattern[i]) == kFold(c);
      continue;
    }
    char low = kFold(pattern[i]);
    char high = low;
    if (i + 2 < pattern.size() && pattern[i + 1] == '-') {
      high = kFold(pattern[i + 2]);
      i += 2;
    }
    if (low > high) std::swap(low, high);
    found = found || (kFold(c) >= low && kFold(c) <= high);
  }
  return {i < pattern.size() ? i + 1 : i, found != negated};
}

template <Fold kFold>
Element MatchOne(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {1, true};
  if (pattern[0] == '[') return MatchSet<kFold>(pattern, c);
  if (pattern[0] == '\\' && pattern.size() > 1) return {2, kFold(pattern[1]) == kFold(c)};
  return {1, kFold(pattern[0]) == kFold(c)};
}

template <Fold kFold>
bool Matches(std::string_view pattern, std::string_view text) noexcept {
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
      const Element element = MatchOne<kFold>(pattern.substr(p), text[t]);
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

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) noexcept {
  return pattern.size() <= kGlobPatternBytesMax && Matches<ToLower>(pattern, text);
}

bool MatchesChannel(std::string_view pattern, std::string_view channel) noexcept {
  return Matches<AsItIs>(pattern, channel);
}

}  // namespace weir
