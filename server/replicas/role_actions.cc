// Actions of the role machine (replication/role_events.h), carried out.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/status.h"
#include "core/limiter/change_reader.h"
#include "core/limiter/limiter_restore.h"
#include "server/os/log.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

// Changes are paused for at most this long. A switch takes less, or is undone within the time.
constexpr std::chrono::milliseconds kSwitchTime{1000};

ServerRole RoleOf(RoleState state) {
  switch (state) {
    case RoleState::kServing:
      return ServerRole::kPrimary;
    case RoleState::kGated:
      return ServerRole::kGated;
    case RoleState::kDeposed:
      return ServerRole::kDeposed;
    default:
      return ServerRole::kReplica;
  }
}

}  // namespace

// --- What others see and do ----------------------------------------------------------------------

// The role comes last, so that a server that serves has everything else in place; then INFO.
void ReplicationControl::Do(const PublishView& action) {
  const std::shared_ptr<const RoleView>& view = action.view;
  if (view->state == RoleState::kLoading) return;  // ShowUntilLoaded says what is shown then.
  const bool shows = view->state != RoleState::kStopping;
  const ServerRole role = RoleOf(view->state);
  if (shows && role != ServerRole::kReplica) {
    FixClock({});  // A command has made it a primary while it loaded.
    LimiterRestore(services_.limiter.table()).SetFollowing(false);
  }
  const MutexLock lock(mutex_);
  was_synced_ = was_synced_ || view->is_synced;
  const bool is_up = view->is_link_up && was_synced_;
  const bool begins = role == ServerRole::kReplica && !is_replica();
  if (begins || (is_link_up() && !is_up)) down_since_ = clock_.HostNow();
  set_is_link_up(is_up);
  if (shows) {
    set_is_complete(view->is_complete);
    set_ping_refusal(view->ping_refusal);
    if (role == ServerRole::kPrimary && RoleOf(view_->state) != role) {
      const auto now = std::chrono::floor<std::chrono::microseconds>(clock_.Now());
      services_.first_operator_change = static_cast<std::uint64_t>(now.time_since_epoch().count());
    }
    set_role(role);
  }
  view_ = view;
}

void ReplicationControl::Do(const Barrier&) {
  IoThread::RunBetweenTurns(threads_, [](IoThread&) {});
}

void ReplicationControl::Do(const EndWaits&) { IoThread::EndAllWaits(threads_); }

void ReplicationControl::Do(const PauseChanges&) {
  const HostInstant now = clock_.HostNow();
  services_.pause.BeginSwitch(now, now + kSwitchTime);
  // Otherwise a command that has not seen the pause could be refused too early.
  Do(Barrier{});
}

void ReplicationControl::Do(const ResumeChanges&) {
  if (!services_.pause.EndSwitch()) return;
  for (const auto& client : services_.clients.All()) client->Wake();
}

// As Sentinel does when it demotes a server: many client libraries ask for the new primary only
// when they are disconnected.
void ReplicationControl::Do(const CloseClients&) {
  for (const auto& client : services_.clients.All()) {
    if (client->face != Face::kResp || client->name().starts_with("sentinel-")) continue;
    client->killed.store(true, std::memory_order_relaxed);
    services_.client_memory.Set(*client, 0);
    client->Wake();
  }
}

void ReplicationControl::Do(const AnswerFailover& action) {
  const bool aborts = action.ticket == kAbort;
  if (!action.status.ok()) {
    spdlog::warn("FAILOVER{} came too late: {}", aborts ? " ABORT" : "",
                 StdView(action.status.message()));
  }
  const MutexLock lock(mutex_);
  (aborts ? abort_is_asked_ : failover_is_asked_) = false;
}

void ReplicationControl::Do(const Remark& action) {
  const std::string text = TextOf(action);
  // A link that is not joined is tried again and again.
  const bool repeats = action.what == Remark::What::kDoesNotJoin;
  if (text.empty() || (repeats && std::exchange(last_refusal_, text) == text)) return;
  if (action.what == Remark::What::kDeposed) return spdlog::error("{}", text);
  spdlog::warn("{}", text);
}

// --- Saves ---------------------------------------------------------------------------------------

void ReplicationControl::Do(const SaveRecord& action) {
  const MutexLock lock(mutex_);
  asked_save_ = action.save;
  if (services_.admission().loading()) return;  // SaveWhatIsAsked does it.
  asked_saves_.push_back({action.save, services_.state->RequestSave()});
}

void ReplicationControl::SaveWhatIsAsked() {
  thread_.AssertHeld();
  SaveNumber asked{};
  {
    const MutexLock lock(mutex_);
    asked = asked_save_;
  }
  if (asked != SaveNumber{}) Do(SaveRecord{asked});
}

