// Goal: the error for a mistyped limit says what to type. Method: a table of words and of the ends
// of their errors.
#include "core/spelling/limit_hints.h"

#include <string>
#include <string_view>

#include "gmock/gmock.h"

#include "core/words/limit_grammar.h"
#include "tests/core/words/limit_word_text.h"

namespace weir {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

struct HintedError {
  std::string_view word;
  std::string_view end;  // of the error
};

constexpr HintedError kHintedErrors[] = {
    // Units.
    {"10/x", "unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/S",
     "unknown unit 'S' (us, ms, s, m, h, d, w, or day, week, month, year): did you mean "
     "10/s?"},
    {"10/5H", "year): did you mean 10/5h?"},
    {"10/D", "year): did you mean 10/d?"},
    {"10/M", "year): did you mean 10/m?"},
    {"10/MS", "year): did you mean 10/ms?"},
    {"10/Minutes", "year): did you mean 10/m?"},
    {"10/mintes", "year): did you mean 10/m?"},
    {"10/s,ban=15S", "unknown unit 'S' (us, ms, s, m, h, d, w): did you mean ban=15s?"},
    // The calendar.
    {"10/days",
     "unknown unit 'days' (us, ms, s, m, h, d, w, or day, week, month, year): did you "
     "mean 10/day (the calendar's) or 10/d (24 hours)?"},
    {"10/daily", ": did you mean 10/day (the calendar's) or 10/d (24 hours)?"},
    {"10k/weekly", ": did you mean 10k/week (the calendar's) or 10k/w (7 days)?"},
    {"10/months", ": did you mean 10/month (the calendar's) or 10/30d (30 days)?"},
    {"10/YEAR", ": did you mean 10/year (the calendar's) or 10/365d (365 days)?"},
    {"10/2day", "period '2day' must be one day, without a number: did you mean 10/2d?"},
    {"10/2days", "year): did you mean 10/2d?"},
    {"10/2month", "without a number: did you mean 10/60d?"},
    {"10/9999999day", "period '9999999day' must be one day, without a number"},
    // Options.
    {"burst=20", "options follow their limit after a comma, as in 10/s,burst=20"},
    {"cost=2", "options follow their limit after a comma, as in 10/s,burst=20"},
    {"shadow", "options follow their limit after a comma, as in 10/s,burst=20"},
    {"fixed", "options follow their limit after a comma, as in 10/s,burst=20"},
    {"10/s,brust=20", ": unknown option 'brust=20': did you mean burst=?"},
    {"10/s,burst", ": unknown option 'burst': did you mean burst=?"},
    {"10/s,FIXED", ": unknown option 'FIXED': did you mean fixed?"},
    {"10/s,slidign", ": unknown option 'slidign': did you mean sliding?"},
    {"@free,shadwo", ": unknown option 'shadwo': did you mean shadow?"},
    {"10/s;burst=20", "year): did you mean 10/s,burst=20?"},
    {"10/s fixed", "year): did you mean 10/s,fixed?"},
    // Counts.
    {"1.5/s", "count must be whole: 1.5/s is 3/2s"},
    {"0.5/s", "count must be whole: 0.5/s is 1/2s"},
    {"0.125/5min", "count must be whole: 0.125/5min is 1/40m"},
    {"2.0/s", "count must be whole: 2.0/s is 2/s"},
    {"1.5k/h,fixed", "count must be whole: 1.5k/h is 1500/h"},
    {"0.0/s", "count must be whole"},
    {"1.2345/s", "count must be whole"},
    {"1.5/day", "count must be whole"},
    {"1.5,held", "count must be whole"},
    {"10/s,burst=2.5", "burst must be whole"},
    {"10m/s", "unknown multiplier 'm' (k, M, G): did you mean 10M/s?"},
    {"10g/5s", "unknown multiplier 'g' (k, M, G): did you mean 10G/5s?"},
    {"10Ki/s", "unknown multiplier 'Ki' (k, M, G): did you mean 10k/s?"},
    {"10/s,burst=10m", "unknown multiplier 'm' (k, M, G): did you mean burst=10M?"},
    // A hint quotes a client's words that could read as a part of its sentence.
    {"10m/s\x1b[31m", "unknown multiplier 'm' (k, M, G): did you mean '10M/s\x1b[31m'?"},
    {"10m/s? Ask", "unknown multiplier 'm' (k, M, G): did you mean '10M/s? Ask'?"},
    {"10/s;name=a b", "year): did you mean '10/s,name=a b'?"},
    {"10/x'y;burst=2", "year): did you mean '10/x'y,burst=2'?"},
    // Counts that only a bucket can have.
    {"10G/month,sliding",
     "count must be 1 to 2147483647 for a window: 10G/30d is a bucket that can, 10G/month a "
     "window"},
    {"3G/d,sliding", "for a window: 3G/d is a bucket that can, 3G/day a window"},
    {"3G/31d,sliding", "for a window: 3G/31d is a bucket that can, 3G/month a window"},
    {"3G/s,sliding", "for a window: 3G/s is a bucket that can, 3G/s,fixed a window"},
    {"2147483648/ms,fixed", "2147483647 for a window: 2147483648/ms is a bucket that can"},
    {"3G/1000001us,fixed,aligned",
     "2147483647 for a window: 3G/1000001us is a bucket that can, 3G/1000001us,fixed a window"},
    {"10000000G/day",
     "count must be 1 to 2251799813685247 for a window: 10000000G/d is a bucket that can"},
    {"9223372036854775807/w,fixed", "count must be 1 to 2251799813685247 for a window"},
    {"4294967311/h", "(here 4294967311): 4294967311/h,fixed is a window that can"},
    {"4294967311/365d", "(here 4294967311): 4294967311/year is a window that can"},
    {"4294967311/ms", "(here 4294967311)"},
};

TEST(LimitHintsTest, ErrorsSayWhatToType) {
  for (const auto& [word, end] : kHintedErrors) {
    EXPECT_THAT(ErrorOf(word), EndsWith(std::string(end)));
  }
}

// Each suggestion behind "did you mean" that is a whole limit can be typed.
TEST(LimitHintsTest, SuggestionsAreLimits) {
  constexpr std::string_view kMark = "did you mean ";
  for (const auto& [word, end] : kHintedErrors) {
    const std::size_t begin = end.find(kMark);
    if (begin == std::string_view::npos) continue;
    std::string_view limit = end.substr(begin + kMark.size());
    limit = limit.substr(0, limit.find_first_of("? "));
    if (limit.find('/') == std::string_view::npos || limit.starts_with('\'')) continue;
    EXPECT_TRUE(ParseLimitWord(limit).ok()) << limit;
  }
}

TEST(LimitHintsTest, ALongWordIsNotRepeated) {
  const std::string long_number(100, '1');
  for (const std::string& word : {long_number + "m/s", long_number + "/S", long_number + "/days",
                                  "10/" + long_number + "S", long_number + ".5/s"}) {
    EXPECT_THAT(ErrorOf(word), Not(HasSubstr("did you mean"))) << word;
  }
}

}  // namespace
}  // namespace weir
