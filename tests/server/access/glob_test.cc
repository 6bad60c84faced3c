// Goal: patterns match what they match in Redis, and none takes long. Method: a table; every short
// text against random patterns, compared with a matcher that is as plain as the definition;
// patterns that ruin backtracking matchers.
#include "server/access/glob.h"

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/generators.h"
#include "tests/support/property.h"

namespace weir {
namespace {

// One element of a pattern, written out: which of the bytes 'a' to 'z' and others it takes.
struct Element {
  bool star = false;
  std::string takes = {};  // every byte that it takes, of kAlphabet
};

constexpr std::string_view kAlphabet = "abc-]^\\*";

std::string Span(char from, char to) {
  if (from > to) std::swap(from, to);
  std::string bytes;
  for (const char c : kAlphabet) {
    if (c >= from && c <= to) bytes += c;
  }
  return bytes;
}

// "[...]" behind its bracket.
std::string TakeSet(std::string_view& pattern) {
  const bool negated = pattern.starts_with('^');
  if (negated) pattern.remove_prefix(1);
  std::string bytes;
  while (!pattern.empty() && pattern[0] != ']') {
    if (pattern[0] == '\\' && pattern.size() >= 2) {
      bytes += pattern[1];
      pattern.remove_prefix(2);
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      bytes += Span(pattern[0], pattern[2]);
      pattern.remove_prefix(3);
    } else {
      bytes += pattern[0];
      pattern.remove_prefix(1);
    }
  }
  if (!pattern.empty()) pattern.remove_prefix(1);
  std::string taken;
  for (const char c : kAlphabet) {
    if ((bytes.find(c) != std::string::npos) != negated) taken += c;
  }
  return taken;
}

std::vector<Element> ElementsOf(std::string_view pattern) {
  std::vector<Element> elements;
  while (!pattern.empty()) {
    const char c = pattern[0];
    pattern.remove_prefix(1);
    if (c == '*') {
      elements.push_back({.star = true});
    } else if (c == '?') {
      elements.push_back({.takes = std::string(kAlphabet)});
    } else if (c == '[') {
      elements.push_back({.takes = TakeSet(pattern)});
    } else if (c == '\\' && !pattern.empty()) {
      elements.push_back({.takes = std::string(1, pattern[0])});
      pattern.remove_prefix(1);
    } else {
      elements.push_back({.takes = std::string(1, c)});
    }
  }
  return elements;
}

bool MatchesNaively(std::span<const Element> elements, std::string_view text) {
  if (elements.empty()) return text.empty();
  if (elements[0].star) {
    return MatchesNaively(elements.subspan(1), text) ||
           (!text.empty() && MatchesNaively(elements, text.substr(1)));
  }
  return !text.empty() && elements[0].takes.find(text[0]) != std::string::npos &&
         MatchesNaively(elements.subspan(1), text.substr(1));
}

TEST(GlobTest, Table) {
  struct Row {
    std::string_view pattern;
    std::string_view text;
    bool matches;
  };
  const Row rows[] = {
      {"", "", true},
      {"", "a", false},
      {"*", "", true},
      {"*", "anything", true},
      {"**", "", true},
      {"?", "", false},
      {"?", "a", true},
      {"?", "ab", false},
      {"a*", "a", true},
      {"a*", "ba", false},
      {"*a", "bcda", true},
      {"*a", "bcdab", false},
      {"a*b*c", "axxbyyc", true},
      {"a*b*c", "axxcyyb", false},
      {"max*", "maxmemory", true},
      {"max?lients", "maxclients", true},
      {"MAX*", "maxmemory", true},
      {"max*", "MAXMEMORY", true},
      {"[a-c]x", "Bx", true},
      {"[A-C]x", "bx", true},
      {"[abc]", "b", true},
      {"[abc]", "d", false},
      {"[^abc]", "d", true},
      {"[^abc]", "a", false},
      {"[a-c]", "b", true},
      {"[c-a]", "b", true},
      {"[a-]", "-", false},
      {"[a-", "-", true},
      {"[]", "a", false},
      {"[^]", "a", true},
      {"[", "[", false},
      {"[abc", "c", true},
      {"[\\]]", "]", true},
      {"[\\-x]", "-", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"\\", "\\", true},
      {"a\\", "a\\", true},
      {"\\[a]", "[a]", true},
      {"*\\?", "what?", true},
      {"rl.*", "rl.allow", true},
      {"rl.*", "rlxallow", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(MatchesGlob(row.pattern, row.text), row.matches) << row.pattern << " " << row.text;
}

TEST(GlobTest, MatchesAnyBytes) {
  using namespace std::string_literals;
  EXPECT_TRUE(MatchesGlob("a?b", "a\0b"s));
  EXPECT_TRUE(MatchesGlob("a\0b"s, "a\0b"s));
  EXPECT_FALSE(MatchesGlob("a\0b"s, "a\0c"s));
  EXPECT_TRUE(MatchesGlob("\xff*", "\xff\xfe"));
  EXPECT_TRUE(MatchesGlob("[\xf0-\xff]", "\xfe"));
}

// All texts of up to three bytes of the alphabet, and longer ones at random.
TEST(GlobTest, MatchesWhatThePlainDefinitionMatches) {
  std::vector<std::string> texts = {""};
  for (std::size_t begin = 0, length = 0; length < 3; ++length) {
    const std::size_t end = texts.size();
    for (; begin < end; ++begin) {
      for (const char c : kAlphabet) texts.push_back(texts[begin] + c);
    }
  }
  CheckLaw(1'000, [&] {
    std::string pattern;
    for (int i = *Between(0, 9); i > 0; --i)
      pattern += *rc::gen::elementOf(std::string("aabcc--[[[]]^\\**?"));
    const std::vector<Element> elements = ElementsOf(pattern);
    for (const std::string& text : texts) {
      RC_ASSERT(MatchesGlob(pattern, text) == MatchesNaively(elements, text));
    }
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (int j = *Between(4, 10); j > 0; --j) text += *rc::gen::elementOf(std::string("aabc-]"));
      RC_ASSERT(MatchesGlob(pattern, text) == MatchesNaively(elements, text));
    }
  });
}

// A matcher that tries every place for every star needs more steps here than there are atoms; this
// one some millions.
TEST(GlobTest, ManyStarsEnd) {
  const std::string text(100'000, 'a');
  const auto repeated = [](std::string_view part) {
    std::string pattern;
    while (pattern.size() + part.size() < kGlobPatternBytesMax) pattern += part;
    return pattern;
  };
  EXPECT_TRUE(MatchesGlob(repeated("*a"), text));
  EXPECT_FALSE(MatchesGlob(repeated("*a") + "b", text));
  EXPECT_FALSE(MatchesGlob(repeated("*[a-z]") + "b", text));
  EXPECT_TRUE(MatchesGlob(repeated("*"), text));
  EXPECT_FALSE(MatchesGlob("*" + std::string(kGlobPatternBytesMax - 1, '?'), "a"));
  EXPECT_FALSE(MatchesGlob("*[" + std::string(kGlobPatternBytesMax - 3, 'b') + "]", text));
  EXPECT_FALSE(MatchesGlob("*" + std::string(kGlobPatternBytesMax - 2, 'a') + "b", text));
}

TEST(GlobTest, APatternThatIsTooLongMatchesNothing) {
  const std::string longest(kGlobPatternBytesMax, 'a');
  EXPECT_TRUE(MatchesGlob(longest, longest));
  EXPECT_FALSE(MatchesGlob(longest + "a", longest + "a"));
  EXPECT_FALSE(MatchesGlob(std::string(kGlobPatternBytesMax + 1, '*'), longest));
}

}  // namespace
}  // namespace weir