void ReplicationControl::Do(const RemoveBackupMark&) {
  {
    const MutexLock lock(mutex_);
    forgets_backup_ = true;
  }
  static_cast<void>(services_.state->RequestSave());
}

// --- Histories of this server --------------------------------------------------------------------

void ReplicationControl::Do(const EndHistory& action) {
  const RoleView& view = *role_machine_.view();
  // First, so that no hold is settled after the last take.
  if (view.record.is_replica) LimiterRestore(services_.limiter.table()).SetFollowing(true);
  // A second command came while the end that the first one began is under way, which is short.
  if (is_ending_) {
    static_cast<void>(CollectHistory());
    events_.emplace_back(HistoryEnded{.head = head()});
  }
  if (!HasReplicator()) {
    events_.emplace_back(HistoryEnded{.head = head()});
    return;
  }
  is_ending_ = true;
  const MutexLock lock(mutex_);
  replicator_->BeginEnd({.time = action.time,
                         .yield_to = action.successor,
                         .term = view.record.term,
                         .stops = view.state == RoleState::kStopping});
}

void ReplicationControl::OnHistoryEnded(const Replicator& ended) {
  asio::post(control_, [this, ended = &ended] {
    thread_.AssertHeld();
    {
      // It may be collected already, since another history had to begin.
      const MutexLock lock(mutex_);
      if (!is_ending_ || keeps_role_ || replicator_.get() != ended) return;
    }
    const bool has_yielded = CollectHistory();
    Take(HistoryEnded{.head = head(), .has_yielded = has_yielded});
  });
}

bool ReplicationControl::CollectHistory() {
  std::shared_ptr<Replicator> replicator;
  {
    // First, since End() takes its ring.
    const MutexLock lock(mutex_);
    replicator = std::move(replicator_);
    ended_head_ = replicator->head();
  }
  const Replicator::Ended ended = replicator->End();
  is_ending_ = false;
  LogChanges(false);
  const Ring& ring = ended.ring;
  ended_ = Sink::State{.applied = ring.head(),
                       .last_changed = ring.last_changed(),
                       .policies_changed = ring.policies().newest(),
                       .complete = true,
                       .exact_time = clock_.Now()};
  const MutexLock lock(mutex_);
  ended_head_ = ring.head();
  return ended.yielded;
}

void ReplicationControl::Do(const LetYieldLeave&) {
  const MutexLock lock(mutex_);
  if (replicator_) replicator_->LetYieldLeave();
}

void ReplicationControl::Do(const EndReplicaLinks&) {
  const MutexLock lock(mutex_);
  if (replicator_) replicator_->Disconnect("this server's history has ended");
}

void ReplicationControl::Do(const BeginHistory& action) {
  LogChanges(true);
  if (!action.is_promotion) {
    if (HasReplicator()) {
      Do(EndHistory{});
      static_cast<void>(CollectHistory());
      LogChanges(true);
    }
    return BeginReplicator(Ring(RingBytes(), head()));
  }
  BeginToFollow();  // It may have had no link since its own history has ended.
  EndFollowing();
  // The history has them already: others need not get them again.
  hub_.TakeAll();
  Sink* sink = nullptr;
  {
    const MutexLock lock(mutex_);
    sink = &followed_->sink();
  }
  FixClock(sink->newest());
  BeginReplicator(sink->PromotedRing(RingBytes()));
  // Last, so that every hold that is settled from now on is in the new history.
  LimiterRestore(services_.limiter.table()).SetFollowing(false);
}

void ReplicationControl::BeginReplicator(Ring ring) {
  ended_.reset();
  auto replicator = std::make_shared<Replicator>(
      Replicator::Dependencies{
          .loop = replicator_loop_,
          .hub = hub_,
          .settings = services_.settings,
          .cell = cell(),
          .has_saver = services_.state != nullptr,
          .on_in_sync = [this] { Post(ReplicaInSync{}); },
          .on_takeover_asked = [this](const std::string& run_id,
                                      Instant newest) { OnTakeoverAsked(run_id, newest); },
          .on_ended = [this](const Replicator& ended) { OnHistoryEnded(ended); }},
      std::move(ring));
  // At once, so that a save always finds one of the two.
  std::unique_ptr<FollowedHistory> followed;
  const MutexLock lock(mutex_);
  replicator_ = std::move(replicator);
  followed = std::move(followed_);
}

// Only a primary that was heard since the start may hold the time back.
void ReplicationControl::FixClock(Instant at_least) {
  const Nanos moved = clock_.Fix(at_least);
  if (moved == Nanos{0}) return;
  spdlog::warn("no primary has told its time since the start: the time moves on by {} ms",
               CeilMillis(moved));
}

