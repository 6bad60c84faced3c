// Goal: in any order of reservations, commits, cancels, expiries and other requests, the limiter
// counts and settles holds as laws L20 to L22 say. Method: random histories (hold_history.h).
#include <cstdint>

#include "gtest/gtest.h"

#include "tests/random/hold_history.h"
#include "tests/random/property.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(HoldModelTest, L20L21L22RandomHistories) {
  HoldTally tally;
  constexpr std::int64_t kHistories = 1'500;
  CheckLaw(kHistories, [&tally] {
    Limiter limiter({.max_wait = HoldHistory::kMaxWait, .time_is_ordered = *Between(0, 1) == 0});
    HoldHistory history(tally, limiter);
    for (int turn = 0; turn < 60; ++turn) history.Turn();
    history.CheckAll();
  });
  const std::int64_t few = InWholeRuns(kHistories);
  EXPECT_GE(tally.opened, 5 * few);
  EXPECT_GE(tally.denied, few);
  EXPECT_GE(tally.renewed, few / 4);
  EXPECT_GE(tally.settled, few);
  EXPECT_GE(tally.repeated, few / 10);
  EXPECT_GE(tally.unknown, few);
  EXPECT_GE(tally.expired, 2 * few);
  EXPECT_GE(tally.refused, few / 4);
  EXPECT_GE(tally.sliced, few / 2);
  EXPECT_GE(tally.lapsed, few / 4);
}

}  // namespace
}  // namespace weir
