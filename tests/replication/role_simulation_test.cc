// Goal: the laws R5 to R19 hold, whatever fails: no two servers admit in turns, nothing is
// forgotten that was promised, the time of decisions neither jumps nor stands, and after the last
// fault one primary serves. Method: the simulation of role_simulation.h, for many seeds, which
// together enter the table of role.h everywhere and take all branches of its rules; the same with
// planted mistakes, each of which must be found. A failure prints its seed; WEIR_SIM_SEED=N runs
// that alone.
//
// Other rules hide some mistakes from the simulation, so role_switch_test and role_test look for
// them: a hello that is lost while a server yields is said again 2 s later, and a primary of an
// earlier term is deposed by the replica that would join it.
#include "tests/replication/role_simulation.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/replication/role_coverage.h"
#include "tests/support/test_scale.h"

namespace weir {
namespace {

constexpr std::int64_t kRoleRuns = 3'000;
constexpr std::uint64_t kRoleRunsUntilFound = 8'000;

template <typename... Events>
std::vector<std::size_t> IndexesOf() {
  return {kRoleEventIndex<Events>...};
}

// The events of each row of the table.
const std::map<std::string, std::vector<std::size_t>>& EventsOfRows() {
  static const std::map<std::string, std::vector<std::size_t>> kEvents = {
      {"FollowAsked", IndexesOf<FollowAsked>()},
      {"NoOneAsked", IndexesOf<NoOneAsked>()},
      {"PromoteAsked", IndexesOf<PromoteAsked>()},
      {"FailoverAsked", IndexesOf<FailoverAsked>()},
      {"TakeoverAsked", IndexesOf<TakeoverAsked>()},
      {"HistoryEnded", IndexesOf<HistoryEnded>()},
      {"YieldCame", IndexesOf<YieldCame>()},
      {"RefuseCame", IndexesOf<RefuseCame>()},
      {"SyncAsked", IndexesOf<SyncAsked>()},
      {"SyncAnswered", IndexesOf<SyncAnswered>()},
      {"LinkUp, Synced", IndexesOf<LinkUp, LinkSynced>()},
      {"LinkLacks", IndexesOf<LinkLacks>()},
      {"LinkLost", IndexesOf<LinkLost>()},
      {"LinkEnded", IndexesOf<LinkEnded>()},
      {"ReplicaInSync", IndexesOf<ReplicaInSync>()},
      {"hello confirms", IndexesOf<HelloHeard>()},
      {"hello deposes", IndexesOf<HelloHeard>()},
      {"RecordSaved", IndexesOf<RecordSaved>()},
      {"SaveFailed", IndexesOf<RecordSaveFailed>()},
      {"deadline", IndexesOf<DeadlineCame>()}};
  return kEvents;
}

// Cells of the table that no run enters, or almost none.
struct Unreached {
  std::size_t event;
  std::vector<RoleState> states;
  const char* why;
};

const std::vector<Unreached>& NotReached() {
  using enum RoleState;
  static const std::vector<Unreached> kNotReached = {
      {kRoleEventIndex<TakeoverAsked>,
       {kGated, kAsking, kWaiting, kSaving, kDeposed},
       "the links of replicas have ended with the reign, more than 300 ms before"},
      {kRoleEventIndex<ReplicaInSync>, {kGated, kAsking, kWaiting, kSaving, kDeposed}, "the same"},
      {kRoleEventIndex<HistoryEnded>,
       {kGated, kAsking, kDeposed},
       "a start has no history to end, a link is opened after the end, and a server is deposed "
       "long after it"},
      {kRoleEventIndex<LinkSynced>,
       {kAsking},
       "a copy seldom begins and ends in the second of a question"},
      {kRoleEventIndex<LinkEnded>,
       {kGated, kYielding, kDeposed},
       "a start has no link, and a primary's last link ended before it had replicas"},
  };
  return kNotReached;
}

bool IsReached(RoleState state, std::size_t event) {
  return std::ranges::none_of(NotReached(), [&](const Unreached& cells) {
    return cells.event == event && std::ranges::count(cells.states, state) > 0;
  });
}

void ExpectEntered(const RoleCoverage& coverage, RoleState state,
                   const std::vector<std::size_t>& events) {
  for (const std::size_t event : events) {
    EXPECT_GT(coverage.entered(state, event), 0U)
        << kStateWords.at(static_cast<std::size_t>(state)) << ", " << kRoleEventWords.at(event);
  }
}

// Each cell that is not `!`, and what the table leaves out.
void ExpectTableEntered(const RoleCoverage& coverage) {
  for (const RoleTableRow& row : ReadRoleTable()) {
    if (row.name == "StopAsked") continue;
    const auto events = EventsOfRows().find(row.name);
    ASSERT_NE(events, EventsOfRows().end()) << row.name;
    for (std::size_t column = 0; column < kTableStates.size(); ++column) {
      for (const std::size_t event : events->second) {
        const bool is_due =
            row.cells.at(column) != "!" && IsReached(kTableStates.at(column), event);
        if (is_due) ExpectEntered(coverage, kTableStates.at(column), {event});
      }
    }
  }
  for (const RoleState state : kTableStates) {
    ExpectEntered(coverage, state, IndexesOf<FailoverAbortAsked, SettingsChanged, StopAsked>());
  }
  ExpectEntered(coverage, RoleState::kServing, IndexesOf<ReplicasSeen>());
  const auto of_others =
      IndexesOf<FollowAsked, NoOneAsked, PromoteAsked, FailoverAsked, FailoverAbortAsked, SyncAsked,
                HelloHeard, DeadlineCame, SettingsChanged, StopAsked>();
  ExpectEntered(coverage, RoleState::kLoading, of_others);
  ExpectEntered(coverage, RoleState::kLoading, IndexesOf<StateLoaded>());
  ExpectEntered(coverage, RoleState::kStopping, of_others);
  ExpectEntered(coverage, RoleState::kStopping,
                IndexesOf<HistoryEnded, LinkLost, LinkEnded, RecordSaved, RecordSaveFailed>());
}

TEST(RoleSimulationTest, NoRunBreaksALaw) {
  const char* const only = std::getenv("WEIR_SIM_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 0;
  const std::int64_t runs = only != nullptr ? 1 : ScaledRuns(kRoleRuns);
  std::vector<std::size_t> admissions;
  std::uint64_t steps = 0;
  RoleCoverage coverage;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(runs); ++seed) {
    RoleSimulation simulation(seed);
    ASSERT_EQ(simulation.Run(), "") << "WEIR_SIM_SEED=" << seed;
    admissions.push_back(simulation.admissions());
    steps += simulation.steps();
    coverage.Add(simulation.coverage());
  }
  if (runs < kRoleRuns) return;  // too few for what follows
  // A run in which nothing is admitted proves nothing.
  std::ranges::sort(admissions);
  EXPECT_GE(admissions.at(admissions.size() / 2), 50U);
  EXPECT_GE(steps, static_cast<std::uint64_t>(runs) * 1'000);
  for (const auto& [way, times] : coverage.Promotions()) {
    EXPECT_GE(times, static_cast<std::uint64_t>(runs) / 10) << way;
  }
  ExpectTableEntered(coverage);
  EXPECT_EQ(coverage.BranchesNotTaken(), "");
}

class PlantedRoleBugTest : public testing::TestWithParam<RoleBug> {};

TEST_P(PlantedRoleBugTest, IsFound) {
  if (Scaled(10) < 10) GTEST_SKIP() << "takes too long in this build";
  for (std::uint64_t seed = 0; seed < kRoleRunsUntilFound; ++seed) {
    RoleSimulation simulation(seed, GetParam());
    if (!simulation.Run().empty()) {
      RecordProperty("run", static_cast<int>(seed));
      return;
    }
  }
  FAIL() << "not found in " << kRoleRunsUntilFound << " runs";
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedRoleBugTest,
    testing::Values(RoleBug::kTermUnsaved, RoleBug::kAckMemory, RoleBug::kGateRefusesAlways,
                    RoleBug::kUntrustedPromotes, RoleBug::kStrangerDeposes, RoleBug::kRestoredRole,
                    RoleBug::kSwitchToFullDisk, RoleBug::kSilentRefusal, RoleBug::kNoLeaseWait,
                    RoleBug::kLeaseFromReceipt, RoleBug::kOldYield, RoleBug::kShiftLost,
                    RoleBug::kShiftDisk, RoleBug::kEmptyGate, RoleBug::kDeclinesAny,
                    RoleBug::kLacksForgotten, RoleBug::kPartialHistory, RoleBug::kYieldUnsaved,
                    RoleBug::kFloorGe, RoleBug::kAskerReconnects, RoleBug::kEmptyPromotes,
                    RoleBug::kClaimWithoutState, RoleBug::kSharedDeadline));

}  // namespace
}  // namespace weir
