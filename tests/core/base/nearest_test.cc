// Goal: a misspelled word finds the name that was meant, and a strange one finds none. Method:
// tables; the laws of a distance, and a recursive definition, on random words of few letters.
#include "core/base/nearest.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include <rapidcheck.h>

#include "tests/random/property.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 6> kNames = {
    "burst=", "ban=", "cost=", "name=", "shadow", "sliding"};

// The definition, word for word: exponential, so for short words only.
std::size_t Definition(std::string_view from, std::string_view to) {
  if (from.empty() || to.empty()) return std::max(from.size(), to.size());
  const std::string_view less_from = from.substr(0, from.size() - 1);
  const std::string_view less_to = to.substr(0, to.size() - 1);
  std::size_t edits = std::min(Definition(less_from, to), Definition(from, less_to)) + 1;
  const std::size_t replaced = from.back() == to.back() ? 0 : 1;
  edits = std::min(edits, Definition(less_from, less_to) + replaced);
  const bool swapped = from.size() > 1 && to.size() > 1 && from.back() == less_to.back() &&
                       less_from.back() == to.back();
  if (!swapped) return edits;
  return std::min(edits, Definition(less_from.substr(0, less_from.size() - 1),
                                    less_to.substr(0, less_to.size() - 1)) +
                             1);
}

std::string AnyWord(std::size_t bytes_max) {
  const auto length = *rc::gen::inRange<std::size_t>(0, bytes_max + 1);
  return *rc::gen::container<std::string>(length, rc::gen::inRange('a', 'd'));
}

TEST(NearestTest, CountsEdits) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("fre", "free"), 1U);
  EXPECT_EQ(EditDistance("brust", "burst"), 1U);
  EXPECT_EQ(EditDistance("RL.ALOW", "RL.ALLOW"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("ca", "abc"), 3U);  // no byte is edited twice
}

TEST(NearestTest, TheDistanceIsItsDefinition) {
  CheckLaw(1'000, [] {
    const std::string from = AnyWord(6);
    const std::string to = AnyWord(6);
    RC_ASSERT(EditDistance(from, to) == Definition(from, to));
    RC_ASSERT(EditDistance(to, from) == EditDistance(from, to));
    for (std::size_t most = 0; most < 7; ++most) {
      const std::size_t bounded = EditDistance(from, to, most);
      const std::size_t edits = Definition(from, to);
      RC_ASSERT((edits <= most ? bounded == edits : bounded > most));
    }
  });
}

TEST(NearestTest, FindsTheNameThatWasMeant) {
  EXPECT_EQ(Nearest("brust=", kNames), "burst=");
  EXPECT_EQ(Nearest("shdow", kNames), "shadow");
  EXPECT_EQ(Nearest("slidign", kNames), "sliding");
  EXPECT_EQ(Nearest("cost=", kNames), "cost=");
  EXPECT_EQ(Nearest("nam", kNames), "");  // two edits are too many for three bytes
}

TEST(NearestTest, AllowsOneEditForThreeBytesAndTwoAtMost) {
  constexpr std::array<std::string_view, 1> kOne = {"abcdefghijkl"};
  EXPECT_EQ(Nearest("abcdefghij", kOne), kOne[0]);
  EXPECT_EQ(Nearest("abcdefghi", kOne), "");
  constexpr std::array<std::string_view, 2> kShort = {"ab", "abcdef"};
  EXPECT_EQ(Nearest("ac", kShort), "");
  EXPECT_EQ(Nearest("abc", kShort), "ab");
  EXPECT_EQ(Nearest("abcd", kShort), "");
  EXPECT_EQ(Nearest("abcde", kShort), "abcdef");
}

TEST(NearestTest, TheFirstOfEqualsWins) {
  constexpr std::array<std::string_view, 3> kEquals = {"cost", "most", "host"};
  EXPECT_EQ(Nearest("post", kEquals), "cost");
  EXPECT_EQ(Nearest("hots", kEquals), "host");
}

TEST(NearestTest, ALongWordIsNearToNothing) {
  const std::string longest(kNearestBytesMax, 'a');
  const std::array<std::string, 2> names = {longest + "a", longest};
  EXPECT_EQ(Nearest(longest.substr(1), names), longest);
  EXPECT_EQ(Nearest(longest, names), longest);
  EXPECT_EQ(Nearest(longest + "a", names), "");
  EXPECT_EQ(EditDistance(longest, std::string(kNearestBytesMax, 'b')), kNearestBytesMax);
}

TEST(NearestTest, ReadsNamesOfElements) {
  struct Row {
    int id;
    std::string_view name;
  };
  constexpr std::array<Row, 2> kRows = {Row{1, "fixed"}, Row{2, "held"}};
  EXPECT_EQ(Nearest("fixd", kRows, &Row::name), "fixed");
}

}  // namespace
}  // namespace weir
