// The start from what is on disk, Sentinel's hellos, and the end: T14 to T16 and T18 of role.h.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "replication/role.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// For the server that this one follows to answer, although Sentinel does not take it for a primary.
constexpr Nanos kNamedTime = seconds{10};
constexpr Nanos kLastAcksTime = seconds{1};  // for replicas to confirm the last changes

}  // namespace

void Role::Handle(const StateLoaded& event) {
  if (state_ == RoleState::kStopping) return;
  WEIR_CHECK(state_ == RoleState::kLoading);
  record_ = event.record.value_or(History{});
  record_.seen_term = std::max(record_.seen_term, record_.term);
  if (record_.id.empty()) record_.ForgetId();
  saved_term_ = record_.term;
  const bool is_empty = record_.term == 0 && record_.id.empty() && !event.has_buckets;
  const bool is_unclean = !event.is_clean && !settings_.is_always;
  record_.lacks = !is_empty && (record_.lacks || event.is_backup || is_unclean);
  is_restored_ = event.is_backup;
  if (event.is_backup) {
    record_.was_told = false;
    record_.is_deposed = false;
    record_.joins_any = false;
    record_.yielded_in = 0;
  }
  watch_ = SentinelWatch(record_.sentinel_floor);
  const std::optional<Command> command = std::exchange(deferred_, std::nullopt);
  const bool follows = command && std::holds_alternative<FollowAsked>(*command);
  if (follows || !record_.was_told) record_.yielded_in = 0;
  HostAndPort primary = record_.was_told ? record_.primary : settings_.replicaof;
  bool joins_any = record_.was_told && record_.joins_any;
  if (command) {
    const auto* const follow = std::get_if<FollowAsked>(&*command);
    primary = follow != nullptr ? follow->primary : HostAndPort{};
    joins_any = follow != nullptr;
    record_.was_told = true;
  } else if (record_.was_told && primary != settings_.replicaof) {
    Say(Remark::What::kCommandWins);
  }
  // A replica that a command promotes while it loads has its promises to keep first.
  const bool is_promoted = command && primary.host.empty() && record_.is_replica;
  if (is_promoted) primary = record_.primary;
  if (primary.host.empty()) return StartAsPrimary(event.has_buckets, command.has_value());
  StartAsReplica(primary, joins_any);
  is_promoted ? Handle(NoOneAsked{}) : LinkSoon();
}

void Role::StartAsReplica(const HostAndPort& primary, bool joins_any) {
  state_ = RoleState::kFollowing;
  record_.is_replica = true;
  record_.is_deposed = false;
  record_.had_replicas = false;
  record_.joins_any = joins_any;
  record_.primary = primary;
  is_exact_ = !record_.id.empty();
  is_complete_ = is_exact_;
  // Before this start it may have promised as much to its primary.
  LeasePromise promise;
  promise.Acked(settings_.lease, now_);
  if (record_.yielded_in > 0) promise.Acked(kYieldAgeMax, now_);
  promise_ = promise.until();
  if (!joins_any) joined_at_ = primary;
  if (is_distrusted()) Say(Remark::What::kMayLack);
}

// Replicas may have more of the last history than this server had saved, so it has none.
void Role::StartAsPrimary(bool has_buckets, bool is_told) {
  const bool has_part = record_.id.empty() && (record_.is_replica || record_.yielded_in > 0);
  record_.ForgetId();
  record_.is_replica = false;
  record_.joins_any = false;
  record_.yielded_in = 0;
  record_.primary = {};
  is_complete_ = (record_.term > 0 || has_buckets) && !has_part;
  if (record_.is_deposed) {
    if (is_told) return Restore();
    state_ = RoleState::kDeposed;
    return;
  }
  record_.term = std::max(record_.term, record_.seen_term);
  if (is_told) {
    RoleChanged(true);
  } else if (settings_.is_watched) {
    return CloseGate();
  }
  Serve();
  SaveSoon();
}

// After a crash Sentinel should promote a replica, which lacks no more than the lag. So Sentinel
// must take this server for dead, unless its disk has all that was answered. A server without a
// state may be one that has lost it.
void Role::CloseGate() {
  state_ = RoleState::kGated;
  if (settings_.sentinel_wait > Nanos{0}) gate_ = now_ + settings_.sentinel_wait;
  const bool may_forget = record_.lacks && (record_.had_replicas || settings_.ack_replicas > 0);
  if (may_forget || !is_complete_) ping_refusal_ = PingRefusal::kRestarted;
  Say(Remark::What::kWaitsForSentinel);
}

// --- Hellos --------------------------------------------------------------------------------------

