// Goal: the numbers that clients see mean what is promised: whole milliseconds rounded up, -1 for
// never. Method: a table; and, for random spans, the law that a client that waits the told time has
// waited long enough.
#include "core/commands/reply_numbers.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/random/generators.h"
#include "tests/random/property.h"

namespace weir {
namespace {

using testing::ElementsAre;

TEST(ReplyNumbersTest, RetriesAreMillisecondsRoundedUp) {
  EXPECT_EQ(RetryMillis(Nanos{0}), 0);
  EXPECT_EQ(RetryMillis(Nanos{1}), 1);
  EXPECT_EQ(RetryMillis(Nanos{999'999}), 1);
  EXPECT_EQ(RetryMillis(Nanos{1'000'000}), 1);
  EXPECT_EQ(RetryMillis(Nanos{1'000'001}), 2);
  EXPECT_EQ(RetryMillis(kCapacityMax), 1'152'921'504'607);  // 2^60 ns
  EXPECT_EQ(RetryMillis(kNever - Nanos{1}), 9'223'372'036'855);
  EXPECT_EQ(RetryMillis(kNever), -1);
}

TEST(ReplyNumbersTest, TheToldTimeIsLongEnoughAndNotAMillisecondMore) {
  CheckLaw(10'000, [] {
    const std::int64_t nanos = *NumberUpTo(INT64_MAX) - 1;
    const std::int64_t millis = RetryMillis(Nanos{nanos});
    RC_ASSERT(millis > INT64_MAX / 1'000'000 || nanos <= millis * 1'000'000);
    RC_ASSERT((millis - 1) * 1'000'000 < nanos);
  });
}

TEST(ReplyNumbersTest, FiveNumbersOfAVerdict) {
  Verdict verdict;
  verdict.allowed = true;
  verdict.remaining = 9;
  verdict.reset_after = Nanos{3'600'000'001};
  verdict.limit_index = 63;
  EXPECT_THAT(VerdictNumbers(verdict), ElementsAre(1, 9, 0, 3601, 63));
  verdict.allowed = false;
  verdict.remaining = 0;
  verdict.retry_after = kNever;
  verdict.reset_after = Nanos{0};
  verdict.limit_index = 0;
  EXPECT_THAT(VerdictNumbers(verdict), ElementsAre(0, 0, -1, 0, 0));
}

TEST(ReplyNumbersTest, NumbersOfADecisionAndTheirNames) {
  EXPECT_THAT(
      kDecisionFields,
      ElementsAre(testing::StrEq("allowed"), testing::StrEq("limit"), testing::StrEq("remaining"),
                  testing::StrEq("retry_after_ms"), testing::StrEq("reset_after_ms"),
                  testing::StrEq("group"), testing::StrEq("cost"), testing::StrEq("keep"),
                  testing::StrEq("alternative")));
  const Decision denied = {
      .allowed = false, .remaining = 2, .retry_after = Nanos{1}, .reset_after = Nanos{2'000'001}};
  const Limit bucket = LimitOf("10/s,burst=20");
  EXPECT_THAT(DecisionNumbers({"", &bucket, 2, 3, 4, 5}, denied),
              ElementsAre(0, 20, 2, 1, 3, 2, 3, 4, 5));
  EXPECT_EQ(DecisionFieldsOf({"", &bucket, 2, 3, 4, 5}), 9u);
  EXPECT_EQ(DecisionFieldsOf({"", &bucket}), 8u);
  EXPECT_THAT(DecisionNumbers({"", &bucket}, {.allowed = true, .remaining = 10}),
              ElementsAre(1, 20, 10, 0, 0, 0, 1, 0, -1));
  // A window's limit is its count.
  const Limit window = LimitOf("10/s,fixed");
  EXPECT_THAT(DecisionNumbers({"", &window}, {.allowed = true}),
              ElementsAre(1, 10, 0, 0, 0, 0, 1, 0, -1));
}

}  // namespace
}  // namespace weir
