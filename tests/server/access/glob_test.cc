// Goal: patterns match as in Redis, and no match takes long. Method: a table; every short text
// against random patterns, compared with a matcher that is as plain as the definition; patterns on
// which backtracking matchers take exponential time.
#include "server/access/glob.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/server/access/naive_glob.h"

namespace weir {
namespace {

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
TEST(GlobTest, MatchesAsThePlainDefinition) {
  constexpr std::string_view kAlphabet = "aB-]^\\*\xff";
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
      pattern += *rc::gen::elementOf(std::string("aAbcC--[[[]]^\\**?\xf0"));
    for (const std::string& text : texts) {
      RC_ASSERT(MatchesGlob(pattern, text) == MatchesGlobNaively(pattern, text));
    }
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (int j = *Between(4, 10); j > 0; --j) text += *rc::gen::elementOf(std::string("aabc-]"));
      RC_ASSERT(MatchesGlob(pattern, text) == MatchesGlobNaively(pattern, text));
    }
  });
}

// Long texts, for which another matcher takes over: both letters' cases, sets, and escapes.
TEST(GlobTest, LongTextsMatchAsThePlainDefinition) {
  CheckLaw(300, [] {
    const auto some = [](std::string_view alphabet, int most) {
      std::string text;
      for (int i = *Between(1, most); i > 0; --i) {
        text += *rc::gen::elementOf(std::string(alphabet));
      }
      return text;
    };
    const std::string pattern = "*" + some("aAab?[[]^\\-c", 12) + "*" + some("aabB?[]", 6);
    std::string text(*Between<std::size_t>(200, 500), 'a');
    for (int i = *Between(0, 20); i > 0; --i) {
      const std::size_t at = *Between<std::size_t>(0, text.size() - 1);
      text[at] = *rc::gen::elementOf(std::string("abAB-c]\xff"));
    }
    RC_ASSERT(MatchesGlob(pattern, text) == MatchesGlobNaively(pattern, text));
    RC_ASSERT(MatchesGlob(pattern, text + "ab") == MatchesGlobNaively(pattern, text + "ab"));
  });
}

// The longest patterns, whose last element has the last bit.
TEST(GlobTest, TheLongestPatternsMatchLongTexts) {
  const std::string text(500, 'a');
  const std::string literal = "*" + std::string(kGlobPatternBytesMax - 2, 'a') + "b";
  const std::string sets = "*[b-c][^x]\\b" + std::string(kGlobPatternBytesMax - 13, '?') + "B";
  ASSERT_EQ(sets.size(), kGlobPatternBytesMax);
  const std::string end = "b!b" + std::string(kGlobPatternBytesMax - 13, '\xff');
  EXPECT_TRUE(MatchesGlob(literal, text + "b"));
  EXPECT_FALSE(MatchesGlob(literal, text + "bc"));
  EXPECT_TRUE(MatchesGlob(sets, text + end + "b"));
  EXPECT_TRUE(MatchesChannel(sets, text + end + "B"));
  EXPECT_FALSE(MatchesChannel(sets, text + end + "b")) << "the case counts";
  EXPECT_FALSE(MatchesGlob(sets, text + "bxb" + end.substr(3) + "b"));
}

// A matcher that tries every position for every star needs more steps than there are atoms in the
// universe; MatchesGlob needs a few million.
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
