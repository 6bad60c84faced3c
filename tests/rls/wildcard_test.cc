// Goal: a pattern fits the texts that its meaning says, in one pass. Method: a table, all small
// patterns and texts against the meaning by recursion, and texts on which a search that goes back
// would not end.
#include "rls/wildcard.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

// The meaning of a pattern.
bool Means(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() != '*') {
    return !text.empty() && text.front() == pattern.front() &&
           Means(pattern.substr(1), text.substr(1));
  }
  return Means(pattern.substr(1), text) || (!text.empty() && Means(pattern, text.substr(1)));
}

// All texts of up to `bytes_max` bytes of these.
std::vector<std::string> AllTexts(std::string_view bytes, std::size_t bytes_max) {
  std::vector<std::string> texts = {""};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    if (text.size() == bytes_max) break;
    for (const char byte : bytes) texts.push_back(text + byte);
  }
  return texts;
}

TEST(WildcardTest, StarsStandForAnyBytes) {
  EXPECT_TRUE(Wildcard("foo*").Fits("foo"));
  EXPECT_TRUE(Wildcard("foo*").Fits("foobar"));
  EXPECT_FALSE(Wildcard("foo*").Fits("fo"));
  EXPECT_TRUE(Wildcard("bar*b").Fits("barb"));
  EXPECT_FALSE(Wildcard("bar*rb").Fits("barb"));  // the ends do not overlap
  EXPECT_TRUE(Wildcard("*").Fits(""));
  EXPECT_TRUE(Wildcard("*a*").Fits(std::string_view("\0a\xff", 3)));
  EXPECT_FALSE(Wildcard("/a/*/z").Fits("/a/z"));
  EXPECT_TRUE(Wildcard("foo").Fits("foo"));
  EXPECT_FALSE(Wildcard("foo").Fits("fooo"));
  EXPECT_FALSE(Wildcard("").Fits("a"));
}

TEST(WildcardTest, AllSmallPatternsMeanWhatTheySay) {
  const std::vector<std::string> texts = AllTexts("ab", 6);
  for (const std::string& pattern : AllTexts("ab*", 6)) {
    for (const std::string& text : texts) {
      const bool fits = Wildcard(pattern).Fits(text);
      ASSERT_EQ(fits, Means(pattern, text)) << pattern << " " << text;
      ASSERT_TRUE(!fits || Wildcard(pattern).MayFit(BytesOf(text))) << pattern << " " << text;
    }
  }
}

TEST(WildcardTest, ATextThatLacksAByteCannotFit) {
  EXPECT_TRUE(Wildcard("a*bc*").MayFit(BytesOf("cba")));
  EXPECT_FALSE(Wildcard("a*bc*").MayFit(BytesOf("ab*")));
  EXPECT_FALSE(Wildcard("abc").MayFit(BytesOf("ab")));
  EXPECT_TRUE(Wildcard("*").MayFit(BytesOf("")));
  EXPECT_TRUE(Wildcard("\xff*").MayFit(BytesOf("\xff")));
}

// The texts have two letters, and one that no pattern has. Their length tells small patterns apart.
TEST(WildcardTest, CoversIsFitsWhateverTheOtherFits) {
  const std::vector<std::string> texts = AllTexts("abx", 6);
  const std::vector<std::string> patterns = AllTexts("ab*", 4);
  std::vector<std::vector<bool>> fits;
  for (const std::string& pattern : patterns) {
    std::vector<bool>& row = fits.emplace_back();
    for (const std::string& text : texts) row.push_back(Wildcard(pattern).Fits(text));
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    for (std::size_t j = 0; j < patterns.size(); ++j) {
      bool covers = true;
      for (std::size_t k = 0; k < texts.size(); ++k) covers = covers && (fits[i][k] || !fits[j][k]);
      ASSERT_EQ(Wildcard(patterns[i]).Covers(Wildcard(patterns[j])), covers)
          << patterns[i] << " " << patterns[j];
    }
  }
}

// A search that tries each place of each piece would take years.
TEST(WildcardTest, NoPlaceIsTriedTwice) {
  const std::string letters(100'000, 'a');
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "*a";
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(Wildcard(pattern + "b*").Fits(letters));
    EXPECT_TRUE(Wildcard(pattern).Fits(letters));
    EXPECT_FALSE(Wildcard("*" + std::string(1000, 'a') + "b*").Fits(letters));
    EXPECT_FALSE(Wildcard("*b" + std::string(1000, 'a') + "*").Fits(letters));
  }
}

}  // namespace
}  // namespace weir
