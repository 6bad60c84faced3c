// Counts of what the role machines of a simulation were asked and did: the cells of the table in
// role.h that were entered, and the branches of its rules that were taken.
//
//     coverage.Note(before, event, after, actions);   // each event, with the views around it
//     total.Add(coverage);                            // of all runs
//     EXPECT_GT(total.entered(RoleState::kGated, kRoleEventIndex<SyncAsked>), 0);
//     EXPECT_EQ(total.BranchesNotTaken(), "");
//
// A step is kept as one number: the states, the event with what matters of it, and the kinds of the
// actions. So a run has some hundred of them, and a branch is a condition on one step.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "replication/role.h"
#include "tests/replication/role_words.h"

namespace weir {

template <typename Event>
inline const std::size_t kRoleEventIndex = RoleEvent(Event{}).index();

// The names of events, in the order of RoleEvent.
inline constexpr std::array kRoleEventWords = {
    "StateLoaded",        "FollowAsked",      "NoOneAsked",    "PromoteAsked",    "FailoverAsked",
    "FailoverAbortAsked", "ReplicasSeen",     "TakeoverAsked", "HistoryEnded",    "YieldCame",
    "RefuseCame",         "SyncAsked",        "SyncAnswered",  "LinkUp",          "LinkSynced",
    "LinkLacks",          "LinkLost",         "LinkEnded",     "ReplicaInSync",   "HelloHeard",
    "RecordSaved",        "RecordSaveFailed", "DeadlineCame",  "SettingsChanged", "StopAsked"};
static_assert(kRoleEventWords.size() == std::variant_size_v<RoleEvent>);

// The columns of the table of transitions, as it stands in replication/role.h.
inline constexpr std::array kTableStates = {
    RoleState::kGated,  RoleState::kServing, RoleState::kYielding, RoleState::kFollowing,
    RoleState::kAsking, RoleState::kWaiting, RoleState::kSaving,   RoleState::kDeposed};

struct RoleTableRow {
  std::string name;
  std::vector<std::string> cells;  // of kTableStates; StopAsked has one text for all
};

[[nodiscard]] std::vector<RoleTableRow> ReadRoleTable();

class RoleCoverage {
 public:
  void Note(const RoleView& before, const RoleEvent& event, const RoleView& after,
            const std::vector<RoleAction>& actions);
  void Add(const RoleCoverage& other);

  // How often the event of this index came in this state.
  [[nodiscard]] std::uint64_t entered(RoleState state, std::size_t event) const;
  // How often each branch was taken, a line each.
  [[nodiscard]] std::string Branches() const;
  // The branches that were taken less often than `at_least`, a line each.
  [[nodiscard]] std::string BranchesNotTaken(std::uint64_t at_least = 1) const;
  // How often a server began to serve in each way, with the names of the ways.
  [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> Promotions() const;

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> steps_;
};

}  // namespace weir
