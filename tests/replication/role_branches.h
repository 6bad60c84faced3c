// The branches of the rules T1 to T18 of role.h, as conditions on one step of the machine.
//
// Not among them are branches that no run of the simulation takes, or almost none. role_test has
// them: of T4 a deposed server whose term is on disk already, and of T15 one that hellos name, as
// Sentinel finds another server first; of T13 another group, as all servers have one secret.
#pragma once

#include <cstdint>
#include <span>

#include "replication/role.h"
#include "tests/replication/role_coverage.h"

namespace weir::role_branches {

// What matters of an event, beside its kind; seven bits.
inline constexpr unsigned kNoDetail = 0;
inline constexpr unsigned kIsError = 1;     // of AnswerFailover
inline constexpr unsigned kNamesUs = 1;     // HelloHeard
inline constexpr unsigned kHasYielded = 1;  // HistoryEnded
inline constexpr unsigned kIsUp = 1;        // PromoteAsked: the link was
// ReplicasSeen: the successor lags, is silent or cannot save.
inline constexpr unsigned kIsForced = 1;
inline constexpr unsigned kIsPingAgain = 1;  // DeadlineCame: a refusal of PING has ended
inline constexpr unsigned kIsTrusted = 1;    // SettingsChanged: a distrust has begun or ended
inline constexpr unsigned kIsBackup = 1;     // StateLoaded
inline constexpr unsigned kIsUnclean = 2;    // StateLoaded
inline constexpr unsigned kHasRecord = 4;    // StateLoaded
inline constexpr unsigned kIsOtherPrimary =
    4;  // SyncAnswered, HistoryEnded: than the one that was followed before
inline constexpr unsigned kWasTold = 8;       // SyncAnswered, SyncAsked
inline constexpr unsigned kIsOtherId = 16;    // SyncAnswered
inline constexpr unsigned kHasOurSecret = 1;  // SyncAsked
inline constexpr unsigned kHasId = 2;         // SyncAsked
inline constexpr unsigned kIsCommon = 4;      // SyncAsked: a part of the state stays

// One event in one state, and what came of it.
struct Step {
  RoleState before;
  RoleState after;
  std::size_t event;
  std::uint32_t actions;  // a bit for each kind
  std::uint32_t remarks;
  std::uint8_t answer;  // AnswerSync::What; kNoAnswer
  std::uint8_t detail;

  template <typename Event>
  [[nodiscard]] bool Is() const {
    return event == kRoleEventIndex<Event>;
  }
  template <typename Action>
  [[nodiscard]] bool Does() const {
    return (actions >> RoleAction(Action{}).index() & 1) != 0;
  }
  [[nodiscard]] bool Says(Remark::What what) const {
    return (remarks >> static_cast<unsigned>(what) & 1) != 0;
  }
  [[nodiscard]] bool Goes(RoleState from, RoleState to) const {
    return before == from && after == to;
  }
  [[nodiscard]] bool Answers(AnswerSync::What what) const {
    return answer == static_cast<std::uint8_t>(what);
  }
  [[nodiscard]] bool Has(unsigned bit) const { return (detail & bit) != 0; }
};

struct Branch {
  const char* name;
  bool (*is_taken)(const Step&);
};

[[nodiscard]] std::span<const Branch> All();
// The ways in which a server begins to serve, or to save its term.
[[nodiscard]] std::span<const Branch> Promotions();

}  // namespace weir::role_branches
