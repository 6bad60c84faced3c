// Goal: laws R1 to R3, R5, R7, R9 and R11, on any run. Method: runs that are decided by their seeds
// (simulation.h); and for each of several planted mistakes, that a run finds it.
//
// WEIR_SIM_SEED=N runs one seed again.
#include "tests/replication/simulation.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "gtest/gtest.h"

#include "tests/support/test_scale.h"

namespace weir {
namespace {

// About ten seconds.
constexpr std::int64_t kRuns = 30'000;
// A planted bug must be found within a minute of the CI; all of them are found much sooner.
constexpr std::uint64_t kRunsUntilFound = 5'000;

TEST(SimulationTest, ReplicasFollow) {
  if (const char* const text = std::getenv("WEIR_SIM_SEED")) {
    const std::string_view digits = text;
    std::uint64_t seed = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), seed);
    EXPECT_EQ(Simulation(seed).Run(), "") << "seed " << seed;
    return;
  }
  for (std::int64_t seed = 0; seed < ScaledRuns(kRuns); ++seed) {
    ASSERT_EQ(Simulation(static_cast<std::uint64_t>(seed)).Run(), "") << "seed " << seed;
  }
}

class PlantedBugTest : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugTest, IsFound) {
  std::uint64_t seed = 0;
  while (seed < kRunsUntilFound && Simulation(seed, GetParam()).Run().empty()) ++seed;
  EXPECT_LT(seed, kRunsUntilFound);
  RecordProperty("seed", std::to_string(seed));
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugTest,
                         testing::Values(PlantedBug::kForgetOpen, PlantedBug::kUnsaidSkip,
                                         PlantedBug::kHeartbeatMoves, PlantedBug::kOffsetAfterCopy,
                                         PlantedBug::kNoNeed, PlantedBug::kStalePolicies,
                                         PlantedBug::kKeptPolicies, PlantedBug::kNoOverrides,
                                         PlantedBug::kSeamlessPromotion, PlantedBug::kHastyYield,
                                         PlantedBug::kUncountedKinds, PlantedBug::kHastyAck,
                                         PlantedBug::kUndrainedIds, PlantedBug::kForgottenTerm));

}  // namespace
}  // namespace weir