void ReplicationControl::LogChanges(bool logs) {
  if (services_.state) return;  // The saver needs the logs in any case.
  if (logs) {
    ChangeReader(services_.limiter.table()).StartLogging();
    services_.policies.StartLogging();
  } else {
    ChangeReader(services_.limiter.table()).StopLogging();
    services_.policies.StopLogging();
  }
}

std::size_t ReplicationControl::RingBytes() const {
  const auto bytes = services_.settings.Get(&Options::repl_backlog_size).bytes;
  return std::max(static_cast<std::size_t>(bytes), std::size_t{1});
}

std::shared_ptr<const RoleView> ReplicationControl::view() const {
  const MutexLock lock(mutex_);
  return view_;
}

bool ReplicationControl::HasReplicator() const {
  const MutexLock lock(mutex_);
  return replicator_ != nullptr;
}

std::uint64_t ReplicationControl::head() const {
  const MutexLock lock(mutex_);
  return replicator_ ? replicator_->head() : ended_head_;
}

// --- Replicas ------------------------------------------------------------------------------------

ReplicaList ReplicationControl::Replicas() const {
  ReplicationStatus status;
  Instant asked_at{};
  {
    const MutexLock lock(mutex_);
    if (replicator_) replicator_->Describe(status);
    asked_at = failover_asked_at_;
  }
  ReplicaList list = {.all = {}, .head = status.offset};
  for (const ReplicaStatus& replica : status.replicas) {
    list.all.push_back({.run_id = replica.run_id,
                        .address = {replica.ip, replica.port},
                        .is_online = replica.online,
                        .is_synced = replica.synced,
                        .cannot_save = replica.cannot_save,
                        .is_there = replica.echoed >= asked_at,
                        .offset = replica.offset});
  }
  return list;
}

void ReplicationControl::Do(const LookAtReplicas&) {
  events_.emplace_back(ReplicasSeen{Replicas()});
}

void ReplicationControl::OnTakeoverAsked(const std::string& run_id, Instant newest) {
  asio::post(control_, [this, run_id, newest] {
    thread_.AssertHeld();
    const Nanos age = std::max(clock_.Now() - newest, Nanos{0});
    Take(TakeoverAsked{.run_id = run_id, .age = age, .replicas = Replicas()});
  });
}

void ReplicationControl::Do(const RefuseTakeover& action) {
  spdlog::warn("refused a replica that asks to become the primary: {}", action.why);
  const MutexLock lock(mutex_);
  if (replicator_) replicator_->RefuseTakeover(action.run_id);
}

// --- Links to a primary --------------------------------------------------------------------------

// Makes what the links work on, from what this server has.
void ReplicationControl::BeginToFollow() {
  {
    const MutexLock lock(mutex_);
    if (followed_) return;
  }
  const RoleView& view = *role_machine_.view();
  Sink::State state;
  if (ended_) {
    state = *std::exchange(ended_, std::nullopt);
  } else {
    // What was loaded may be newer than its offset.
    const std::uint64_t offset = view.record.offset;
    state = {.applied = offset,
             .last_changed = LastChanged(offset + 1),
             .policies_changed = offset + 1,
             .policies_as_of = std::nullopt,
             .complete = view.is_complete};
  }
  auto followed = std::make_unique<FollowedHistory>(services_.limiter.table(), services_.policies,
                                                    state, view.record.id);
  const MutexLock lock(mutex_);
  followed_ = std::move(followed);
  was_synced_ = false;
}

// Waits for the thread of the link, which has no more to apply.
void ReplicationControl::EndFollowing() {
  std::unique_ptr<PrimaryLink> link;
  {
    const MutexLock lock(mutex_);
    link = std::move(link_);
  }
}

void ReplicationControl::Do(const OpenLink& action) {
  EndFollowing();
  BeginToFollow();
  dialed_ = action.primary;
  const std::uint64_t term = role_machine_.view()->record.term;
  const MutexLock lock(mutex_);
  if (action.is_told) was_synced_ = false;
  link_ = std::make_unique<PrimaryLink>(
      PrimaryLink::Dependencies{.loop = link_loop_,
                                .services = services_,
                                .clock = clock_,
                                .followed = *followed_,
                                .tls = link_tls_,
                                .post = [this](RoleEvent event) { Post(std::move(event)); }},
      action, term);
}

void ReplicationControl::Do(const weir::CloseLink&) {
  const MutexLock lock(mutex_);
  if (link_) link_->Stop();
}

void ReplicationControl::Do(const JoinHistory&) {
  last_refusal_.clear();
  const MutexLock lock(mutex_);
  link_->Join();
}

void ReplicationControl::Do(const AskTakeover&) {
  const MutexLock lock(mutex_);
  link_->AskToTakeOver();
}

}  // namespace weir
