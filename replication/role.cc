// Commands, promotions and saves: T1 to T5 and T17 of role.h.
#include "replication/role.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_type.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// For the replicas to confirm the last changes of a primary that is to follow another one.
constexpr Nanos kDemotionTime = milliseconds{100};
constexpr Nanos kSaveTime = seconds{1};      // for a term to get on disk
constexpr Nanos kTakeoverTime = seconds{1};  // for the primary to yield

}  // namespace

Role::Role(RoleSettings settings, std::string next_id)
    : settings_(std::move(settings)),
      next_id_(std::move(next_id)),
      view_(std::make_shared<const RoleView>()) {
  WEIR_CHECK(IsHistoryId(next_id_));
}

void Role::set_next_id(std::string id) {
  WEIR_CHECK(IsHistoryId(id));
  next_id_ = std::move(id);
}

void Role::On(const RoleEvent& event, HostInstant now, std::vector<RoleAction>& out) {
  WEIR_CHECK(now >= now_);
  now_ = now;
  out_ = &out;
  std::visit([this](const auto& what) { Handle(what); }, event);
  const bool is_alone = state_ == RoleState::kFollowing && is_distrusted() && !is_up_;
  if (!is_alone) {
    alone_since_.reset();
  } else if (!alone_since_) {
    alone_since_ = now;
  }
  PublishNow();
  Check();
  out_ = nullptr;
}

HostInstant Role::wakes_at() const noexcept {
  HostInstant at = kHostInstantMax;
  const auto wake = [&at](HostInstant time) { at = std::min(at, time); };
  if (ping_refusal_ == PingRefusal::kHandedOver) wake(ping_until_);
  if (switch_) wake(switch_->next_look);
  if (alone_since_ && settings_.sentinel_wait > Nanos{0}) {
    wake(*alone_since_ + settings_.sentinel_wait);
  }
  switch (state_) {
    case RoleState::kGated:
      if (gate_) wake(*gate_);
      break;
    case RoleState::kYielding:
      if (!may_yield_ && failed_save_ >= yield_save_) wake(yields_unsaved_);
      break;
    case RoleState::kFollowing:
      if (is_link_due_ && open_link_ == LinkNumber{} && endings_ == 0) wake(next_link_);
      break;
    case RoleState::kWaiting:
      if (open_link_ == LinkNumber{} && endings_ == 0) wake(promise_);
      break;
    case RoleState::kAsking:
    case RoleState::kSaving:
      wake(deadline_);
      break;
    default:  // It waits for nothing.
      break;
  }
  return at;
}

void Role::Handle(const DeadlineCame&) {
  if (ping_refusal_ == PingRefusal::kHandedOver && now_ >= ping_until_) {
    ping_refusal_ = PingRefusal::kNone;
  }
  if (switch_ && now_ >= switch_->next_look) LookAtReplicasNow();
  switch (state_) {
    case RoleState::kGated:
      if (!gate_ || now_ < *gate_) break;
      Serve();
      SaveSoon();
      break;
    case RoleState::kYielding:
      StepYield();
      break;
    case RoleState::kFollowing:
      EndDistrust();
      OpenDueLink();
      break;
    case RoleState::kAsking:
      if (now_ < deadline_) break;
      Say(Remark::What::kNotYielded);
      record_.was_told = true;
      WaitThenPromote(true);
      break;
    case RoleState::kWaiting:
      StepWaiting();
      break;
    case RoleState::kSaving:
      StepSaving();
      break;
    default:  // It waits for nothing.
      break;
  }
}

// --- Commands ------------------------------------------------------------------------------------

