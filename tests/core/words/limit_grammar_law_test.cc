// Goal: every printed limit reads back as the same limit, and no bytes break the parser. Method:
// random limits, random bytes, random pieces of the grammar, all small words, very long words.
#include <chrono>
#include <cstdint>
#include <ostream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include <rapidcheck.h>

#include "core/base/id_type.h"
#include "core/base/quote.h"
#include "core/base/status.h"
#include "core/words/limit_grammar.h"
#include "tests/core/words/limit_word_text.h"
#include "tests/random/calendars.h"
#include "tests/random/property.h"

namespace weir {

// RapidCheck finds its printer under this name.
void showValue(const LimitShape& shape, std::ostream& out) {
  out << "{algorithm " << static_cast<int>(shape.algorithm) << ", aligned " << shape.aligned
      << ", shadow " << shape.shadow << ", calendar " << static_cast<int>(shape.calendar.unit)
      << " " << NumberOf(shape.calendar.zone) << " " << shape.calendar.anchor << ", count "
      << shape.count << ", period " << shape.period.count() << " ns, burst " << shape.burst
      << ", ban " << shape.ban.count() << " ns}";
}

namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

using std::chrono::microseconds;
using Kind = LimitWord::Kind;

// The longest error quotes the whole word and one part of it.
constexpr std::size_t kErrorBytesMax = 511;

// Describes the mistake that the parser makes with `word`; empty if there is none.
std::string ComplaintAbout(std::string_view word) {
  const absl::StatusOr<LimitWord> read = ParseLimitWord(word);
  if (!read.ok()) {
    const std::string_view error = StdView(read.status().message());
    if (!error.starts_with("invalid limit " + Quote(word) + ": "))
      return "the error lacks the word";
    return error.size() > kErrorBytesMax ? "the error is too long" : "";
  }
  if (read->kind == Kind::kPolicy) return read->limit.has_value() ? "a limit from nowhere" : "";
  const std::string text = LimitText(read->limit.value());
  const absl::StatusOr<LimitWord> again = ParseLimitWord(text);
  if (!again.ok()) return "its text does not read: " + text;
  if (again->limit != read->limit) return "its text reads as another limit: " + text;
  return NameOf(*again) == text ? "" : "its text prints as another text: " + text;
}

// Words with a MiB of each byte that matters, in each position: with a quadratic step, the test
// would run into its timeout.
TEST(LimitGrammarLawTest, LongWordsAreReadOnceAndEchoedInPart) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  for (const char byte : {'0', '1', '9', 'k', 'a', '/', ',', '@', '=', ' ', '\0', '\xff'}) {
    const std::string filler(kBytes, byte);
    for (const std::string& word :
         {filler, filler + "/s", "10/" + filler, "10/" + filler + "s", "10/s," + filler,
          "@" + filler, "@a," + filler, "10/s,name=" + filler, "10/s,cost=" + filler,
          "10/s,burst=" + filler}) {
      EXPECT_EQ(ComplaintAbout(word), "") << word.substr(0, 20);
      EXPECT_THAT(ErrorOf(word),
                  StartsWith("invalid limit '" + word.substr(0, kQuotedBytesMax) + "...'"));
    }
  }
  std::string pairs = "10/s";
  while (pairs.size() < kBytes) pairs += ",shadow";
  EXPECT_THAT(ErrorOf(pairs), EndsWith("option 'shadow' is given twice"));
}

// The oracle is a regular expression. In words of up to 5 bytes, 0 is the only number out of range,
// and no option fits.
TEST(LimitGrammarLawTest, AllSmallWordsAreReadAsTheGrammarSays) {
  constexpr std::string_view kAlphabet = "019/smu,k@";
  constexpr std::size_t kBytesMax = 5;
  const std::regex grammar("[19][019]*k?/([19][019]*)?(us|ms|s|m)|@[019smuk]+");
  std::vector<std::string> words = {""};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    ASSERT_EQ(ComplaintAbout(word), "") << word;
    ASSERT_EQ(ParseLimitWord(word).ok(), std::regex_match(word, grammar)) << word;
    if (word.size() == kBytesMax) continue;
    for (const char byte : kAlphabet) words.push_back(word + byte);
  }
  EXPECT_EQ(words.size(), 111'111U);
}

