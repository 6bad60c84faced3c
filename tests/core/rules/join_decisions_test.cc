// Goal: the verdict of several limits is that of the strictest limit, and names it. Method:
// examples.
#include "core/rules/join_decisions.h"

#include <chrono>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

#include "tests/core/rules/rule_fixture.h"

namespace weir {
namespace {

using std::chrono::seconds;

// Joins the decisions; `shadow` has one entry for each.
Verdict Join(bool allowed, const std::vector<Decision>& decisions,
             const std::vector<bool>& shadow) {
  Verdict verdict;
  verdict.allowed = allowed;
  bool all_shadow = true;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    verdict.decisions.push_back(decisions[i]);
    all_shadow = all_shadow && shadow[i];
  }
  JoinDecisions(
      decisions.size(), all_shadow, [&](std::size_t i) { return shadow[i]; }, verdict);
  return verdict;
}

TEST(JoinDecisionsTest, AnAdmissionNamesTheFirstLimitWithTheFewestRemaining) {
  const Verdict verdict = Join(
      true, {Allowed(2, seconds{9}), Allowed(1, seconds{3}), Allowed(1, seconds{4})}, {0, 0, 0});
  EXPECT_EQ(verdict.limit_index, 1U);
  EXPECT_EQ(verdict.remaining, 1);
  EXPECT_EQ(verdict.reset_after, seconds{9});
  EXPECT_EQ(verdict.retry_after, seconds{0});
}

TEST(JoinDecisionsTest, ADenialNamesTheFirstLimitWithTheLongestWait) {
  const Verdict verdict =
      Join(false,
           {Allowed(0, seconds{1}), Denied(3, seconds{5}, seconds{8}),
            Denied(2, seconds{5}, seconds{6}), Denied(1, seconds{4}, seconds{7})},
           {0, 0, 0, 0});
  EXPECT_EQ(verdict.limit_index, 1U);
  EXPECT_EQ(verdict.remaining, 0);
  EXPECT_EQ(verdict.retry_after, seconds{5});
  EXPECT_EQ(verdict.reset_after, seconds{8});
}

TEST(JoinDecisionsTest, ShadowsCountWhereThereAreNoOthers) {
  const std::vector<Decision> decisions = {Denied(0, seconds{5}, seconds{8}),
                                           Allowed(4, seconds{1})};
  const Verdict one = Join(true, decisions, {1, 0});
  EXPECT_EQ(one.limit_index, 1U);
  EXPECT_EQ(one.remaining, 4);
  EXPECT_EQ(one.reset_after, seconds{1});
  const Verdict all = Join(true, decisions, {1, 1});
  EXPECT_EQ(all.limit_index, 0U);
  EXPECT_EQ(all.remaining, 0);
  EXPECT_EQ(all.retry_after, seconds{0}) << "a shadow makes no client wait";
}

}  // namespace
}  // namespace weir
