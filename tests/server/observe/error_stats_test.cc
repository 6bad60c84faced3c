// Goal: errors are counted by their prefix, and however many there were the memory is bounded.
#include "server/observe/error_stats.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(ErrorStatsTest, CountsByPrefix) {
  ErrorStats stats;
  stats.Count("ERR syntax error");
  stats.Count("ERR");
  stats.Count("NOAUTH Authentication required.");
  EXPECT_THAT(stats.counts(), UnorderedElementsAre(Pair("ERR", 2), Pair("NOAUTH", 1)));
}

TEST(ErrorStatsTest, CountsTooManyPrefixesTogether) {
  ErrorStats stats;
  const std::size_t others = 10;
  for (std::size_t i = 0; i < ErrorStats::kPrefixesMax + others; ++i) {
    stats.Count("E" + std::to_string(i) + " text");
  }
  stats.Count("E0 again");
  const ErrorStats::Counts counts = stats.counts();
  EXPECT_EQ(counts.size(), ErrorStats::kPrefixesMax + 1);
  EXPECT_EQ(counts.find(ErrorStats::kOverflow)->second, others);
  EXPECT_EQ(counts.find("E0")->second, 2U);
}

}  // namespace
}  // namespace weir
