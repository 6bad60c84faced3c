// Goal: percentiles are those of the counted durations, at most an eighth too large. Method: every
// class at its edges, and random durations compared with a sorted list.
#include "server/observe/latency_histogram.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/random/property.h"

namespace weir {
namespace {

using Histogram = LatencyHistogram;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(LatencyHistogramTest, ClassesMeetAndGrowByAnEighth) {
  for (std::size_t i = 0; i + 1 < Histogram::kClasses; ++i) {
    const Nanos end = Histogram::EndOf(i);
    EXPECT_EQ(Histogram::ClassOf(end - Nanos{1}), i);
    EXPECT_EQ(Histogram::ClassOf(end), i + 1);
    EXPECT_LE((Histogram::EndOf(i + 1) - end) * 8, end);
  }
  EXPECT_EQ(Histogram::ClassOf(Nanos{0}), 0U);
  EXPECT_EQ(Histogram::ClassOf(Nanos::max()), Histogram::kClasses - 1);
}

TEST(LatencyHistogramTest, PercentilesAreAtMostAnEighthTooGreat) {
  CheckLaw(200, [] {
    const auto durations =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(NumberUpTo(1LL << 33)));
    Histogram histogram;
    for (const std::int64_t nanos : durations) histogram.Count(Nanos{nanos});
    std::vector<std::int64_t> sorted = durations;
    std::ranges::sort(sorted);
    const Histogram::Counts counts = histogram.counts();
    RC_ASSERT(TotalOf(counts) == sorted.size());
    for (const std::uint64_t permille : {0U, 1U, 500U, 990U, 999U, 1000U}) {
      const std::size_t rank = std::max<std::size_t>((sorted.size() * permille + 999) / 1000, 1);
      const std::int64_t exact = sorted[rank - 1];
      const std::int64_t told = Percentile(counts, permille).count();
      RC_ASSERT(told >= exact);
      RC_ASSERT(told <= std::max<std::int64_t>(exact + exact / 8, 63));
    }
  });
}

TEST(LatencyHistogramTest, CumulativeCountsAreThoseOfRedis) {
  Histogram histogram;
  EXPECT_THAT(CumulativeCounts(histogram.counts()), IsEmpty());
  histogram.Count(Nanos{300});
  histogram.Count(Nanos{1023});
  histogram.Count(Nanos{1024});
  for (int i = 0; i < 5; ++i) histogram.Count(std::chrono::microseconds{20});
  histogram.Count(std::chrono::hours{1});
  using Row = CumulativeCount;
  EXPECT_THAT(CumulativeCounts(histogram.counts()),
              ElementsAre(Row{1, 2}, Row{2, 3}, Row{33, 8}, Row{17314086, 9}));
}

}  // namespace
}  // namespace weir
