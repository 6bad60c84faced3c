// Goal: a reading of the counts is never that of the middle of a reset. Method: one thread counts
// and resets, another one reads.
#include "core/commands/limit_totals.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "core/commands/request_counters.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

TEST(LimitTotalsTest, BetweenResetsNoCountGoesBack) {
  std::array<RequestCounters, 2> threads;
  const std::array<const RequestCounters*, 2> read = {&threads[0], &threads[1]};
  const std::array<RequestCounters*, 2> reset = {&threads[0], &threads[1]};
  LimitTotals totals;
  std::atomic<bool> counting = true;
  std::thread reader([&] {
    std::optional<LimitTotals::Reading> before;
    while (counting) {
      LimitTotals::Reading reading = totals.Read(read);
      if (before && before->resets == reading.resets) {
        EXPECT_GE(reading.rows["l"][0], before->rows["l"][0]);
        EXPECT_GE(reading.total[0], before->total[0]);
      }
      before = reading;
    }
  });
  const std::int64_t rounds = Scaled(20'000);
  for (std::int64_t i = 0; i < rounds; ++i) {
    for (RequestCounters& counters : threads) {
      CountersHint none;
      counters.limits.Of("l", none).allowed.Add(5);
      counters.allowed.Add(5);
    }
    totals.Reset(reset);
  }
  counting = false;
  reader.join();
  const LimitTotals::Reading last = totals.Read(read);
  EXPECT_EQ(last.resets, static_cast<std::uint64_t>(rounds));
  EXPECT_EQ(last.total, LimitTotals::Numbers{});
  EXPECT_TRUE(last.rows.empty());
}

}  // namespace
}  // namespace weir
