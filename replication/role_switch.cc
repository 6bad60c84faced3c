// Roles that go from one server to another: T6 to T12 of role.h.
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "replication/role.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Nanos kFailoverTime = seconds{10};  // without a timeout
constexpr Nanos kLookTime = milliseconds{5};  // between two looks at the replicas
constexpr std::uint64_t kCloseBytes = 256 * 1024;
// The successor must read the rest of the history in this time. Clients whose changes are paused
// wait for a second, so that a switch that fails is undone before.
constexpr Nanos kYieldTime = milliseconds{800};
// A YIELD leaves without its record on disk after this time, if the disk fails.
constexpr Nanos kYieldSaveTime = milliseconds{300};
constexpr Nanos kHandedOverTime = seconds{60};

bool IsAskedFor(const FailoverRequest& request, const ReplicaView& replica) {
  return !request.to || *request.to == replica.address;
}

// Replicas that can save come first, then those that have answered, then those with the greatest
// offset.
auto Rank(const ReplicaView& replica) {
  return std::tuple(!replica.cannot_save, replica.is_there, replica.offset);
}

}  // namespace

absl::Status FailoverError(const FailoverRequest& request,
                           const std::vector<ReplicaView>& replicas) {
  if (replicas.empty()) {
    return absl::FailedPreconditionError("FAILOVER requires connected replicas.");
  }
  if (request.force && !(request.timeout && request.to)) {
    return absl::InvalidArgumentError(
        "FAILOVER with force option requires both a timeout and target HOST and IP.");
  }
  if (!request.to) return absl::OkStatus();
  const auto target = std::ranges::find(replicas, *request.to, &ReplicaView::address);
  if (target == replicas.end()) {
    return absl::NotFoundError("FAILOVER target HOST and PORT is not a replica.");
  }
  if (target->is_online) return absl::OkStatus();
  return absl::FailedPreconditionError("FAILOVER target replica is not online.");
}

// --- FAILOVER ------------------------------------------------------------------------------------

void Role::Handle(const FailoverAsked& event) {
  const auto answer = [&](absl::Status status) {
    PublishNow();  // A second FAILOVER finds the first one.
    Do(AnswerFailover{.ticket = event.ticket, .status = std::move(status)});
  };
  if (switch_ || state_ == RoleState::kYielding) return answer(FailoverInProgress());
  if (state_ != RoleState::kServing) return answer(FailoverOfNoPrimary());
  absl::Status status = FailoverError(event.request, event.replicas.all);
  if (status.ok()) {
    switch_ = Switch{.request = event.request,
                     .deadline = now_ + event.request.timeout.value_or(kFailoverTime),
                     .next_look = now_};
  }
  answer(std::move(status));
}

void Role::Handle(const FailoverAbortAsked& event) {
  absl::Status status = switch_ ? absl::OkStatus() : NoFailoverInProgress();
  switch_.reset();
  PublishNow();
  Do(AnswerFailover{.ticket = event.ticket, .status = std::move(status)});
}

void Role::LookAtReplicasNow() {
  switch_->next_look = now_ + kLookTime;
  Do(LookAtReplicas{});
}

// T6.
void Role::Handle(const ReplicasSeen& event) {
  if (!switch_) return;
  const ReplicaView* best = nullptr;
  for (const ReplicaView& replica : event.replicas.all) {
    if (!replica.is_synced || !IsAskedFor(switch_->request, replica)) continue;
    if (best == nullptr || Rank(replica) > Rank(*best)) best = &replica;
  }
  const std::uint64_t head = event.replicas.head;
  const bool is_close = best != nullptr && !best->cannot_save && best->is_there &&
                        head - std::min(best->offset, head) <= kCloseBytes;
  const bool is_late = now_ >= switch_->deadline;
  if (is_close || (best != nullptr && is_late && switch_->request.force)) {
    return YieldTo(*best, event.replicas.all, By::kPrimary);
  }
  if (!is_late) return;
  switch_.reset();
  Say(Remark::What::kSwitchGivenUp, best == nullptr     ? "no replica has the whole state"
                                    : best->cannot_save ? "the replica cannot save to its disk"
                                                        : "the replica still lags");
}

// --- Takeovers -----------------------------------------------------------------------------------

// T7.
void Role::Handle(const TakeoverAsked& event) {
  if (IsReplica(state_) || state_ == RoleState::kLoading || state_ == RoleState::kStopping) return;
  const std::vector<ReplicaView>& all = event.replicas.all;
  const auto asker = std::ranges::find(all, event.run_id, &ReplicaView::run_id);
  const auto refuse = [&](std::string_view why) { Do(RefuseTakeover{event.run_id, why}); };
  if (state_ != RoleState::kServing) return refuse("this server is no primary");
  if (event.age > kYieldAgeMax) return refuse("it has asked too long ago");
  if (asker == all.end()) return refuse("it is gone");
  if (!asker->is_synced) return refuse("it does not have the whole state");
  if (asker->cannot_save) return refuse("it cannot save its state");
  YieldTo(*asker, all, By::kReplica);
}

