// Goal: Retry-After of a call of Envoy's rate limit service is when the same call would pass.
// Method: examples.
#include "server/rls/limit_headers.h"

#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/policy_limits.h"

namespace weir {
namespace {

// A limit of a part that is over for some seconds; for 0 it is not.
struct Told {
  std::size_t part;
  bool is_quota;
  int wait_s;
};

std::string RetryAfter(const std::vector<Told>& limits) {
  const PolicyLimits limit = LimitsOf({"1/h"});
  std::vector<ToldLimit> told;
  for (const Told& one : limits) {
    Decision decision;
    decision.allowed = one.wait_s == 0;
    decision.retry_after = std::chrono::seconds{one.wait_s};
    told.push_back({"x", &limit[0].limit, decision, one.wait_s > 0, one.is_quota, one.part});
  }
  for (const AnsweredHeader& header : LimitHeaders(told, true, Instant{})) {
    if (header.name == "Retry-After") return header.value;
  }
  return "none";
}

TEST(LimitHeadersTest, RetryAfterIsWhenTheCallWouldPass) {
  EXPECT_EQ(RetryAfter({{0, false, 5}, {1, false, 9}, {2, false, 0}}), "9");
  EXPECT_EQ(RetryAfter({{0, true, 5}, {1, true, 9}}), "5") << "one quota rule has to pass";
  EXPECT_EQ(RetryAfter({{0, true, 5}, {0, true, 9}, {1, true, 8}}), "8") << "all limits of a rule";
  EXPECT_EQ(RetryAfter({{0, true, 5}, {1, false, 3}}), "5");
  EXPECT_EQ(RetryAfter({{0, true, 5}, {1, false, 3}, {2, true, 0}}), "3");
}

}  // namespace
}  // namespace weir
