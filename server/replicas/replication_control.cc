#include "server/replicas/replication_control.h"

#include <algorithm>
#include <utility>

#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/limiter/limiter_restore.h"
#include "server/replicas/history_id.h"
#include "server/replicas/own_address.h"

namespace weir {

ReplicationControl::ReplicationControl(const Dependencies& dependencies, std::string_view record)
    : control_(dependencies.control),
      services_(dependencies.services),
      hub_(dependencies.hub),
      clock_(dependencies.clock),
      threads_(dependencies.threads),
      link_tls_(dependencies.link_tls),
      role_machine_(Settings(), RandomHistoryId()),
      timer_(control_),
      addresses_(control_, clock_),
      hello_throttle_(clock_),
      view_(role_machine_.view()),
      down_since_(clock_.HostNow()) {
  loaded_ = {.record = ReadHistoryValue(record),
             .is_clean = !dependencies.may_lack,
             .is_backup = dependencies.is_backup};
  if (!loaded_.record && !record.empty()) {
    spdlog::warn("the record of this server's history is damaged: it begins a new one");
  }
  if (dependencies.is_backup) {
    spdlog::info("the state comes from a backup: the option replicaof gives this server its role");
  }
  HostAndPort primary = services_.options.replicaof;
  if (loaded_.record) {
    History& history = *loaded_.record;
    history.lacks = history.lacks || dependencies.may_lack;
    {
      const MutexLock lock(mutex_);
      written_ = history;
      saved_term_ = history.term;
      ended_head_ = history.offset;
    }
    // Without an id the link starts over, which brings what was lost.
    if (dependencies.has_losses) history.ForgetId();
    if (history.was_told && !dependencies.is_backup) primary = history.primary;
  }
  if (services_.options.allow_explicit_time && !primary.host.empty()) {
    spdlog::warn("with --allow-explicit-time this server follows no primary");
    primary = {};
    if (loaded_.record) loaded_.record->was_told = false;
  }
  ShowUntilLoaded(primary, false);
  services_.settings.OnChange([this](const Options&) { OnNewSettings(); });
  OnNewSettings();
}

// Shows the role that the server will have, until the machine has read the state: the record is
// known already, but not whether there are buckets. `is_told`: a command has given the role.
void ReplicationControl::ShowUntilLoaded(const HostAndPort& primary, bool is_told) {
  auto view = std::make_shared<RoleView>();
  view->record = loaded_.record.value_or(History{});
  History& record = view->record;
  const bool is_replica = !primary.host.empty();
  const bool has_part = record.is_replica && record.id.empty();
  const bool is_deposed = record.is_deposed && !loaded_.is_backup && !is_told;
  const bool is_gated = !is_replica && !is_deposed && is_watched() && !is_told;
  view->is_complete = is_replica ? !record.id.empty() : !is_gated || (record.term > 0 && !has_part);
  record.lacks = record.lacks || loaded_.is_backup || !loaded_.is_clean;
  const bool wants_acks = services_.settings.Get(&Options::ack_replicas) > 0;
  const bool may_forget = record.lacks && (record.had_replicas || wants_acks);
  if (is_gated && may_forget) view->ping_refusal = PingRefusal::kRestarted;
  set_is_complete(view->is_complete);
  set_ping_refusal(view->ping_refusal);
  set_role(services_.options.is_edge() ? ServerRole::kEdge
           : is_replica                ? ServerRole::kReplica
           : is_deposed                ? ServerRole::kDeposed
           : is_gated                  ? ServerRole::kGated
                                       : ServerRole::kPrimary);
  // A replica does not settle holds that are due: its primary does.
  LimiterRestore(services_.limiter.table()).SetFollowing(is_replica || record.is_replica);
  record.primary = primary;
  const MutexLock lock(mutex_);
  view_ = std::move(view);
}

RoleSettings ReplicationControl::Settings() const {
  const Options& options = services_.options;
  RoleSettings settings;
  if (!options.allow_explicit_time) settings.replicaof = options.replicaof;
  settings.has_disk = services_.state != nullptr;
  settings.is_always = services_.state && services_.state->always();
  settings.is_watched = is_watched();
  settings.sentinel_wait = options.sentinel_wait;
  if (services_.settings.Get(&Options::min_replicas_to_write) > 0) {
    settings.lease = services_.settings.Get(&Options::min_replicas_max_lag);
  }
  settings.ack_replicas =
      static_cast<std::uint64_t>(services_.settings.Get(&Options::ack_replicas));
  return settings;
}

void ReplicationControl::Start() {
  thread_.AssertHeld();
  has_started_ = true;
  loaded_.has_buckets = services_.upkeep.size().buckets > 0;
  Take(std::move(loaded_));
}

// A replica stops its link: it could not take over any more.
void ReplicationControl::KeepRole() {
  thread_.AssertHeld();
  keeps_role_ = true;
  timer_.cancel();
  addresses_.Cancel();
  const MutexLock lock(mutex_);
  if (link_) link_->Stop();
}

void ReplicationControl::Stop() {
  thread_.TakeOver();
  if (std::exchange(is_stopped_, true)) return;
  KeepRole();
  PrimaryLink* link = nullptr;
  {
    const MutexLock lock(mutex_);
    link = link_.get();
  }
  if (link != nullptr) link->End();
  events_.emplace_back(StopAsked{});
  Drain();
  if (!HasReplicator()) return;
  // A deposed server still has a replicator, since its role has not ended the history.
  if (!is_ending_) Do(EndHistory{});
  static_cast<void>(CollectHistory());
}

// --- Events --------------------------------------------------------------------------------------

void ReplicationControl::Post(RoleEvent event) {
  asio::post(control_, [this, event = std::move(event)]() mutable {
    thread_.AssertHeld();
    Take(std::move(event));
  });
}

void ReplicationControl::Take(RoleEvent event) {
  if (keeps_role_ || (!has_started_ && std::holds_alternative<HelloHeard>(event))) return;
  events_.push_back(std::move(event));
  Drain();
}

// Carrying out an action may cause an event. That waits until the whole list is carried out.
void ReplicationControl::Drain() {
  if (std::exchange(is_draining_, true)) return;
  std::vector<RoleAction> actions;
  while (!events_.empty()) {
    const RoleEvent event = std::move(events_.front());
    events_.pop_front();
    now_ = std::max(now_, clock_.HostNow());
    actions.clear();
    role_machine_.On(event, now_, actions);
    if (role_machine_.needs_id()) role_machine_.set_next_id(RandomHistoryId());
    for (const RoleAction& action : actions) CarryOut(action);
  }
  is_draining_ = false;
  ArmTimer();
}

void ReplicationControl::CarryOut(const RoleAction& action) {
  std::visit(
      [this](const auto& what) {
        thread_.AssertHeld();
        Do(what);
      },
      action);
}

void ReplicationControl::ArmTimer() {
  const HostInstant wakes_at = role_machine_.wakes_at();
  if (keeps_role_ || wakes_at == armed_for_) return;
  armed_for_ = wakes_at;
  if (wakes_at == kHostInstantMax) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::max(wakes_at - now_, Nanos{0}));
  timer_.async_wait([this](std::error_code error) {
    if (error) return;
    thread_.AssertHeld();
    armed_for_ = kHostInstantMax;
    Take(DeadlineCame{});
  });
}

