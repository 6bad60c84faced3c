// Goal: the laws R5 to R19 hold, whatever fails: no two servers admit in turns, nothing is
// forgotten that was promised, the time of decisions neither jumps nor stands, and after the last
// fault one primary serves. Method: the simulation of role_simulation.h, for many seeds; the same
// with planted mistakes, each of which must be found. A failure prints its seed; WEIR_SIM_SEED=N
// runs that alone.
#include "tests/replication/role_simulation.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr std::int64_t kRoleRuns = 3'000;
constexpr std::uint64_t kRoleRunsUntilFound = 8'000;

template <typename Event>
const std::size_t kIndexOf = RoleEvent(Event{}).index();

TEST(RoleSimulationTest, NoRunBreaksALaw) {
  const char* const only = std::getenv("WEIR_SIM_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 0;
  const std::int64_t runs = only != nullptr ? 1 : Scaled(kRoleRuns);
  std::vector<std::size_t> admissions;
  std::uint64_t steps = 0;
  std::map<std::pair<RoleState, std::size_t>, std::uint64_t> entered;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(runs); ++seed) {
    RoleSimulation simulation(seed);
    ASSERT_EQ(simulation.Run(), "") << "WEIR_SIM_SEED=" << seed;
    admissions.push_back(simulation.admissions());
    steps += simulation.steps();
    for (std::size_t event = 0; event < std::variant_size_v<RoleEvent>; ++event) {
      for (std::size_t state = 0; state < kStateWords.size(); ++state) {
        const auto in = static_cast<RoleState>(state);
        entered[{in, event}] += simulation.entered(in, event);
      }
    }
  }
  if (runs < kRoleRuns) return;  // too few for what follows
  // A run in which nothing is admitted proves nothing.
  std::ranges::sort(admissions);
  EXPECT_GE(admissions.at(admissions.size() / 2), 50U);
  EXPECT_GE(steps, static_cast<std::uint64_t>(runs) * 1'000);
  // Cells of the table that the laws hang on.
  const auto came = [&](RoleState state, std::size_t event) {
    EXPECT_GT((entered[{state, event}]), 0U)
        << kStateWords.at(static_cast<std::size_t>(state)) << ", event " << event;
  };
  for (const RoleState state : {RoleState::kGated, RoleState::kServing, RoleState::kYielding,
                                RoleState::kFollowing, RoleState::kDeposed}) {
    came(state, kIndexOf<HelloHeard>);
    came(state, kIndexOf<SyncAsked>);
  }
  for (const RoleState state : {RoleState::kServing, RoleState::kYielding, RoleState::kFollowing,
                                RoleState::kWaiting, RoleState::kSaving, RoleState::kDeposed}) {
    came(state, kIndexOf<RecordSaved>);
    came(state, kIndexOf<RecordSaveFailed>);
  }
  for (const RoleState state : {RoleState::kFollowing, RoleState::kAsking}) {
    came(state, kIndexOf<YieldCame>);
    came(state, kIndexOf<LinkLost>);
    came(state, kIndexOf<LinkEnded>);
  }
  came(RoleState::kYielding, kIndexOf<HistoryEnded>);
  came(RoleState::kFollowing, kIndexOf<FollowAsked>);
  came(RoleState::kAsking, kIndexOf<RefuseCame>);
  came(RoleState::kServing, kIndexOf<TakeoverAsked>);
  came(RoleState::kWaiting, kIndexOf<LinkEnded>);
}

class PlantedRoleBugTest : public testing::TestWithParam<RoleBug> {};

TEST_P(PlantedRoleBugTest, IsFound) {
  if (Scaled(10) < 10) GTEST_SKIP() << "takes too long in this build";
  for (std::uint64_t seed = 0; seed < kRoleRunsUntilFound; ++seed) {
    RoleSimulation simulation(seed, GetParam());
    if (!simulation.Run().empty()) return;
  }
  FAIL() << "not found in " << kRoleRunsUntilFound << " runs";
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedRoleBugTest,
    testing::Values(RoleBug::kTermUnsaved, RoleBug::kAckMemory, RoleBug::kGateRefusesAlways,
                    RoleBug::kUntrustedPromotes, RoleBug::kStrangerDeposes, RoleBug::kRestoredRole,
                    RoleBug::kSwitchToFullDisk, RoleBug::kSilentRefusal, RoleBug::kNoLeaseWait,
                    RoleBug::kLeaseFromReceipt, RoleBug::kOldYield, RoleBug::kShiftDisk,
                    RoleBug::kEmptyGate, RoleBug::kDeclinesAny, RoleBug::kLacksForgotten,
                    RoleBug::kPartialHistory, RoleBug::kYieldUnsaved));

}  // namespace
}  // namespace weir
