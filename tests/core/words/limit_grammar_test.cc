// Goal: words of limits mean what the grammar says, and every other word is refused with a reason.
// Method: tables of words.
#include "core/words/limit_grammar.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"

#include "core/base/quote.h"
#include "core/base/status.h"
#include "tests/core/words/limit_word_text.h"
#include "tests/support/limit_shapes.h"

namespace weir {

void PrintTo(const LimitShape& shape, std::ostream* out) {
  *out << "{algorithm " << static_cast<int>(shape.algorithm) << ", aligned " << shape.aligned
       << ", shadow " << shape.shadow << ", count " << shape.count << ", period "
       << shape.period.count() << " ns, burst " << shape.burst << ", ban " << shape.ban.count()
       << " ns}";
}

namespace {

using ::testing::EndsWith;

using namespace std::string_view_literals;

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Kind = LimitWord::Kind;

LimitShape Aligned(std::int64_t count, Nanos period) {
  LimitShape shape = FixedShape(count, period);
  shape.aligned = true;
  return shape;
}
LimitShape Shadow(LimitShape shape) {
  shape.shadow = true;
  return shape;
}

LimitShape Banning(LimitShape shape, Nanos ban) {
  shape.ban = ban;
  return shape;
}

// Requires: the word is valid.
LimitWord Read(std::string_view word) { return ParseLimitWord(word).value(); }

// --- valid words ---

struct GoodWord {
  std::string_view word;
  LimitShape shape;
};

const GoodWord kGoodWords[] = {
    {"10/s", BucketShape(10, seconds{1})},
    {"100/m", BucketShape(100, minutes{1})},
    {"1000/24h", BucketShape(1000, hours{24})},
    {"1/h", BucketShape(1, hours{1})},
    {"1/d", BucketShape(1, hours{24})},
    {"1/w", BucketShape(1, hours{168})},
    {"1/us", BucketShape(1, microseconds{1})},
    {"7/11ms", BucketShape(7, milliseconds{11})},
    {"1/3285d", BucketShape(1, hours{24 * 3285})},
    {"999999937/s", BucketShape(999'999'937, seconds{1})},
    {"300M/s", BucketShape(300'000'000, seconds{1})},
    // Multipliers.
    {"100k/m", BucketShape(100'000, minutes{1})},
    {"1M/d", BucketShape(1'000'000, hours{24})},
    {"4G/s", BucketShape(4'000'000'000, seconds{1})},
    // Options of each algorithm.
    {"10/s,bucket", BucketShape(10, seconds{1})},
    {"10/s,burst=50", BucketShape(10, seconds{1}, 50)},
    {"10/s,burst=1", BucketShape(10, seconds{1}, 1)},
    {"10/s,burst=5k", BucketShape(10, seconds{1}, 5'000)},
    {"10/s,burst=50,bucket", BucketShape(10, seconds{1}, 50)},
    {"10/s,shadow", Shadow(BucketShape(10, seconds{1}))},
    {"10/s,fixed", FixedShape(10, seconds{1})},
    {"10/s,fixed,shadow", Shadow(FixedShape(10, seconds{1}))},
    {"10/s,fixed,aligned", Aligned(10, seconds{1})},
    {"10/s,aligned,fixed", Aligned(10, seconds{1})},
    {"10/s,sliding", SlidingShape(10, seconds{1})},
    {"10/s,ban=15m", Banning(BucketShape(10, seconds{1}), minutes{15})},
    {"10/s,ban=m,burst=5", Banning(BucketShape(10, seconds{1}, 5), minutes{1})},
    {"10/s,ban=1us,aligned,fixed", Banning(Aligned(10, seconds{1}), microseconds{1})},
    {"10/s,shadow,ban=288230376151711us",
     Banning(Shadow(BucketShape(10, seconds{1})), microseconds{288'230'376'151'711})},
    {"10/ms,sliding", SlidingShape(10, milliseconds{1})},
    // Options that concern the request are no part of the limit.
    {"100k/m,cost=1500", BucketShape(100'000, minutes{1})},
    {"10/s,name=login", BucketShape(10, seconds{1})},
    // The ends of the ranges. 2^58 ns is not a whole number of microseconds: the longest period of
    // a word is 744 ns shorter.
    {"1/288230376151711us", BucketShape(1, microseconds{288'230'376'151'711})},
    {"1/288230376151711us,burst=4", BucketShape(1, microseconds{288'230'376'151'711}, 4)},
    {"1/3335d", BucketShape(1, hours{24 * 3335})},
    {"4G/us", BucketShape(4'000'000'000, microseconds{1})},
    {"9223372036800000000/w", BucketShape(9'223'372'036'800'000'000, hours{168})},
    {"2251799813685247/s,fixed", FixedShape(2'251'799'813'685'247, seconds{1})},
    {"10G/h,fixed", FixedShape(10'000'000'000, hours{1})},
    {"2147483647/us,fixed", FixedShape(2'147'483'647, microseconds{1})},
    {"2147483647/ms,sliding", SlidingShape(2'147'483'647, milliseconds{1})},
    {"1/288230376151711us,fixed", FixedShape(1, microseconds{288'230'376'151'711})},
    // Held limits have no period.
    {"5,held", HeldShape(5)},
    {"1,held", HeldShape(1)},
    {"2147483647,held", HeldShape(2'147'483'647)},
    {"10k,shadow,held", Shadow(HeldShape(10'000))},
    {"5,cost=2,held,keep=1,name=slots", HeldShape(5)},
};

TEST(LimitGrammarTest, ReadsEveryFormOfALimit) {
  for (const auto& [word, shape] : kGoodWords) {
    const absl::StatusOr<LimitWord> read = ParseLimitWord(word);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->kind, Kind::kLimit) << word;
    EXPECT_EQ(read->limit.value().shape(), shape) << word;
    EXPECT_EQ(read->shadow, shape.shadow) << word;
    EXPECT_EQ(read->policy, "") << word;
  }
}

TEST(LimitGrammarTest, OptionsStandInAnyOrder) {
  std::array<std::string, 6> options = {"aligned", "cost=3", "fixed", "keep=4", "name=x", "shadow"};
  do {
    std::string text = "10/s";
    for (const std::string& option : options) text += "," + option;
    const LimitWord word = Read(text);
    EXPECT_EQ(word.limit.value().shape(), Shadow(Aligned(10, seconds{1}))) << text;
    EXPECT_EQ(word.cost, 3) << text;
    EXPECT_EQ(word.keep, 4) << text;
    EXPECT_EQ(word.label, "x") << text;
  } while (std::next_permutation(options.begin(), options.end()));
}

TEST(LimitGrammarTest, CostIsWhatTheWordSays) {
  EXPECT_EQ(Read("10/s").cost, std::nullopt);
  EXPECT_EQ(Read("10/s,cost=0").cost, 0);
  EXPECT_EQ(Read("10/s,cost=11").cost, 11);  // more than the burst is denied, not refused
  EXPECT_EQ(Read("10/s,cost=9223372036854775807").cost, INT64_MAX);
  EXPECT_EQ(Read("10/s,fixed,cost=5").cost, 5);
  EXPECT_EQ(Read("@free,cost=5").cost, 5);
}

TEST(LimitGrammarTest, KeepIsWhatTheWordSays) {
  EXPECT_EQ(Read("10/s,cost=3").keep, std::nullopt);
  EXPECT_EQ(Read("10/s,keep=0").keep, 0);
  EXPECT_EQ(Read("10/s,keep=11").keep, 11);  // more than the burst is denied, not refused
  EXPECT_EQ(Read("10/s,sliding,keep=9223372036854775807").keep, INT64_MAX);
  EXPECT_EQ(Read("@free,keep=20,cost=5").keep, 20);
}

TEST(LimitGrammarTest, NameIsTheLabelOrElseTheTextWithoutTheCost) {
  EXPECT_EQ(NameOf(Read("10/s,name=login")), "login");
  EXPECT_EQ(NameOf(Read("600/60s,cost=5,keep=5,burst=600")), "600/m");
  EXPECT_EQ(NameOf(Read("10/s,shadow,fixed")), "10/s,fixed,shadow");
  EXPECT_EQ(NameOf(Read("@free,name=login")), "login");
  EXPECT_EQ(NameOf(Read("@free,cost=5")), "@free");
  EXPECT_EQ(NameOf(Read("@free,cost=5,shadow")), "@free,shadow");
  EXPECT_EQ(NameOf(Read("unlimited")), "unlimited");
  EXPECT_EQ(NameOf(Read("none")), "none");
}

TEST(LimitGrammarTest, ReadsPolicies) {
  const LimitWord word = Read("@plan:free-2.x_A,shadow,cost=5");
  EXPECT_EQ(word.kind, Kind::kPolicy);
  EXPECT_EQ(word.policy, "plan:free-2.x_A");
  EXPECT_TRUE(word.shadow);
  EXPECT_EQ(word.cost, 5);
  EXPECT_EQ(word.limit, std::nullopt);
  EXPECT_FALSE(Read("@free").shadow);
}

TEST(LimitGrammarTest, ReadsTheTwoWordsForAlwaysAndNever) {
  EXPECT_EQ(Read("unlimited").kind, Kind::kUnlimited);
  EXPECT_EQ(Read("none").kind, Kind::kNone);
  EXPECT_EQ(Read("unlimited").limit, Limit::Unlimited());
  EXPECT_EQ(Read("none").limit, Limit::None());
}

// --- printing ---

struct CanonicalText {
  std::string_view word;
  std::string_view text;
};

constexpr CanonicalText kCanonicalTexts[] = {
    {"10/s", "10/s"},
    {"10/1s", "10/s"},
    {"60/60s,burst=60", "60/m"},
    // The largest unit of which the period is a multiple.
    {"1000/24h", "1000/d"},
    {"1000/7d", "1000/w"},
    {"1000/14d", "1000/2w"},
    {"1000/8d", "1000/8d"},
    {"1/90m", "1/90m"},
    {"1/1000us", "1/ms"},
    {"1/1001us", "1/1001us"},
    {"1/604800000000us", "1/w"},
    // A multiplier for counts from 10,000 on: the largest that divides the count.
    {"1k/h", "1000/h"},
    {"9999/h", "9999/h"},
    {"9000/h", "9000/h"},
    {"10000/h", "10k/h"},
    {"10001/h", "10001/h"},
    {"1000k/h", "1M/h"},
    {"1500000/h", "1500k/h"},
    {"1000M/h", "1G/h"},
    {"4000000000/s", "4G/s"},
    {"10/s,burst=20000", "10/s,burst=20k"},
    {"10/s,burst=2k", "10/s,burst=2000"},
    // Options: the algorithm first; defaults are left out.
    {"10/s,bucket,burst=10", "10/s"},
    {"10/s,shadow,burst=5", "10/s,burst=5,shadow"},
    {"10/s,aligned,shadow,fixed", "10/s,fixed,aligned,shadow"},
    {"10/s,shadow,sliding", "10/s,sliding,shadow"},
    {"10/s,shadow,ban=60s,burst=5", "10/s,burst=5,ban=1m,shadow"},
    {"10/s,ban=900000ms,aligned,fixed", "10/s,fixed,aligned,ban=15m"},
    {"10/s,name=x,cost=3", "10/s"},
    {"5,held", "5,held"},
    {"20000,name=x,shadow,held,cost=2", "20k,held,shadow"},
};

TEST(LimitGrammarTest, PrintsTheCanonicalText) {
  for (const auto& [word, text] : kCanonicalTexts) {
    EXPECT_EQ(LimitText(Read(word).limit.value()), text) << word;
    EXPECT_EQ(LimitText(Read(text).limit.value()), text) << text;
  }
}

// No word spells such a period, but a limit may be made of numbers.
TEST(LimitGrammarTest, PrintsAPeriodThatIsNoWholeNumberOfMicroseconds) {
  EXPECT_EQ(TextOf(BucketShape(3, Nanos{1'000'000'007})), "3/1000000007ns");
}

// --- words that are refused ---

struct BadWord {
  std::string_view word;
  std::string_view reason;
};

constexpr std::string_view kNoLimit = "expected count/period, as in 10/s";
constexpr std::string_view kCountRange = "count must be 1 to 9223372036854775807";
constexpr std::string_view kFixedCountRange = "count must be 1 to 2251799813685247 for a window";
constexpr std::string_view kPeriodRange = "period must be 1us to 2^58 ns (9 years)";
constexpr std::string_view kBurstRange = "burst must be 1 to 9223372036854775807";
constexpr std::string_view kBanRange = "ban must be 1us to 2^58 ns (9 years)";

constexpr BadWord kBadWords[] = {
    // No limit at all.
    {"", kNoLimit},
    {"10", kNoLimit},
    {"10/", kNoLimit},
    {"/s", kNoLimit},
    {"/", kNoLimit},
    {",", kNoLimit},
    {"Unlimited", kNoLimit},
    {"NONE", kNoLimit},
    {"AND", kNoLimit},
    {"10s", kNoLimit},
    {"10,burst=5/s", kNoLimit},
    {"\0"sv, kNoLimit},
    // Counts.
    {"0/s", kCountRange},
    {"0k/s", kCountRange},
    {"9223372036854775808/s", kCountRange},
    {"99999999999999999999999999/s", kCountRange},
    {"9223372036854775807k/s", kCountRange},
    {"9223372036854776k/s", kCountRange},
    {"9223372037G/s", kCountRange},
    {"0/s,fixed", kFixedCountRange},
    {"9223372036854775808/s,fixed", kFixedCountRange},
    {"0/s,sliding", "count must be 1 to 2147483647 for a window"},
    {"+5/s", "count '+5' must start with a digit"},
    {"-5/s", "count '-5' must start with a digit"},
    {"-0/s", "count '-0' must start with a digit"},
    {" 5/s", "count ' 5' must start with a digit"},
    {"k/s", "count 'k' must start with a digit"},
    {"unlimited/s", "count 'unlimited' must start with a digit"},
    {"\xd9\xa5/s", "count '\xd9\xa5' must start with a digit"},  // an Arabic five
    {"05/s", "number '05' has a leading zero"},
    {"00/s", "number '00' has a leading zero"},
    {"01k/s", "number '01' has a leading zero"},
    {"5 /s", "unknown multiplier ' ' (k, M, G)"},
    {"5kk/s", "unknown multiplier 'kk' (k, M, G)"},
    {"1e3/s", "unknown multiplier 'e3' (k, M, G)"},
    {"0x10/s", "unknown multiplier 'x10' (k, M, G)"},
    {"1'000/s", "unknown multiplier ''000' (k, M, G)"},
    {"5\0/s"sv, "unknown multiplier '\0' (k, M, G)"sv},
    // Periods.
    {"10/x", "unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/5ns", "unknown unit 'ns' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/y", "unknown unit 'y' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/s ", "unknown unit 's ' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/s\0"sv, "unknown unit 's\0' (us, ms, s, m, h, d, w, or day, week, month, year)"sv},
    {"10/s\r\n", "unknown unit 's\r\n' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/s/s", "unknown unit 's/s' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10//s", "unknown unit '/s' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/-5s", "unknown unit '-5s' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/1.5s", "unknown unit '.5s' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/1h30m", "unknown unit 'h30m' (us, ms, s, m, h, d, w, or day, week, month, year)"},
    {"10/60", "period '60' needs a unit (us, ms, s, m, h, d, w)"},
    {"10/05s", "number '05' has a leading zero"},
    {"10/0s", kPeriodRange},
    {"10/0us", kPeriodRange},
    {"10/288230376151712us", kPeriodRange},
    {"10/3336d", kPeriodRange},
    {"10/99999999999w", kPeriodRange},
    {"10/99999999999999999999s", kPeriodRange},
    {"10/999us,sliding", "period of a sliding window must be at least 1ms"},
    // Options.
    {"10/s,fixed,bucket", "only one of bucket, fixed, sliding, held may be given"},
    {"10/s,sliding,fixed", "only one of bucket, fixed, sliding, held may be given"},
    {"10/s,burst=", "burst '' must start with a digit"},
    {"10/s,burst=-1", "burst '-1' must start with a digit"},
    {"10/s,burst=05", "number '05' has a leading zero"},
    {"10/s,burst=5x", "unknown multiplier 'x' (k, M, G)"},
    {"10/s,burst=0", kBurstRange},
    {"5G/s,burst=0", kBurstRange},
    {"10/s,burst=9223372036854775808", kBurstRange},
    {"10/s,burst=9223372036854775807k", kBurstRange},
    {"10/s,fixed,burst=10", "burst is for the token bucket only"},
    {"10/s,burst=0,fixed", "burst is for the token bucket only"},
    {"10/s,burst=9223372036854775808,sliding", "burst is for the token bucket only"},
    {"10/s,aligned", "aligned is for fixed windows only"},
    {"5G/s,aligned", "aligned is for fixed windows only"},
    {"10/s,aligned,bucket", "aligned is for fixed windows only"},
    {"10/s,sliding,aligned", "aligned is for fixed windows only"},
    {"10/s,ban=", "ban '' needs a unit (us, ms, s, m, h, d, w)"},
    {"10/s,ban=15", "ban '15' needs a unit (us, ms, s, m, h, d, w)"},
    {"10/s,ban=-1s", "unknown unit '-1s' (us, ms, s, m, h, d, w)"},
    {"10/s,ban=015m", "number '015' has a leading zero"},
    {"10/s,ban=0s", kBanRange},
    {"10/s,ban=288230376151712us", kBanRange},
    {"10/s,ban=9223372036854775808us", kBanRange},
    {"10/s,ban=1m,ban=1m", "option 'ban=' is given twice"},
    {"10/s,ban=1m,sliding", "ban= is for token buckets and fixed windows"},
    {"10/day,ban=1m", "ban= is for token buckets and fixed windows"},
    {"10/s,ban=day", "unknown unit 'day' (us, ms, s, m, h, d, w)"},
    {"10/s,cost=", "cost '' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,cost=-1", "cost '-1' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,cost=+1", "cost '+1' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,cost=01", "cost '01' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,cost=1k", "cost '1k' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,cost=9223372036854775808",
     "cost '9223372036854775808' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,keep=", "keep '' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,fixed,keep=1k", "keep '1k' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,keep=9223372036854775808",
     "keep '9223372036854775808' must be 0 to 9223372036854775807 in plain digits"},
    {"10/s,name=", "name '' must be 1 to 64 of letters, digits, _ - . :"},
    {"10/s,name=a b", "name 'a b' must be 1 to 64 of letters, digits, _ - . :"},
    {"10/s,name=a;b", "name 'a;b' must be 1 to 64 of letters, digits, _ - . :"},
    {"10/s,name=a=b", "name 'a=b' must be 1 to 64 of letters, digits, _ - . :"},
    {"10/s,name=\xc3\xa9", "name '\xc3\xa9' must be 1 to 64 of letters, digits, _ - . :"},
    {"10/s,name=a\0"sv, "name 'a\0' must be 1 to 64 of letters, digits, _ - . :"sv},
    // Held limits.
    {",held", kNoLimit},
    {"5,heldx", kNoLimit},
    {"5,shadow", kNoLimit},
    {"5/,held", kNoLimit},
    {"k2,held", "count 'k2' must start with a digit"},
    {"05,held", "number '05' has a leading zero"},
    {"0,held", "count must be 1 to 2147483647 for a held limit"},
    {"2147483648,held", "count must be 1 to 2147483647 for a held limit"},
    {"10/s,held", "a held limit has a count only, as in 5,held"},
    {"5,held,burst=5", "burst is for the token bucket only"},
    {"5,held,aligned", "a held limit has a count only, as in 5,held"},
    {"5,held,ban=1m", "ban= is for token buckets and fixed windows"},
    {"5,held,held", "option 'held' is given twice"},
    {"5,held,fixed", "only one of bucket, fixed, sliding, held may be given"},
    {"5,tz=UTC,held", "option 'tz=' is for calendar windows only: per day, week, month, year"},
    // Numbers that are each in range, but out of range together.
    {"9223372036854775807/w",
     "limit is too fine: period / count in lowest terms must have a denominator below 2^32 (here "
     "1317624576693539401)"},
    {"34359738368/us",
     "limit is too fine: period / count in lowest terms must have a denominator below 2^32 (here "
     "4294967296)"},
    {"1/288230376151711us,burst=9",
     "limit is too long: burst times period per token must be at most 2^60 ns (36 years)"},
    {"1/s,burst=9223372036854775807",
     "limit is too long: burst times period per token must be at most 2^60 ns (36 years)"},
    // Policies, and the words "unlimited" and "none".
    {"@", "policy name '' must be 1 to 64 of letters, digits, _ - . :"},
    {"@,shadow", "policy name '' must be 1 to 64 of letters, digits, _ - . :"},
    {"@@free", "policy name '@free' must be 1 to 64 of letters, digits, _ - . :"},
    {"@10/s", "policy name '10/s' must be 1 to 64 of letters, digits, _ - . :"},
    {"@free,shadow,shadow", "option 'shadow' is given twice"},
    {"@free,cost=x", "cost 'x' must be 0 to 9223372036854775807 in plain digits"},
    {"@free,keep=-1", "keep '-1' must be 0 to 9223372036854775807 in plain digits"},
    {"unlimited,cost=1", "unlimited takes no options"},
    {"none,keep=1", "none takes no options"},
    {"unlimited,", "unlimited takes no options"},
    {"none,shadow", "none takes no options"},
};

TEST(LimitGrammarTest, EveryBadWordIsRefusedWithItsReason) {
  for (const auto& [word, reason] : kBadWords) {
    const absl::Status status = ParseLimitWord(word).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << word;
    EXPECT_EQ(StdView(status.message()),
              "invalid limit " + Quote(word) + ": " + std::string(reason));
  }
}

TEST(LimitGrammarTest, UnknownOptionIsNamedBesideTheKnownOnes) {
  const std::string of_limits =
      " (bucket, fixed, sliding, held, burst=, aligned, ban=, tz=, from=, cost=, keep=, shadow, "
      "name=)";
  const std::string of_policies = " (cost=, keep=, shadow, name=)";
  for (const std::string option : {"", "foo=1", "quota=5", "tz"}) {
    const std::string unknown = ": unknown option " + Quote(option);
    EXPECT_THAT(ErrorOf("10/s," + option), EndsWith(unknown + of_limits));
    EXPECT_THAT(ErrorOf("10/s," + option + ",shadow"), EndsWith(unknown + of_limits));
    EXPECT_THAT(ErrorOf("10/s,shadow," + option), EndsWith(unknown + of_limits));
    EXPECT_THAT(ErrorOf("@free," + option), EndsWith(unknown + of_policies));
  }
  for (const std::string option :
       {"burst=5", "fixed", "held", "aligned", "ban=1m", "tz=UTC", "from=1"}) {
    EXPECT_THAT(ErrorOf("@free," + option),
                EndsWith(": unknown option " + Quote(option) + of_policies));
  }
}

TEST(LimitGrammarTest, NoOptionStandsTwice) {
  for (const std::string option : {"bucket", "fixed", "sliding", "aligned", "shadow"}) {
    EXPECT_THAT(ErrorOf("10/s," + option + "," + option),
                EndsWith(": option '" + option + "' is given twice"));
  }
  for (const std::string option : {"burst=", "tz=", "from=", "cost=", "keep=", "name="}) {
    EXPECT_THAT(ErrorOf("10/s," + option + "5," + option + "6"),
                EndsWith(": option '" + option + "' is given twice"));
  }
}

TEST(LimitGrammarTest, LabelsAreOneTo64OfTheirBytes) {
  constexpr std::string_view kAlphabet =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-.:";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string label(1, static_cast<char>(byte));
    EXPECT_EQ(IsLabel(label), kAlphabet.find(label) != std::string_view::npos) << byte;
    EXPECT_EQ(ParseLimitWord("10/s,name=" + label).ok(), IsLabel(label)) << byte;
    EXPECT_EQ(ParseLimitWord("@" + label).ok(), IsLabel(label)) << byte;
  }
  const std::string longest(kLabelBytesMax, 'a');
  EXPECT_FALSE(IsLabel(""));
  EXPECT_TRUE(IsLabel(longest));
  EXPECT_FALSE(IsLabel(longest + "a"));
  EXPECT_EQ(NameOf(Read("10/s,name=" + longest)), longest);
  EXPECT_EQ(Read("@" + longest).policy, longest);
  EXPECT_THAT(ErrorOf("10/s,name=" + longest + "a"),
              EndsWith("1 to 64 of letters, digits, _ - . :"));
  EXPECT_THAT(ErrorOf("@" + longest + "a"), EndsWith("1 to 64 of letters, digits, _ - . :"));
}

TEST(LimitGrammarTest, DigitsAreACanonicalDecimalNumber) {
  EXPECT_EQ(ParseDigits("0"), 0);
  EXPECT_EQ(ParseDigits("7"), 7);
  EXPECT_EQ(ParseDigits("1234567890"), 1'234'567'890);
  EXPECT_EQ(ParseDigits("9223372036854775807"), INT64_MAX);
  for (const std::string_view bad :
       {""sv, "00"sv, "05"sv, "+5"sv, "-5"sv, "-0"sv, " 5"sv, "5 "sv, "1e3"sv, "0x10"sv, "5.0"sv,
        "1k"sv, "5\0"sv, "\0"sv, "9223372036854775808"sv, "99999999999999999999999999999999"sv}) {
    EXPECT_EQ(ParseDigits(bad), std::nullopt) << bad;
  }
}

TEST(LimitGrammarTest, ValidWordsPrintAndReadBack) {
  for (const auto& [word, shape] : kGoodWords) {
    EXPECT_EQ(ParseLimitWord(TextOf(shape))->limit.value().shape(), shape) << word;
  }
}

}  // namespace
}  // namespace weir
