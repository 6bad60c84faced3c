// Goal: other spellings of units read as the unit and are never printed. Method: tables of words.
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "core/spelling/limit_units.h"
#include "core/words/limit_grammar.h"
#include "tests/core/words/limit_word_text.h"

namespace weir {
namespace {

struct SpellingText {
  std::string_view typed;
  std::string_view text;
};

constexpr SpellingText kSpellingTexts[] = {
    {"10/sec", "10/s"},
    {"10/secs", "10/s"},
    {"10/second", "10/s"},
    {"10/90seconds", "10/90s"},
    {"10/min,fixed", "10/m,fixed"},
    {"10/5mins", "10/5m"},
    {"10/minute,sliding", "10/m,sliding"},
    {"10/30minutes", "10/30m"},
    {"10/hr", "10/h"},
    {"10/12hrs", "10/12h"},
    {"10/hour,fixed,aligned", "10/h,fixed,aligned"},
    {"10/24hours", "10/d"},
    {"10/s,ban=15min", "10/s,ban=15m"},
    {"10/s,ban=hour", "10/s,ban=1h"},
    {"5K/s", "5000/s"},
    {"50K/s,burst=20K", "50k/s,burst=20k"},
};

TEST(LimitSpellingTest, PrintsTheUnit) {
  for (const auto& [typed, text] : kSpellingTexts) {
    const absl::StatusOr<LimitWord> word = ParseLimitWord(typed);
    ASSERT_TRUE(word.ok()) << word.status();
    EXPECT_EQ(LimitText(word->limit.value()), text) << typed;
    EXPECT_EQ(word->limit, ParseLimitWord(text)->limit) << typed;
  }
}

TEST(LimitSpellingTest, EverySpellingIsThatOfAUnit) {
  for (const Spelling& spelling : kSpellings) {
    const Unit* unit = PeriodUnitNamed(spelling.text);
    ASSERT_NE(unit, nullptr) << spelling.text;
    EXPECT_EQ(unit->name, spelling.name);
  }
}

}  // namespace
}  // namespace weir