// T1.
void Role::Handle(const FollowAsked& event) {
  if (state_ == RoleState::kStopping) return;
  if (state_ == RoleState::kLoading || state_ == RoleState::kYielding) {
    deferred_ = event;
    return;
  }
  const bool has_history = !IsReplica(state_) || state_ == RoleState::kSaving;
  switch_.reset();
  record_.was_told = true;
  record_.joins_any = true;
  record_.is_replica = true;
  record_.is_deposed = false;
  record_.had_replicas = false;
  record_.yielded_in = 0;
  record_.primary = event.primary;
  successor_.reset();
  ping_refusal_ = PingRefusal::kNone;
  gate_.reset();
  named_since_.reset();
  state_ = RoleState::kFollowing;
  if (has_history) {
    is_exact_ = true;
    LeavePrimary();
  }
  EndLink();
  RoleChanged(false);
  Say(Remark::What::kFollows);
  SaveSoon();
  ResumeClients();
  referral_.reset();
  says_told_ = false;
  RestFrom(kLinkRest);
  LinkSoon();
}

void Role::Handle(const NoOneAsked& event) {
  switch (state_) {
    case RoleState::kLoading:
    case RoleState::kYielding:
      deferred_ = event;
      break;
    case RoleState::kGated:  // T2
      record_.was_told = true;
      RoleChanged(true);
      Serve();
      SaveSoon();
      break;
    case RoleState::kFollowing:
    case RoleState::kAsking:
      record_.was_told = true;
      WaitThenPromote(true);
      break;
    case RoleState::kServing:
    case RoleState::kWaiting:
    case RoleState::kSaving:
      if (!std::exchange(record_.was_told, true)) SaveSoon();
      break;
    case RoleState::kDeposed:
      Restore();
      break;
    case RoleState::kStopping:
      break;
  }
}

// T5, and T2 for a Sentinel.
void Role::Handle(const PromoteAsked&) {
  if (state_ == RoleState::kLoading) {
    return Say(Remark::What::kRefusesPromotion, "its state is being loaded");
  }
  const bool refuses = state_ == RoleState::kYielding || state_ == RoleState::kDeposed;
  const bool may = state_ == RoleState::kGated || state_ == RoleState::kFollowing;
  if (!may && !refuses) return;
  if (const std::string_view why = PromotionRefusal(); refuses || !why.empty()) {
    return Say(Remark::What::kRefusesPromotion, refuses ? "it has given its role away" : why);
  }
  if (!is_up_) return Handle(NoOneAsked{});
  state_ = RoleState::kAsking;
  deadline_ = now_ + kTakeoverTime;
  named_since_.reset();
  Do(AskTakeover{link_});
}

std::string_view Role::PromotionRefusal() const noexcept {
  if (!is_complete_ || (is_up_ && !is_synced_)) return "it does not have the whole state";
  if (is_distrusted()) return "it may lack what it has acknowledged";
  return is_promotable() ? "" : "it cannot save its state";
}

void Role::RunDeferred() {
  if (const auto command = std::exchange(deferred_, std::nullopt)) {
    std::visit([this](const auto& event) { Handle(event); }, *command);
  }
}

// T4.
void Role::Restore() {
  record_.was_told = true;
  record_.is_deposed = false;
  record_.had_replicas = false;
  record_.ForgetId();
  record_.term = std::max(record_.term, record_.seen_term);
  owns_term_ = true;
  named_since_.reset();
  RoleChanged(true);
  EndHistoryNow({});
  AwaitTerm();
}

// Refuses changes, and ends the history, so that it has all that was admitted.
void Role::LeavePrimary() {
  PublishNow();
  Do(Barrier{});
  Do(EndWaits{});
  EndHistoryNow({.time = kDemotionTime, .successor = {}});
}

void Role::EndHistoryNow(EndHistory ending) {
  ++endings_;
  Do(std::move(ending));
}

// --- Promotions ----------------------------------------------------------------------------------

// T3. `needs_lease`: its last primary may admit until the promise to it ends.
void Role::WaitThenPromote(bool needs_lease) {
  EndLink();
  named_since_.reset();
  state_ = RoleState::kWaiting;
  needs_lease_ = needs_lease;
  says_lease_ = needs_lease;
  StepWaiting();
}

void Role::StepWaiting() {
  if (state_ != RoleState::kWaiting || open_link_ != LinkNumber{} || endings_ > 0) return;
  if (needs_lease_ && now_ < promise_) {
    if (std::exchange(says_lease_, false)) Say(Remark::What::kWaitsForLease);
    return;
  }
  BecomePrimary(record_.offset, !needs_lease_);
}