// T8. The record says so first: after a crash this server must not admit beside its successor.
void Role::YieldTo(const ReplicaView& replica, const std::vector<ReplicaView>& all, By by) {
  switch_.reset();
  state_ = RoleState::kYielding;
  by_ = by;
  successor_ = Successor{.run_id = replica.run_id, .other_replicas = {}};
  for (const ReplicaView& other : all) {
    if (other.run_id != replica.run_id) successor_->other_replicas.push_back(other.run_id);
  }
  record_.was_told = true;
  record_.is_replica = true;
  record_.joins_any = false;
  record_.yielded_in = record_.term;
  record_.primary = replica.address;
  Say(Remark::What::kYields);
  is_paused_ = true;
  Do(PauseChanges{});
  yield_save_ = SaveSoon();
  Do(Barrier{});
  Do(EndWaits{});
  may_yield_ = false;
  yields_unsaved_ = now_ + kYieldSaveTime;
  EndHistoryNow({.time = kYieldTime, .successor = replica.run_id});
  if (!settings_.has_disk) LetYield();
}

void Role::StepYield() {
  const bool is_unsaved = state_ == RoleState::kYielding && failed_save_ >= yield_save_;
  if (is_unsaved && now_ >= yields_unsaved_) LetYield();
}

void Role::LetYield() {
  if (!std::exchange(may_yield_, true)) Do(LetYieldLeave{});
}

void Role::Handle(const HistoryEnded& event) {
  WEIR_CHECK(endings_ > 0);
  --endings_;
  if (state_ != RoleState::kYielding) {
    if (record_.is_replica) record_.offset = event.head;
    StepWaiting();
    return OpenDueLink();
  }
  yielded_at_ = now_;
  if (event.has_yielded) {
    // It takes no role while its YIELD may count.
    LeasePromise promise;
    promise.Acked(kYieldAgeMax, now_);
    promise_ = std::max(promise_, promise.until());
  }
  if (event.has_yielded || by_ == By::kReplica) {
    FollowSuccessor(event.head);
  } else {
    Say(Remark::What::kSwitchFailed);
    BecomePrimary(event.head, true);
  }
  RunDeferred();
}

void Role::FollowSuccessor(std::uint64_t head) {
  state_ = RoleState::kFollowing;
  record_.offset = head;
  record_.had_replicas = false;
  is_exact_ = true;
  is_complete_ = true;
  if (by_ == By::kPrimary && settings_.is_watched) {
    // Sentinel does not know of the switch, until it takes this server for dead.
    ping_refusal_ = PingRefusal::kHandedOver;
    ping_until_ = now_ + kHandedOverTime;
    handed_over_in_ = watch_.newest().value_or(0);
  }
  RoleChanged(false);
  Say(Remark::What::kFollows);
  // Clients wait on until the successor has answered: then an error sends them to a primary.
  // Sentinel disconnects the clients of a server that it demotes, too.
  if (by_ == By::kReplica) Do(CloseClients{});
  SaveSoon();
  referral_.reset();
  says_told_ = false;
  RestFrom(kLinkRestAfterYield);
  LinkSoon();
}

void Role::ResumeClients() {
  if (std::exchange(is_paused_, false)) Do(ResumeChanges{});
}

// T9.
void Role::Handle(const YieldCame& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  if (event.age > kYieldAgeMax) {
    Say(Remark::What::kTooOld);
    EndLink();
    if (state_ == RoleState::kFollowing) LinkAfterRest();
    return;
  }
  record_.was_told = true;
  record_.seen_term = std::max(record_.seen_term, event.term);
  is_exact_ = event.is_exact;
  BecomePrimary(event.offset, false);
}

void Role::Handle(const RefuseCame& event) {
  if (!IsPresent(event.link)) return;
  WEIR_CHECK(state_ == RoleState::kFollowing || state_ == RoleState::kAsking);
  if (state_ != RoleState::kAsking) return;
  state_ = RoleState::kFollowing;
  Say(Remark::What::kRefusesPromotion, "its primary is alive, and does not yield to it");
}

// --- RL.SYNC of another server -------------------------------------------------------------------

void Role::Handle(const SyncAsked& event) {
  AnswerSync answer = AnswerTo(event);
  answer.ticket = event.ticket;
  PublishNow();
  Do(std::move(answer));
}

