// Goal: a policy's limits are parsed like the words of a request, except that they may not name
// policies, and their printed form reads back. Method: examples, and random lists of limits.
#include "core/policies/policy.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status.h"
#include "tests/random/generators.h"
#include "tests/random/property.h"
#include "tests/support/printing.h"

namespace weir {
namespace {

absl::StatusOr<PolicyLimits> Parse(const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  return ParsePolicyLimits(views);
}

std::string ErrorOf(const std::vector<std::string>& words) {
  const absl::Status status = Parse(words).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(PolicyTest, ReadsLimitsAndTheirOptions) {
  const auto limits =
      Parse({"10/s", "1000/24h,cost=5,keep=20,name=daily", "5/m,fixed,shadow,cost=0", "none"});
  ASSERT_TRUE(limits.ok()) << limits.status();
  const std::optional<std::int64_t> unset;
  EXPECT_THAT(*limits, testing::ElementsAre(PolicyLimit{LimitOf("10/s"), unset, unset, ""},
                                            PolicyLimit{LimitOf("1000/d"), 5, 20, "daily"},
                                            PolicyLimit{LimitOf("5/m,fixed,shadow"), 0, unset, ""},
                                            PolicyLimit{Limit::None(), unset, unset, ""}));
  for (const PolicyLimit& limit : *limits) EXPECT_EQ(limit.limit.owner(), LimitOwner{});
}

TEST(PolicyTest, ABadLimitSaysWhatWouldBeRight) {
  EXPECT_EQ(
      ErrorOf({"10/s", "10/x"}),
      "invalid limit '10/x': unknown unit 'x' (us, ms, s, m, h, d, w, or day, week, month, year)");
  EXPECT_EQ(ErrorOf({"10/s", "1G/us,burst=1G", "COST"}),
            "invalid limit 'COST': expected count/period, as in 10/s");
  EXPECT_EQ(ErrorOf({"10", "60"}),
            "invalid limit '10': expected count/period, as in 10/s: did you mean 10/60s?");
  EXPECT_EQ(ErrorOf({"60", "10"}),
            "invalid limit '60': expected count/period, as in 10/s: did you mean 60/10s?");
  EXPECT_EQ(ErrorOf({"10/s", "60"}), "invalid limit '60': expected count/period, as in 10/s");
  EXPECT_EQ(ErrorOf({"@other"}), "invalid limit '@other': a policy cannot hold another");
  EXPECT_EQ(ErrorOf({"10/s", "@other,cost=5"}),
            "invalid limit '@other,cost=5': a policy cannot hold another");
}

TEST(PolicyTest, HasOneLimitOrMoreUpToSixtyFour) {
  EXPECT_EQ(Parse(std::vector<std::string>(kPolicyLimitsMax, "10/s"))->size(), kPolicyLimitsMax);
  EXPECT_EQ(ErrorOf(std::vector<std::string>(kPolicyLimitsMax + 1, "10/s")),
            "a policy has 1 to 64 limits");
  EXPECT_EQ(ErrorOf({}), "a policy has 1 to 64 limits");
}

TEST(PolicyTest, TextIsCanonical) {
  for (const auto& [word, text] : std::vector<std::pair<std::string, std::string>>{
           {"60/60s", "60/m"},
           {"1000/24h,name=x,keep=2,cost=5", "1000/d,cost=5,keep=2,name=x"},
           {"10/s,keep=0", "10/s,keep=0"},
           {"10/s,cost=0,shadow,burst=20", "10/s,burst=20,shadow,cost=0"},
           {"unlimited", "unlimited"}}) {
    EXPECT_EQ(PolicyLimitText(Parse({word})->front()), text);
  }
}

TEST(PolicyTest, TextReadsBack) {
  CheckLaw(1000, [] {
    const auto tokens = [] {
      const auto drawn = *rc::gen::maybe(NumberUpTo(INT64_MAX));
      return drawn ? std::optional(*drawn) : std::nullopt;
    };
    const PolicyLimit limit{*NotableLimit(), tokens(), tokens(),
                            *rc::gen::element<std::string>("", "x", "a.b:c_d-9")};
    const auto read = Parse({PolicyLimitText(limit)});
    RC_ASSERT(read.ok());
    RC_ASSERT(read->front() == limit);
  });
}

}  // namespace
}  // namespace weir
