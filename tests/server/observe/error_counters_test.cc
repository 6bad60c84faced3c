// Goal: errors are counted by their prefix, in bounded memory for any number of prefixes.
#include "server/observe/error_counters.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(ErrorCountersTest, CountsByPrefix) {
  ErrorCounters counters;
  counters.Count("ERR syntax error");
  counters.Count("ERR");
  counters.Count("NOAUTH Authentication required.");
  EXPECT_THAT(counters.totals(), UnorderedElementsAre(Pair("ERR", 2), Pair("NOAUTH", 1)));
}

TEST(ErrorCountersTest, CountsTooManyPrefixesTogether) {
  ErrorCounters counters;
  const std::size_t others = 10;
  for (std::size_t i = 0; i < ErrorCounters::kPrefixesMax + others; ++i) {
    counters.Count("E" + std::to_string(i) + " text");
  }
  counters.Count("E0 again");
  const ErrorTotals counts = counters.totals();
  EXPECT_EQ(counts.size(), ErrorCounters::kPrefixesMax + 1);
  EXPECT_EQ(counts.find(ErrorCounters::kOverflow)->second, others);
  EXPECT_EQ(counts.find("E0")->second, 2U);
}

}  // namespace
}  // namespace weir
