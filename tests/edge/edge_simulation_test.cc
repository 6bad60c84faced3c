// Goal: edges, whatever fails, keep the laws E1 to E4 and E6 to E8: no more is spent than the
// limits admit, nothing is spent after its time or twice, nothing is denied for longer than was
// promised, and no client is locked out. Method: the simulation of edge_simulation.h, for many
// seeds; the same with planted mistakes, each of which must be found. A failure prints its seed;
// WEIR_SIM_SEED=N runs that alone.
#include "tests/edge/edge_simulation.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr std::int64_t kHistories = 2'000;
constexpr std::uint64_t kHistoriesUntilFound = 2'000;

TEST(EdgeSimulation, KeepsTheLaws) {
  EdgeTally tally;
  if (const char* const seed = std::getenv("WEIR_SIM_SEED")) {
    EXPECT_EQ(EdgeSimulation(std::strtoull(seed, nullptr, 10), EdgeBug::kNone, tally).Run(), "");
    return;
  }
  const auto histories = static_cast<std::uint64_t>(ScaledRuns(kHistories));
  for (std::uint64_t seed = 0; seed < histories; ++seed) {
    ASSERT_EQ(EdgeSimulation(seed, EdgeBug::kNone, tally).Run(), "") << "seed " << seed;
  }
  EXPECT_GE(tally.local_admissions, InWholeRuns(20'000));
  EXPECT_GE(tally.local_denials, InWholeRuns(1'000'000));
  EXPECT_GE(tally.waited, InWholeRuns(100'000));
  EXPECT_GE(tally.passed_on, InWholeRuns(100'000));
  EXPECT_GE(tally.away, InWholeRuns(100'000));
  EXPECT_GE(tally.slices, InWholeRuns(20'000));
  EXPECT_GE(tally.commits, InWholeRuns(10'000));
  EXPECT_GE(tally.resent, InWholeRuns(100));
  EXPECT_GE(tally.cut_asks, InWholeRuns(1'000));
  EXPECT_GE(tally.joined, InWholeRuns(200));
  EXPECT_GE(tally.not_sliced, InWholeRuns(500));
  EXPECT_GE(tally.changes, InWholeRuns(500));
}

struct PlantedBug {
  EdgeBug bug;
  std::string_view laws;  // one of them notices
};

class PlantedEdgeBug : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedEdgeBug, IsFound) {
  EdgeTally tally;
  std::string wrong;
  for (std::uint64_t seed = 0; seed < kHistoriesUntilFound && wrong.empty(); ++seed) {
    wrong = EdgeSimulation(seed, GetParam().bug, tally).Run();
  }
  ASSERT_FALSE(wrong.empty()) << "in " << kHistoriesUntilFound << " histories";
  EXPECT_NE(GetParam().laws.find(wrong.substr(0, 2)), std::string_view::npos) << wrong;
}

INSTANTIATE_TEST_SUITE_P(
    EdgeSimulation, PlantedEdgeBug,
    testing::Values(PlantedBug{EdgeBug::kCancel, "E1 E2"}, PlantedBug{EdgeBug::kRefund, "E1 E2"},
                    PlantedBug{EdgeBug::kWindow, "E2 E3"}, PlantedBug{EdgeBug::kReceipt, "E3"},
                    PlantedBug{EdgeBug::kDrift, "E3"}, PlantedBug{EdgeBug::kSpendOn, "E3 E4"},
                    PlantedBug{EdgeBug::kIds, "E3 E4"}, PlantedBug{EdgeBug::kGuess, "E3 E4"},
                    PlantedBug{EdgeBug::kUnknown, "E1 E2"}, PlantedBug{EdgeBug::kResend, "E1 E2"},
                    PlantedBug{EdgeBug::kOpen, "E1 E2"}, PlantedBug{EdgeBug::kDenial, "E6"},
                    PlantedBug{EdgeBug::kCost, "E6"}, PlantedBug{EdgeBug::kStuck, "E7"},
                    PlantedBug{EdgeBug::kHoard, "E8"}));

}  // namespace
}  // namespace weir