AnswerSync Role::AnswerTo(const SyncAsked& event) {
  switch (state_) {
    case RoleState::kLoading:
    case RoleState::kYielding:
    case RoleState::kSaving:
    case RoleState::kStopping:
      return {.what = AnswerSync::What::kLoading};
    case RoleState::kWaiting:
      ObserveTerm(event);
      if (!needs_lease_) return {.what = AnswerSync::What::kLoading};
      [[fallthrough]];
    case RoleState::kAsking:
      ObserveTerm(event);
      return {.what = AnswerSync::What::kReferral, .primary = record_.primary};
    case RoleState::kFollowing:
      return AnswerAsReplica(event);
    case RoleState::kGated:
    case RoleState::kServing:
    case RoleState::kDeposed:
      return AnswerAsPrimary(event);
  }
  return {};
}

void Role::ObserveTerm(const SyncAsked& event) {
  if (event.has_our_secret) record_.seen_term = std::max(record_.seen_term, event.term);
}

// Servers that have met have the same secret, unless this one has lost its state since.
bool Role::IsRelated(const SyncAsked& event) const {
  const bool has_state = record_.term > 0 || !record_.id.empty() || event.has_state;
  return event.has_our_secret || !has_state;
}

// T10 and T11.
AnswerSync Role::AnswerAsPrimary(const SyncAsked& event) {
  if (record_.LosesTo(event.term, event.id)) {
    if (!IsRelated(event)) {
      Say(Remark::What::kOtherGroup);
      return {.what = AnswerSync::What::kOtherGroup};
    }
    // A restore is an order: what it restores wins over the later history.
    const bool is_ordered = is_restored_ && !(owns_term_ && has_saved_term());
    if (!is_ordered || state_ == RoleState::kDeposed) {
      Depose(event.term);
      return {.what = AnswerSync::What::kLaterTerm};
    }
    record_.seen_term = std::max(record_.seen_term, event.term);
    if (!owns_term_) record_.term = record_.seen_term;
    if (owns_term_) BeginAnew(event.head);
  }
  if (state_ == RoleState::kDeposed) return {.what = AnswerSync::What::kNoPrimary};
  if (state_ == RoleState::kGated) return {.what = AnswerSync::What::kLoading};
  if (!event.has_our_secret && !event.id.empty() && !event.was_told) {
    Say(Remark::What::kOtherGroup);
    return {.what = AnswerSync::What::kOtherGroup};
  }
  if (endings_ > 0) return {.what = AnswerSync::What::kLoading};
  if (record_.id.empty()) BeginAnew(event.head);
  if (!has_saved_term() && can_save_) return {.what = AnswerSync::What::kLoading};
  record_.offset = event.head;
  AnswerSync answer = {.what = AnswerSync::What::kAccepted};
  if (event.has_our_secret) answer.common = record_.Common(event.id, event.offset);
  return answer;
}

void Role::BeginAnew(std::uint64_t head) {
  const bool had_replicas = record_.had_replicas;
  if (!record_.id.empty()) Do(EndReplicaLinks{});
  BeginTerm(head, false);
  record_.had_replicas = had_replicas;
  SaveSoon();
}

// Its own term stays: with a later one an empty server would seem to have a state, after a restart.
void Role::Depose(std::uint64_t term) {
  record_.seen_term = std::max(record_.seen_term, term);
  if (state_ == RoleState::kDeposed) return;
  switch_.reset();
  state_ = RoleState::kDeposed;
  record_.is_deposed = true;
  ping_refusal_ = PingRefusal::kNone;
  gate_.reset();
  PublishNow();
  Do(Barrier{});
  Do(EndWaits{});
  Do(EndReplicaLinks{});
  Say(Remark::What::kDeposed);
  SaveSoon();
}

// T12. Whether the successor shows that it has not taken over: it, or a server at its address that
// was no other replica, asks to follow this one, and is in no later history.
bool Role::HasLostTheRole(const SyncAsked& event) const {
  if (record_.yielded_in == 0 || event.term > record_.yielded_in) return false;
  // It is in the history that it has begun, although it claims no term here.
  const bool has_begun = !event.id.empty() && event.id == record_.id;
  if (has_begun && record_.term > record_.yielded_in) return false;
  const bool is_of_ours =
      event.id.empty() || event.id == record_.id || event.id == record_.previous;
  if (!is_of_ours || !event.has_our_secret || !is_promotable()) return false;
  // A question that was on its way when the YIELD left says nothing.
  if (event.connected_at < yielded_at_) return false;
  if (!successor_) return event.is_at_primary;
  const bool is_other_replica = std::ranges::count(successor_->other_replicas, event.run_id) > 0;
  return successor_->run_id == event.run_id || (event.is_at_primary && !is_other_replica);
}

AnswerSync Role::AnswerAsReplica(const SyncAsked& event) {
  const bool takes_back = HasLostTheRole(event);
  ObserveTerm(event);
  if (!takes_back) return {.what = AnswerSync::What::kReferral, .primary = record_.primary};
  Say(Remark::What::kTakesBack);
  WaitThenPromote(false);
  return {.what = AnswerSync::What::kLoading};
}

}  // namespace weir