// Valid shapes that a word can spell: periods of whole microseconds.
rc::Gen<LimitShape> AnyShape() {
  const auto any = rc::gen::exec([] {
    const auto algorithm = *rc::gen::element(Algorithm::kTokenBucket, Algorithm::kFixedWindow,
                                             Algorithm::kSlidingWindow);
    const bool window = algorithm != Algorithm::kTokenBucket;
    const auto decimal = *rc::gen::element<std::int64_t>(1, 1'000, 1'000'000, 1'000'000'000);
    const std::int64_t unit = *rc::gen::element<std::int64_t>(
        1, 1'000, 1'000'000, 60'000'000, 3'600'000'000, 86'400'000'000, 604'800'000'000);
    const std::int64_t count_max = !window                       ? kCountMax
                                   : *rc::gen::arbitrary<bool>() ? kFixedCountMax
                                                                 : kWindowCountMax;
    const std::int64_t period_max = kPeriodMax.count() / 1'000;
    LimitShape shape{.algorithm = algorithm,
                     .shadow = *rc::gen::arbitrary<bool>(),
                     .count = *NumberUpTo(count_max / decimal) * decimal,
                     .period = microseconds{*NumberUpTo(period_max / unit) * unit}};
    shape.aligned = algorithm == Algorithm::kFixedWindow && *rc::gen::arbitrary<bool>();
    if (algorithm == Algorithm::kFixedWindow && *Between(0, 2) == 0) {
      shape.aligned = false;
      shape.calendar = *AnyCalendar();
      shape.period = Nanos{0};
    } else if (algorithm != Algorithm::kSlidingWindow && *rc::gen::arbitrary<bool>()) {
      shape.ban = microseconds{*NumberUpTo(period_max / unit) * unit};
    }
    if (!window) shape.burst = *rc::gen::arbitrary<bool>() ? shape.count : *NumberUpTo(kCountMax);
    return shape;
  });
  return rc::gen::suchThat(any, [](const LimitShape& shape) { return Limit::Create(shape).ok(); });
}

TEST(LimitGrammarLawTest, EveryLimitPrintsAndReadsBack) {
  CheckLaw(10'000, [] {
    const LimitShape shape = *AnyShape();
    const std::string text = TextOf(shape);
    const absl::StatusOr<LimitWord> word = ParseLimitWord(text);
    RC_ASSERT(word.ok());
    RC_ASSERT(word->limit.value().shape() == shape);
    RC_ASSERT(NameOf(*word) == text);
  });
}

TEST(LimitGrammarLawTest, DifferentLimitsPrintDifferently) {
  CheckLaw(10'000, [] {
    const LimitShape a = *AnyShape();
    LimitShape b = a;
    const auto field = *rc::gen::inRange(0, 7);
    if (field == 0) b.count += a.count == INT64_MAX ? -1 : 1;
    if (field == 1) b.period += microseconds{1};
    if (field == 2) b.burst += a.burst == INT64_MAX ? -1 : 1;
    if (field == 3) b.shadow = !a.shadow;
    if (field == 4) ++b.calendar.anchor;
    if (field == 5) b.calendar.zone = Next(a.calendar.zone);
    if (field == 6) b.ban += microseconds{1};
    const absl::StatusOr<Limit> other = Limit::Create(b);
    RC_PRE(other.ok());
    RC_ASSERT(LimitText(*other) != TextOf(a));
  });
}

TEST(LimitGrammarLawTest, RandomBytesAreRefusedOrReadBack) {
  CheckLaw(20'000, [] {
    const auto word = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    RC_ASSERT(ComplaintAbout(word) == "");
  });
}

TEST(LimitGrammarLawTest, RandomPiecesOfTheGrammarAreRefusedOrReadBack) {
  CheckLaw(50'000, [] {
    const auto piece = rc::gen::element<std::string>(
        "0", "1", "9", "10", "4294967296", "9223372036854775807", "k", "K", "M", "G", "/", "us",
        "ms", "s", "m", "h", "d", "w", ",", ",", ",", "bucket", "fixed", "sliding",
        "burst=", "aligned", "ban=", "cost=", "keep=", "shadow", "name=", "@", "unlimited", "none",
        " ", "+", "-", "10/s", "100k/m", "day", "week", "month", "year",
        "tz=", "from=", "Europe/Berlin", "00:30", "sun", "02-29", "sec", "minutes", "hr");
    std::string word =
        *rc::gen::element<std::string>("", "10/s", "1/us", "@free", "7/11ms,", "3/month,");
    for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece))
      word += part;
    RC_ASSERT(ComplaintAbout(word) == "");
  });
}

}  // namespace
}  // namespace weir
