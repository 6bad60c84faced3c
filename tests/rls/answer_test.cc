// Goal: an answer tells the numbers of a limit, what is left and until when, as Envoy reads them.
// Method: statuses against those written here by hand, and messages that are parsed.
#include "rls/answer.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
    DescriptorStatus wanted = {row.is_over, shown, row.remaining, row.reset};
    if (row.is_over) wanted.retry_after = row.decision.retry_after;
    EXPECT_EQ(status, wanted) << row.limit;
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

TEST(AnswerTest, HeadersAreOfTheLastThatIsOverElseOfTheFewest) {
  const auto status = [](std::uint32_t remaining, bool is_over = false, bool is_quota = false) {
    return DescriptorStatus{.is_over = is_over,
                            .limit = AnsweredLimit{.requests_per_unit = 9},
                            .remaining = remaining,
                            .reset_seconds = 7,
                            .is_quota = is_quota};
  };
  const auto place = [](std::vector<DescriptorStatus> statuses) {
    return StatusOfHeaders({.statuses = std::move(statuses)});
  };
  EXPECT_EQ(place({}), std::nullopt);
  EXPECT_EQ(place({{.is_over = true}, {}}), std::nullopt) << "none has a limit";
  EXPECT_EQ(place({status(5), {}, status(3), status(3)}), 2U);
  EXPECT_EQ(place({status(0, true), status(0, true), status(0), {.is_over = true}}), 1U);
  EXPECT_EQ(place({status(1), status(0, true, true), status(0)}), 1U) << "as one of the fewest";
  const std::vector<AnsweredHeader> headers = {
      {"RateLimit-Limit", "9"}, {"RateLimit-Remaining", "5"}, {"RateLimit-Reset", "7"}};
  EXPECT_EQ(ReferenceHeaders(status(5)), headers);
}

TEST(AnswerTest, TheMessageHasHeadersAndMetadata) {
  RateLimitAnswer answer;
  answer.headers = {{"a", "1"}};
  answer.metadata = {{"list", {Metadata::List{{true}, {1.5}, {}}}},
                     {"map", {Metadata::Map{{"text", {std::string("x")}}}}}};
  rls::RateLimitResponse message;
  ASSERT_TRUE(message.ParseFromString(MessageOf(answer)));
  ASSERT_EQ(message.response_headers_to_add_size(), 1);
  EXPECT_EQ(message.response_headers_to_add(0).key(), "a");
  EXPECT_EQ(message.response_headers_to_add(0).value(), "1");
  const rls::Struct& sent = message.dynamic_metadata();
  ASSERT_EQ(sent.fields_size(), 2);
  const rls::List& list = sent.fields(0).value().list_value();
  EXPECT_EQ(sent.fields(0).key(), "list");
  EXPECT_TRUE(list.values(0).bool_value());
  EXPECT_EQ(list.values(1).number_value(), 1.5);
  EXPECT_EQ(list.values(2).kind_case(), rls::Value::kNullValue);
  const rls::Struct& map = sent.fields(1).value().struct_value();
  EXPECT_EQ(map.fields(0).key(), "text");
  EXPECT_EQ(map.fields(0).value().string_value(), "x");
}

}  // namespace
}  // namespace weir
