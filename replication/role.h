// The role of one server, as a state machine: whether it may admit.
//
//     Role role(settings, id);
//     role.On(StateLoaded{.record = record, ...}, now, actions);  // each event, in its order
//     for (const RoleAction& action : actions) ...                // carry them out, in their order
//     timer.expires_at(role.wakes_at());                          // then On(DeadlineCame{}, ...)
//
// It has no thread, socket, disk, clock or random number: these are the caller's. It keeps the laws
// R5 to R20 of ARCHITECTURE.md. Not thread-safe: one thread owns it; any thread may read a view. An
// event costs O(replicas), and a copy of the view if that changes.
//
// The states, and the table of transitions. `=`: nothing to do; Tn: the rules below. An event of a
// link that is not the present one is dropped first, so that a link's events reach only the states
// that have one. `!`: such an event cannot reach the state; a check stops a caller that makes it.
//
//     event           | Gated  Serving  Yielding Following Asking    Waiting  Saving  Deposed
//     FollowAsked     | T1     T1       later    T1        T1        T1       T1      T1
//     NoOneAsked      | T2     told     later    T3        T3        told     told    T4
//     PromoteAsked    | T2, no =        no       T5        =         =        =       no
//     FailoverAsked   | error  T6       error    error     error     error    error   error
//     TakeoverAsked   | no     T7       no       =         =         =        =       no
//     HistoryEnded    | =      =        T8       T1's      =         =        =       =
//     YieldCame       | !      !        !        T9        T9        !        !       !
//     RefuseCame      | !      !        !        =         Following !        !       !
//     SyncAsked       | T10    T11      loading  T12       referral  T12's    loading T10
//     SyncAnswered    | !      !        !        T13       !         !        !       !
//     LinkUp, Synced  | !      !        !        facts     facts     !        !       !
//     LinkLacks       | !      !        !        facts     Following !        !       !
//     LinkLost        | !      !        !        again     noted     !        !       !
//     LinkEnded       | =      =        =        again     =         T17      =       =
//     ReplicaInSync   | =      noted    =        =         =         =        =       =
//     hello confirms  | T14    =        =        T15       =         =        =       T15
//     hello deposes   | T1     T1       later    =         =         =        =       T1
//     RecordSaved     | =      =        T8       =         =         =        serves  =
//     SaveFailed      | =      =        T8       =         =         =        serves  =
//     deadline        | serves T6       T8       T16       T3        T17      serves  -
//     StopAsked       | T18, everywhere
//
// FailoverAbortAsked and ReplicasSeen belong to T6. SettingsChanged changes no state. While the
// state on disk is loaded, the last command is kept for StateLoaded, and RL.SYNC gets LOADING.
//
//     T1   follows: refuses changes, ends its history or its link, and opens a link
//     T2   opens the gate by a command
//     T3   ends the link, waits until the lease that it has promised is over, then T17
//     T4   a deposed server becomes a primary, in a history that no other server knows
//     T5   asks its primary to yield, for a second; without a link T3
//     T6   a planned switch waits until a replica has come close, then T8
//     T7   a replica asks for the role: refused, or T8
//     T8   yields: changes are paused, the record says so, and the successor gets the rest and a
//          YIELD; then this server follows it. If no YIELD has left in time, it goes back: T17
//     T9   a YIELD makes it the primary, unless it is older than 2 s
//     T10  an asker of a later history of the same group deposes it
//     T11  the first replica begins the history; it is saved before the replica joins
//     T12  a successor that asks to follow has not taken over: T17. Others are sent to the primary
//     T13  joins a primary if it was told to, in its own history, or in a later one
//     T14  two hellos 1.9 s apart that name it open the gate
//     T15  hellos name it for 10 s while its primary is not there: T3. Without a state, much later
//     T16  distrust ends without a link, after sentinel-wait
//     T17  begins a term, and serves once it is on disk, or after a second
//     T18  no more changes of the role; a primary gives its replicas the last changes
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/instant.h"
#include "replication/history.h"
#include "replication/lease.h"
#include "replication/ping_refusal.h"
#include "replication/role_events.h"
#include "replication/sentinel_watch.h"

namespace weir {

enum class RoleState : std::uint8_t {
  kLoading,    // the state on disk
  kGated,      // is to be a primary unless Sentinel says otherwise
  kServing,    // a primary
  kYielding,   // a primary that gives its role away
  kFollowing,  // a replica, as the next three
  kAsking,     // its primary to yield
  kWaiting,    // until its link has ended and its promise is over
  kSaving,     // its new term
  kDeposed,    // a primary that has met a later history
  kStopping,
};

// The role as other threads see it. Immutable.
struct RoleView {
  RoleState state = RoleState::kLoading;
  History record{};  // to be saved; its id is empty while the state is not exact
  PingRefusal ping_refusal = PingRefusal::kNone;
  bool is_complete = false;  // it has had a whole state since its table was empty
  bool is_link_up = false;
  bool is_synced = false;
  bool is_distrusted = false;  // it may lack what it has acknowledged
  // Sentinel must not promote it.
  bool has_priority_zero = false;
  bool is_switching = false;  // FAILOVER waits for its replica
  // The record on disk stays: the last save of the process must not change the role in it.
  bool keeps_record = false;