// Options of leases and acknowledgements may have changed. Called by any thread, which may hold the
// lock of the settings.
void ReplicationControl::OnNewSettings() {
  Post(SettingsChanged{Settings()});
  const MutexLock lock(mutex_);
  if (replicator_) return replicator_->OnNewSettings();
  const bool needs_replicas = services_.settings.Get(&Options::min_replicas_to_write) > 0 ||
                              services_.settings.Get(&Options::ack_replicas) > 0;
  cell().admits_until = needs_replicas ? Instant{} : kInstantMax;
}

// --- Commands ------------------------------------------------------------------------------------

bool ReplicationControl::IsOwn(const HostAndPort& address) const {
  return IsOwnAddress(services_.settings.All(), services_.port, address);
}

void ReplicationControl::Follow(std::optional<HostAndPort> primary) {
  asio::post(control_, [this, primary = std::move(primary)] {
    thread_.AssertHeld();
    if (!has_started_ && !keeps_role_) ShowUntilLoaded(primary.value_or(HostAndPort{}), true);
    primary ? Take(FollowAsked{*primary}) : Take(NoOneAsked{});
  });
}

void ReplicationControl::BecomePrimaryForSentinel() { Post(PromoteAsked{}); }

absl::Status ReplicationControl::Failover(const FailoverRequest& request) {
  ReplicaList replicas = Replicas();
  const MutexLock lock(mutex_);
  const bool waits = view_->is_switching && !abort_is_asked_;
  const bool is_busy = waits || view_->state == RoleState::kYielding;
  if (failover_is_asked_ || is_busy) return FailoverInProgress();
  if (view_->state != RoleState::kServing) return FailoverOfNoPrimary();
  WEIR_RETURN_IF_ERROR(FailoverError(request, replicas.all));
  failover_is_asked_ = true;
  failover_asked_at_ = clock_.Now();
  if (replicator_) replicator_->Probe();
  Post(FailoverAsked{.request = request, .replicas = std::move(replicas)});
  return absl::OkStatus();
}