// T17.
void Role::BecomePrimary(std::uint64_t at, bool is_back) {
  if (!is_exact_) record_.ForgetId();
  if (is_distrusted()) Say(Remark::What::kMayHaveForgotten);
  EndLink();
  promoted_from_ = last_link_;
  named_since_.reset();
  successor_.reset();
  is_exact_ = true;
  awaits_frame_ = false;
  BeginTerm(at, true);
  RoleChanged(!is_back);
  AwaitTerm();
}

void Role::BeginTerm(std::uint64_t at, bool is_promotion) {
  WEIR_CHECK(!next_id_.empty());
  const bool lacks = record_.lacks;
  record_.Promote(at, std::exchange(next_id_, std::string()));
  record_.lacks = lacks;  // until it serves
  owns_term_ = true;
  joined_before_at_ = std::exchange(joined_at_, HostAndPort{});
  Do(BeginHistory{.is_promotion = is_promotion});
}

void Role::AwaitTerm() {
  state_ = RoleState::kSaving;
  deadline_ = now_ + kSaveTime;
  term_save_ = SaveSoon();
  StepSaving();
}

void Role::StepSaving() {
  if (state_ != RoleState::kSaving) return;
  if (!has_saved_term()) {
    if (failed_save_ < term_save_ && now_ < deadline_) return;
    Say(Remark::What::kTermUnsaved);
  }
  Serve();
}

void Role::Serve() {
  state_ = RoleState::kServing;
  is_complete_ = true;
  record_.lacks = false;
  record_.had_replicas = false;
  ping_refusal_ = PingRefusal::kNone;
  gate_.reset();
  Say(Remark::What::kServes);
  PublishNow();
  ResumeClients();
}

// --- Saves ---------------------------------------------------------------------------------------

// A save takes the record of the view.
SaveNumber Role::SaveSoon() {
  PublishNow();
  last_save_ = Next(last_save_);
  if (settings_.has_disk) Do(SaveRecord{last_save_});
  return last_save_;
}

bool Role::has_saved_term() const noexcept {
  return !settings_.has_disk || saved_term_ >= record_.term;
}

void Role::Handle(const RecordSaved& event) {
  can_save_ = true;
  saved_term_ = std::max(saved_term_, event.term);
  if (state_ == RoleState::kYielding && event.save >= yield_save_) LetYield();
  StepSaving();
  const bool serves_its_own = state_ == RoleState::kServing && owns_term_ && has_saved_term();
  if (!is_restored_ || !(serves_its_own || has_joined_)) return;
  is_restored_ = false;
  Do(RemoveBackupMark{});
}

void Role::Handle(const RecordSaveFailed& event) {
  can_save_ = false;
  failed_save_ = std::max(failed_save_, event.save);
  StepYield();
  StepSaving();
}

// --- What others see -----------------------------------------------------------------------------

bool Role::is_distrusted() const noexcept { return record_.lacks && settings_.ack_replicas > 0; }

bool Role::is_promotable() const noexcept {
  return is_complete_ && !is_distrusted() && !(settings_.is_always && !can_save_);
}

void Role::RoleChanged(bool is_promotion) {
  is_promotion ? watch_.Promoted(now_) : watch_.RoleChanged();
  record_.sentinel_floor = watch_.floor();
}

RoleView Role::MakeView() const {
  RoleView view = {.state = state_,
                   .record = record_,
                   .ping_refusal = ping_refusal_,
                   .is_complete = is_complete_,
                   .is_link_up = is_up_,
                   .is_synced = is_synced_,
                   .is_distrusted = is_distrusted(),
                   .has_priority_zero = !is_promotable() || (is_synced_ && !can_save_),
                   .is_switching = switch_.has_value(),
                   .keeps_record = keeps_record_};
  if (record_.is_replica && !is_exact_) view.record.ForgetId();
  return view;
}

void Role::PublishNow() {
  RoleView view = MakeView();
  if (view == *view_) return;
  view_ = std::make_shared<const RoleView>(std::move(view));
  Do(PublishView{view_});
}

}  // namespace weir