  friend bool operator==(const RoleView&, const RoleView&) = default;
};

// Returns whether these replicas let a switch begin; the error is in the words of Redis.
[[nodiscard]] absl::Status FailoverError(const FailoverRequest& request,
                                         const std::vector<ReplicaView>& replicas);

[[nodiscard]] constexpr bool IsReplica(RoleState state) noexcept {
  return state == RoleState::kFollowing || state == RoleState::kAsking ||
         state == RoleState::kWaiting || state == RoleState::kSaving;
}

class Role {
 public:
  // `next_id`: of the next history that begins here. Requires: IsHistoryId(next_id).
  Role(RoleSettings settings, std::string next_id);

  // Carries out one event, and appends what is to be done. A list that changes the view has a
  // PublishView. Requires: StateLoaded comes once, before results of actions; `now` does not go
  // back.
  void On(const RoleEvent& event, HostInstant now, std::vector<RoleAction>& out);

  [[nodiscard]] std::shared_ptr<const RoleView> view() const noexcept { return view_; }
  // The earliest deadline; kHostInstantMax: none.
  [[nodiscard]] HostInstant wakes_at() const noexcept;

  // After BeginHistory, whose id is used up.
  [[nodiscard]] bool needs_id() const noexcept { return next_id_.empty(); }
  void set_next_id(std::string id);

 private:
  // Of a switch: the replica that gets the role.
  struct Successor {
    std::string run_id{};
    std::vector<std::string> other_replicas{};  // their run ids
  };
  enum class By : std::uint8_t { kPrimary, kReplica };  // who has asked for a switch
  struct Switch {                                       // FAILOVER that waits for its replica
    FailoverRequest request{};
    HostInstant deadline{};
    HostInstant next_look{};
  };
  using Command = std::variant<FollowAsked, NoOneAsked>;

  // role_start.cc: T2, T14, T15, T16, T18, and what a start makes of the disk.
  void Handle(const StateLoaded& event);
  void Handle(const HelloHeard& event);
  void Handle(const SettingsChanged& event);
  void Handle(const StopAsked& event);
  void StartAsReplica(const HostAndPort& primary, bool joins_any);
  void StartAsPrimary(bool has_buckets, bool is_told);
  void CloseGate();
  void HandleConfirmation();
  void EndDistrust();

  // role.cc: commands, links and saves.
  void Handle(const FollowAsked& event);
  void Handle(const NoOneAsked& event);
  void Handle(const PromoteAsked& event);
  void Handle(const SyncAnswered& event);
  void Handle(const LinkUp& event);
  void Handle(const LinkSynced& event);
  void Handle(const LinkLacks& event);
  void Handle(const LinkLost& event);
  void Handle(const LinkEnded& event);
  void Handle(const ReplicaInSync& event);
  void Handle(const RecordSaved& event);
  void Handle(const RecordSaveFailed& event);
  void Handle(const DeadlineCame& event);
  void RunDeferred();
  void Restore();
  void LeavePrimary();
  void EndHistoryNow(EndHistory ending);
  void EndLink();
  void LinkSoon();
  // After a link that fails. A new successor is a primary within milliseconds.
  static constexpr Nanos kLinkRest = std::chrono::milliseconds{100};
  static constexpr Nanos kLinkRestAfterYield = std::chrono::milliseconds{1};
  void LinkAfterRest();
  void RestFrom(Nanos first);
  void OpenDueLink();
  void JoinPrimary(const SyncAnswered& event);
  void Serve();
  void WaitThenPromote(bool needs_lease);
  void StepWaiting();
  void BecomePrimary(std::uint64_t at, bool is_back);
  void AwaitTerm();
  void StepSaving();
  void BeginTerm(std::uint64_t at, bool is_promotion);
  [[nodiscard]] bool Joins(const SyncAnswered& event) const;