void Role::Handle(const HelloHeard& event) {
  if (state_ == RoleState::kLoading || state_ == RoleState::kStopping) return;
  if (ping_refusal_ == PingRefusal::kHandedOver && event.epoch > handed_over_in_) {
    ping_refusal_ = PingRefusal::kNone;
    if (IsReplica(state_) && !event.names_us) Do(CloseClients{});
  }
  const std::optional<std::uint64_t> floor = watch_.floor();
  const SentinelWatch::Meaning meaning = watch_.Observe(event.epoch, event.names_us, now_);
  if (floor && watch_.floor() < floor) Say(Remark::What::kEpochsFell);
  if (record_.sentinel_floor != watch_.floor()) {
    record_.sentinel_floor = watch_.floor();
    SaveSoon();
  }
  if (meaning == SentinelWatch::Meaning::kConfirms) return HandleConfirmation();
  named_since_.reset();
  if (meaning != SentinelWatch::Meaning::kDeposes || IsReplica(state_)) return;
  const bool is_now = state_ != RoleState::kYielding;
  Say(Remark::What::kSentinelNames);
  Handle(FollowAsked{event.primary});
  if (is_now) Do(CloseClients{});
}

// T14 and T15.
void Role::HandleConfirmation() {
  if (state_ == RoleState::kGated) {
    if (!watch_.is_confirmed() || ping_refusal_ != PingRefusal::kNone) return;
    Serve();
    SaveSoon();
    return;
  }
  const bool is_alone =
      state_ == RoleState::kDeposed || (state_ == RoleState::kFollowing && !is_up_);
  if (!is_alone) return named_since_.reset();
  // After a silence it begins again.
  if (!named_since_ || now_ - named_last_ > 2 * kHelloTime) named_since_ = now_;
  named_last_ = now_;
  const bool may = state_ == RoleState::kFollowing && is_promotable();
  const Nanos wait = may ? kNamedTime : 2 * settings_.sentinel_wait;
  if (wait == Nanos{0} || now_ - *named_since_ < wait) return;
  Say(may ? Remark::What::kNamedByHellos : Remark::What::kNobodyHadAState);
  Handle(NoOneAsked{});
}

// T16.
void Role::EndDistrust() {
  if (!alone_since_ || settings_.sentinel_wait == Nanos{0}) return;
  if (now_ - *alone_since_ < settings_.sentinel_wait) return;
  record_.lacks = false;
  Say(Remark::What::kTrustedAgain);
  SaveSoon();
}

void Role::Handle(const SettingsChanged& event) { settings_ = event.settings; }

// --- The end -------------------------------------------------------------------------------------

// T18.
void Role::Handle(const StopAsked&) {
  if (state_ == RoleState::kStopping) return;
  switch_.reset();
  deferred_.reset();
  gate_.reset();
  named_since_.reset();
  keeps_record_ = state_ == RoleState::kSaving || state_ == RoleState::kYielding ||
                  state_ == RoleState::kLoading;
  if (state_ == RoleState::kServing) record_.had_replicas = false;
  const bool has_history = state_ == RoleState::kServing || state_ == RoleState::kSaving;
  state_ = RoleState::kStopping;
  EndLink();
  if (has_history) EndHistoryNow({.time = kLastAcksTime, .successor = {}});
  ResumeClients();
}

// --- Invariants ----------------------------------------------------------------------------------

void Role::Check() const {
  const bool is_link_state = state_ == RoleState::kFollowing || state_ == RoleState::kAsking;
  const bool follows = is_link_state || state_ == RoleState::kWaiting;
  if (state_ != RoleState::kLoading && state_ != RoleState::kStopping) {
    WEIR_CHECK((follows || state_ == RoleState::kYielding) != record_.primary.host.empty());
    WEIR_CHECK(record_.is_deposed == (state_ == RoleState::kDeposed));
    WEIR_CHECK(!record_.joins_any || follows);
    WEIR_CHECK(record_.yielded_in == 0 || follows || state_ == RoleState::kYielding);
    WEIR_CHECK(!record_.had_replicas || !follows);
  }
  WEIR_CHECK(record_.seen_term >= record_.term);
  WEIR_CHECK(!record_.id.empty() || record_.previous.empty());
  WEIR_CHECK(!successor_ || record_.yielded_in > 0);
  WEIR_CHECK(!deferred_ || state_ == RoleState::kLoading || state_ == RoleState::kYielding);
  WEIR_CHECK(!is_up_ || is_link_state);
  WEIR_CHECK(!is_synced_ || (is_up_ && is_exact_ && is_complete_));
  WEIR_CHECK(link_ == LinkNumber{} || (is_link_state && link_ == open_link_));
  WEIR_CHECK(open_link_ <= last_link_);
  WEIR_CHECK(!gate_ || state_ == RoleState::kGated);
  WEIR_CHECK(!switch_ || state_ == RoleState::kServing);
  WEIR_CHECK(!named_since_ || state_ == RoleState::kFollowing || state_ == RoleState::kDeposed);
  WEIR_CHECK(endings_ >= 0);
  WEIR_CHECK(state_ != RoleState::kYielding || endings_ > 0);
  WEIR_CHECK(!watch_.floor() || watch_.floor() <= watch_.newest());
  if (state_ != RoleState::kServing) return;
  WEIR_CHECK(record_.term >= record_.seen_term);
  WEIR_CHECK(!record_.lacks);
  WEIR_CHECK(ping_refusal_ == PingRefusal::kNone);
  WEIR_CHECK(is_complete_);
}

}  // namespace weir
