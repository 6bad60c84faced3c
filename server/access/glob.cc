#include "server/access/glob.h"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
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

// A pattern as an automaton: state i means that the first i elements match the beginning of the
// text, and all states are the bits of a number. Requires: at most 63 elements other than '*'.
template <Fold kFold>
class Automaton {
 public:
  explicit Automaton(std::string_view pattern) : pattern_(pattern) {
    for (std::uint64_t state = 1; !pattern.empty();) {
      if (pattern[0] == '*') {
        loops_ |= state;
        pattern.remove_prefix(1);
        continue;
      }
      pattern.remove_prefix(MatchOne<kFold>(pattern, 0).bytes);
      state <<= 1;
      end_ = state;
    }
  }

  [[nodiscard]] bool Matches(std::string_view text) {
    std::uint64_t states = 1;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (!is_known_[byte]) takers_[byte] = TakersOf(c);
      is_known_.set(byte);
      states = (states & takers_[byte]) << 1 | (states & loops_);
      if (states == 0) return false;
    }
    return (states & end_) != 0;
  }

 private:
  // The states whose next element takes the byte.
  [[nodiscard]] std::uint64_t TakersOf(char c) const {
    std::uint64_t takers = 0;
    std::uint64_t state = 1;
    for (std::string_view rest = pattern_; !rest.empty();) {
      if (rest[0] == '*') {
        rest.remove_prefix(1);
        continue;
      }
      const Element element = MatchOne<kFold>(rest, c);
      if (element.matches) takers |= state;
      rest.remove_prefix(element.bytes);
      state <<= 1;
    }
    return takers;
  }

  const std::string_view pattern_;
  std::array<std::uint64_t, 256> takers_{};  // of the bytes that have occurred
  std::bitset<256> is_known_;
  std::uint64_t loops_ = 0;  // the states before which a '*' stands
  std::uint64_t end_ = 1;    // the state after the last element
};

template <Fold kFold>
bool Matches(std::string_view pattern, std::string_view text) noexcept {
  // Most matches take a few steps. One that takes many has a '*', so that 64 bytes are at most 63
  // other elements.
  constexpr std::size_t kStepsMax = 512;
  constexpr std::size_t kAutomatonBytesMax = 64;
  std::size_t steps = 0;
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
      steps += element.bytes;
      if (element.matches) {
        p += element.bytes;
        ++t;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    if (steps > kStepsMax && pattern.size() <= kAutomatonBytesMax) {
      return Automaton<kFold>(pattern).Matches(text);
    }
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