absl::Status ReplicationControl::AbortFailover() {
  const MutexLock lock(mutex_);
  const bool waits = view_->is_switching && !abort_is_asked_;
  if (!failover_is_asked_ && !waits) return NoFailoverInProgress();
  failover_is_asked_ = false;
  abort_is_asked_ = true;
  Post(FailoverAbortAsked{.ticket = kAbort});
  return absl::OkStatus();
}

std::size_t ReplicationControl::CloseReplicas() {
  const MutexLock lock(mutex_);
  return replicator_ ? replicator_->Disconnect("CLIENT KILL has ended the connection") : 0;
}

std::size_t ReplicationControl::CloseLink() {
  const MutexLock lock(mutex_);
  const LinkState state = link_ ? followed_->cell().Read().state : LinkState::kConnect;
  const bool is_there = state == LinkState::kSync || state == LinkState::kConnected;
  if (is_there) link_->Break();
  return is_there ? 1 : 0;
}

void ReplicationControl::RequestTick() {
  const MutexLock lock(mutex_);
  if (replicator_) replicator_->RequestTick();
}

// --- What INFO shows -----------------------------------------------------------------------------

ReplicationStatus ReplicationControl::status() const {
  const MutexLock lock(mutex_);
  const RoleView& view = *view_;
  const History& record = view.record;
  ReplicationStatus status;
  status.term = record.term;
  status.deposed = role() == ServerRole::kDeposed;
  // By the option as it is now: the view changes only later.
  status.distrusted = record.lacks && services_.settings.Get(&Options::ack_replicas) > 0;
  status.sentinel_epoch = record.sentinel_floor;
  const bool waits = view.is_switching && !abort_is_asked_;
  if (waits || failover_is_asked_) status.failover = FailoverState::kWaiting;
  if (view.state == RoleState::kYielding) status.failover = FailoverState::kYielding;
  if (!record.id.empty()) status.replid = record.id;
  if (!record.previous.empty()) {
    status.replid2 = record.previous;
    status.until = record.until;
  }
  if (replicator_) replicator_->Describe(status);
  // A server that waits at its start without a state shows itself as a replica of none.
  const bool waits_for_state = role() == ServerRole::kGated && !view.is_complete;
  if (!is_replica() && !waits_for_state) return status;
  LinkStatus& link = status.link.emplace();
  link.primary = record.primary;
  link.complete = is_complete();
  link.up = is_link_up();
  const HostInstant now = clock_.HostNow();
  if (!link.up) link.down_for = now - down_since_;
  if (!followed_) return status;
  const LinkFacts facts = followed_->cell().Read();
  if (!facts.history.empty()) status.replid = facts.history;
  status.offset = facts.shown.value_or(0);
  // INFO says `connected` only once commands that need the whole state are answered.
  const bool is_early = facts.state == LinkState::kConnected && !view.is_synced;
  link.state = is_early ? LinkState::kSync : facts.state;
  link.read_offset = facts.read_offset;
  link.partitions_left = facts.partitions_left;
  link.time_shift = clock_.shift();
  if (facts.last_io != HostInstant{}) link.since_last_io = now - facts.last_io;
  if (facts.exact_time != Instant{}) {
    link.data_age = std::max(clock_.Now() - facts.exact_time, Nanos{0});
  }
  return status;
}

}  // namespace weir
