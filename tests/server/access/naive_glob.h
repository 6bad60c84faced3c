// A matcher of patterns that is as plain as their definition, against which tests compare
// MatchesGlob.
//
// Pure; thread-safe. Cost: the elements of the pattern times the bytes of the text.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"

namespace weir {

// One element of a pattern, expanded: the set of bytes that it matches, letters in both cases.
struct GlobElement {
  bool is_star = false;
  std::bitset<256> takes = {};
};

namespace naive_glob {

inline int Folded(char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); }

// Marks the bytes whose lower case is in a range. Bytes are ordered as signed numbers.
inline void TakeRange(char from, char to, std::bitset<256>& takes) {
  auto low = static_cast<std::int8_t>(Folded(from));
  auto high = static_cast<std::int8_t>(Folded(to));
  if (low > high) std::swap(low, high);
  for (int byte = 0; byte < 256; ++byte) {
    const auto folded = static_cast<std::int8_t>(Folded(static_cast<char>(byte)));
    if (folded >= low && folded <= high) takes.set(static_cast<std::size_t>(byte));
  }
}

// Consumes "...]" at the front of a pattern: a set, after its opening bracket.
inline std::bitset<256> TakeSet(std::string_view& pattern) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  std::bitset<256> takes;
  while (!pattern.empty() && pattern[0] != ']') {
    std::size_t bytes = 1;
    if (pattern[0] == '\\' && pattern.size() >= 2) {
      bytes = 2;
      TakeRange(pattern[1], pattern[1], takes);
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      bytes = 3;
      TakeRange(pattern[0], pattern[2], takes);
    } else {
      TakeRange(pattern[0], pattern[0], takes);
    }
    pattern.remove_prefix(bytes);
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  return negated ? ~takes : takes;
}

inline std::vector<GlobElement> ElementsOf(std::string_view pattern) {
  std::vector<GlobElement> elements;
  while (!pattern.empty()) {
    char c = pattern[0];
    pattern.remove_prefix(1);
    GlobElement element{.is_star = c == '*'};
    if (c == '?') {
      element.takes.set();
    } else if (c == '[') {
      element.takes = TakeSet(pattern);
    } else {
      if (c == '\\' && !pattern.empty()) {
        c = pattern[0];
        pattern.remove_prefix(1);
      }
      TakeRange(c, c, element.takes);
    }
    elements.push_back(element);
  }
  return elements;
}

}  // namespace naive_glob

// True if the whole of `text` matches. The pattern may have any length.
inline bool MatchesGlobNaively(std::string_view pattern, std::string_view text) {
  // reached[i]: the first i bytes of the text match the elements so far.
  std::vector<bool> reached(text.size() + 1, false);
  reached[0] = true;
  for (const GlobElement& element : naive_glob::ElementsOf(pattern)) {
    std::vector<bool> next(reached.size(), false);
    for (std::size_t i = 0; i < next.size(); ++i) {
      const bool takes_byte = i > 0 && element.takes.test(static_cast<unsigned char>(text[i - 1]));
      next[i] =
          element.is_star ? reached[i] || (i > 0 && next[i - 1]) : takes_byte && reached[i - 1];
    }
    reached = std::move(next);
  }
  return reached.back();
}

}  // namespace weir