  // role_switch.cc: T6 to T12.
  void Handle(const FailoverAsked& event);
  void Handle(const FailoverAbortAsked& event);
  void Handle(const ReplicasSeen& event);
  void Handle(const TakeoverAsked& event);
  void Handle(const HistoryEnded& event);
  void Handle(const YieldCame& event);
  void Handle(const RefuseCame& event);
  void Handle(const SyncAsked& event);
  void LookAtReplicasNow();
  void YieldTo(const ReplicaView& replica, const std::vector<ReplicaView>& all, By by);
  void StepYield();
  void LetYield();
  void FollowSuccessor(std::uint64_t head);
  void ResumeClients();
  void BeginAnew(std::uint64_t head);
  void Depose(std::uint64_t term);
  [[nodiscard]] AnswerSync AnswerTo(const SyncAsked& event);
  [[nodiscard]] AnswerSync AnswerAsReplica(const SyncAsked& event);
  [[nodiscard]] AnswerSync AnswerAsPrimary(const SyncAsked& event);
  void ObserveTerm(const SyncAsked& event);
  [[nodiscard]] bool IsRelated(const SyncAsked& event) const;
  [[nodiscard]] bool HasLostTheRole(const SyncAsked& event) const;

  void RoleChanged(bool is_promotion);
  SaveNumber SaveSoon();
  // These append to the list of the present event.
  void Say(Remark::What what, std::string_view why = {}) { out_->push_back(Remark{what, why}); }
  template <typename Action>
  void Do(Action action) {
    out_->push_back(std::move(action));
  }
  void PublishNow();
  [[nodiscard]] bool IsPresent(LinkNumber link) const noexcept {
    return link != LinkNumber{} && link == link_;
  }
  [[nodiscard]] bool has_saved_term() const noexcept;
  [[nodiscard]] bool may_claim() const noexcept;
  [[nodiscard]] bool is_distrusted() const noexcept;
  [[nodiscard]] bool is_promotable() const noexcept;
  // The reason why Sentinel must not promote this server; empty: it may.
  [[nodiscard]] std::string_view PromotionRefusal() const noexcept;
  [[nodiscard]] RoleView MakeView() const;
  void Check() const;

  RoleSettings settings_;
  std::string next_id_;
  std::shared_ptr<const RoleView> view_;

  RoleState state_ = RoleState::kLoading;
  History record_;
  SentinelWatch watch_;
  std::optional<Command> deferred_;  // of a start, or while this server yields; the last wins
  bool is_restored_ = false;         // from a backup, and the mark is on disk
  bool owns_term_ = false;           // began one since the start
  bool has_joined_ = false;          // since the start

  bool is_complete_ = false;
  bool is_exact_ = true;
  bool is_synced_ = false;
  bool is_up_ = false;
  LinkNumber last_link_{};
  LinkNumber link_{};       // the present one; none after CloseLink
  LinkNumber open_link_{};  // none after LinkEnded
  bool is_link_due_ = false;
  bool says_told_ = false;               // the next link does
  bool said_told_ = false;               // the present link
  HostAndPort dialed_{};                 // by the present link
  LinkNumber promoted_from_{};           // the last link before this server became a primary
  HostInstant next_link_{};              // not before
  Nanos first_rest_ = kLinkRest;         // after the first link that fails
  Nanos link_rest_{0};                   // doubles with each link that fails after that
  std::optional<HostAndPort> referral_;  // the next link goes there
  bool was_referred_ = false;            // the present link has gone there
  int endings_ = 0;                      // EndHistory whose HistoryEnded has not come
  HostInstant promise_{};                // to no primary before this time
  bool awaits_frame_ = false;            // it has joined a history, and no frame of it has come
  // The addresses at which this server joined its present history, and the one before; none: it
  // began it.
  HostAndPort joined_at_{};
  HostAndPort joined_before_at_{};

  std::optional<Successor> successor_;
  By by_ = By::kPrimary;
  std::optional<Switch> switch_;
  HostInstant yielded_at_{};
  SaveNumber yield_save_{};  // has to be on disk before a YIELD leaves
  bool may_yield_ = false;
  HostInstant yields_unsaved_{};  // from then on, while saves fail
  bool is_paused_ = false;        // clients' changes
  bool needs_lease_ = false;      // of Waiting: the promise counts
  bool says_lease_ = false;       // it was not logged yet

  PingRefusal ping_refusal_ = PingRefusal::kNone;
  HostInstant ping_until_{};
  std::uint64_t handed_over_in_ = 0;  // the epoch
  std::optional<HostInstant> gate_;   // opens then, if at all
  HostInstant deadline_{};            // of Asking and Saving
  std::optional<HostInstant> named_since_;
  HostInstant named_last_{};
  std::optional<HostInstant> alone_since_;

  bool keeps_record_ = false;
  bool can_save_ = true;
  std::uint64_t saved_term_ = 0;
  SaveNumber last_save_{};
  SaveNumber term_save_{};    // has the term that Saving waits for
  SaveNumber failed_save_{};  // the last that failed

  // Of the event that On carries out.
  HostInstant now_{};
  std::vector<RoleAction>* out_ = nullptr;
};

}  // namespace weir
