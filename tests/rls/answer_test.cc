// Goal: an answer tells the numbers of a limit, what is left and until when, as Envoy reads them.
// Method: statuses against those written here by hand, and messages that are parsed.
#include "rls/answer.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/words/limit_grammar.h"
#include "rls/rls.pb.h"

namespace weir {
namespace {

using std::chrono::seconds;

Limit LimitOf(std::string_view text) { return *ParseLimitWord(text)->limit; }

// At 100.5 s, 19.5 s before the end of a minute.
constexpr Instant kNow{std::chrono::milliseconds{100'500}};

TEST(AnswerTest, TheUnitIsTheLargestOfWhichThePeriodIsAMultiple) {
  struct Case {
    std::string_view limit;
    AnsweredLimit shown;
  };
  const Case cases[] = {
      {"10/s", {10, RuleUnit::kSecond, 1}},  {"900/m,fixed,aligned", {900, RuleUnit::kMinute, 1}},
      {"5/90s", {5, RuleUnit::kSecond, 90}}, {"2/h", {2, RuleUnit::kHour, 1}},
      {"3/48h", {3, RuleUnit::kDay, 2}},     {"3/2w", {3, RuleUnit::kWeek, 2}},
      {"3/60d", {3, RuleUnit::kMonth, 2}},   {"3/365d", {3, RuleUnit::kYear, 1}},
      {"3/1500ms", {3, RuleUnit::kNone, 1}},
  };
  for (const Case& row : cases) EXPECT_EQ(ShownLimit(LimitOf(row.limit)), row.shown) << row.limit;
}

TEST(AnswerTest, AStatusTellsTheEndOfTheWindowOrTheTimeThatIsLeft) {
  struct Case {
    std::string_view limit;
    Decision decision;
    bool is_over;
    std::uint32_t remaining;
    std::uint32_t reset;
  };
  const Case cases[] = {
      {"20/m,fixed", {.allowed = true, .remaining = 19, .reset_after = seconds{9}}, false, 19, 9},
      {"20/m,fixed", {.retry_after = Nanos{1}, .reset_after = Nanos{1}}, true, 0, 1},
      {"20/m,fixed", {.retry_after = kNever, .reset_after = seconds{60}}, true, 0, 60},
      {"none", {.retry_after = kNever}, true, 0, 20},
      {"3/m", {.allowed = true, .remaining = 2, .reset_after = seconds{20}}, false, 2, 20},
      {"3/m", {.retry_after = Nanos{1}, .reset_after = seconds{60}}, true, 0, 1},
      {"3/m", {.retry_after = kNever, .reset_after = seconds{60}}, true, 0, 60},
      {"3/m", {.allowed = true, .remaining = std::int64_t{1} << 40}, false, kRemainingMax, 0},
  };
  for (const Case& row : cases) {
    const AnsweredLimit shown = {.requests_per_unit = 20, .unit = RuleUnit::kMinute};
    const DescriptorStatus status =
        StatusOf(LimitOf(row.limit), shown, row.decision, row.is_over, kNow);
    EXPECT_EQ(status, (DescriptorStatus{row.is_over, shown, row.remaining, row.reset}))
        << row.limit;
  }
}

TEST(AnswerTest, TheMessageHasAllStatuses) {
  const std::string name = "per_user";
  RateLimitAnswer answer{.is_over = true, .statuses = {}};
  answer.statuses.push_back({.is_over = true,
                             .limit = AnsweredLimit{.requests_per_unit = 4'294'967'295,
                                                    .unit = RuleUnit::kWeek,
                                                    .unit_multiplier = 2,
                                                    .name = name},
                             .reset_seconds = 7});
  answer.statuses.push_back({.remaining = kRemainingMax});
  rls::RateLimitResponse message;
  ASSERT_TRUE(message.ParseFromString(MessageOf(answer)));
  EXPECT_EQ(message.overall_code(), 2);
  ASSERT_EQ(message.statuses_size(), 2);
  const rls::DescriptorStatus& first = message.statuses(0);
  EXPECT_EQ(first.code(), 2);
  EXPECT_EQ(first.current_limit().requests_per_unit(), 4'294'967'295);
  EXPECT_EQ(first.current_limit().unit(), 7);
  EXPECT_EQ(first.current_limit().name(), name);
  EXPECT_EQ(first.current_limit().unit_multiplier().value(), 2U);
  EXPECT_EQ(first.limit_remaining(), 0U);
  EXPECT_EQ(first.duration_until_reset().seconds(), 7);
  const rls::DescriptorStatus& second = message.statuses(1);
  EXPECT_EQ(second.code(), 1);
  EXPECT_FALSE(second.has_current_limit());
  EXPECT_FALSE(second.has_duration_until_reset());
  EXPECT_EQ(second.limit_remaining(), kRemainingMax);
}

}  // namespace
}  // namespace weir
