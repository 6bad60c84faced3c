#include "server/replicas/replication_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "core/base/id_type.h"
#include "core/base/status.h"
#include "core/table/key_hash.h"
#include "server/os/log.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/own_address.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

// For replicas to confirm the last changes: at the end of the process, and of the role.
constexpr milliseconds kLastAcksTime{1000};
constexpr milliseconds kDemotionTime{100};

}  // namespace

ReplicationControl::ReplicationControl(const Parts& parts, std::string_view record)
    : control_(parts.control),
      services_(parts.services),
      hub_(parts.hub),
      clock_(parts.clock),
      threads_(parts.threads),
      link_tls_(parts.link_tls),
      target_(services_.limiter, services_.policies),
      promotion_(control_),
      switch_timer_(control_),
      addresses_(control_, clock_),
      hello_throttle_(clock_),
      gate_(control_) {
  services_.settings.OnChange([this](const Options&) { OnNewSettings(); });
  OnNewSettings();
  MutexLock lock(mutex_);
  first_primary_ = services_.options.replicaof;
  if (const std::optional<Lineage> saved = ReadLineageValue(record)) {
    history_ = *saved;
    if (parts.is_backup) {
      history_.was_told = false;
      history_.joins_any = false;
      history_.is_deposed = false;
      spdlog::info(
          "the state comes from a backup: the option replicaof gives this server its role");
    }
    saved_id_ = saved->id;
    saved_term_.Note(saved->term);
    if (history_.was_told) first_primary_ = saved->primary;
    if (first_primary_ != services_.options.replicaof) {
      spdlog::warn("a command has made this server {}, which wins over the option replicaof",
                   saved->is_replica ? "a replica" : "a primary");
    }
  } else if (!record.empty()) {
    spdlog::warn("the record of this server's history is damaged: it begins a new one");
  }
  history_.lacks = history_.lacks || parts.may_lack;
  if (parts.has_losses) history_.id.clear();  // A link starts over, and so brings what was lost.
  watch_ = SentinelWatch(history_.sentinel_floor);
  if (services_.options.allow_explicit_time && !first_primary_.host.empty()) {
    spdlog::warn("with --allow-explicit-time this server follows no primary");
    first_primary_ = {};
  }
  if (first_primary_.host.empty()) {
    if (history_.is_deposed) {
      set_role(ServerRole::kDeposed);
    } else if (is_watched()) {
      CloseGate();
    }
    return;
  }
  history_.is_deposed = false;
  set_role(ServerRole::kReplica);
  set_is_complete(!history_.id.empty());
  services_.limiter.SetFollowing(true);  // also while it loads: the primary settles its holds
}

void ReplicationControl::Start() {
  started_ = true;
  HostAndPort primary;
  PrimaryLink::Reason reason;
  {
    MutexLock lock(mutex_);
    primary = first_primary_;
    // A command may have said so before the start, and the primary has not answered yet.
    reason = history_.joins_any ? PrimaryLink::Reason::kTold : PrimaryLink::Reason::kStart;
  }
  if (!primary.host.empty()) {
    // Before this start it may have promised as much to its primary.
    const bool leases = services_.settings.Get(&Options::min_replicas_to_write) > 0;
    const Nanos length = services_.settings.Get(&Options::min_replicas_max_lag);
    if (leases) promise_.Acked(length, clock_.HostNow());
    {
      MutexLock lock(mutex_);
      if (IsDistrusted()) {
        spdlog::warn(
            "this server was not stopped cleanly, and may lack what it has acknowledged: it shows "
            "Sentinel the priority 0 until it is in sync");
      }
    }
    return BecomeReplica(primary, reason);
  }
  {
    // Replicas may have more of the last history than this server had saved, so it begins a new
    // one.
    MutexLock lock(mutex_);
    history_.id.clear();
    history_.is_replica = false;
  }
  FixClock({});  // A command has made it a primary while it loaded.
  if (role() == ServerRole::kGated) return WaitForSentinel();
  if (role() == ServerRole::kPrimary) NoteWhole();
}

void ReplicationControl::Stop() {
  stopped_ = true;
  promotion_.cancel();
  gate_.cancel();
  EndLink();
  std::shared_ptr<Replicator> replicator;
  {
    MutexLock lock(mutex_);
    replicator = std::move(replicator_);
  }
  // For the record in the last save.
  if (replicator) {
    const std::uint64_t head = replicator->End({.time = kLastAcksTime, .stops = true}).ring.head();
    MutexLock lock(mutex_);
    history_.offset = head;
  }
  // The last save has everything that the replicas have. Sentinel may confirm the next start.
  MutexLock lock(mutex_);
  if (role() == ServerRole::kPrimary) history_.had_replicas = false;
}

// A replica hears no more from its primary: it could not take over.
void ReplicationControl::KeepRole() {
  stopped_ = true;
  gate_.cancel();
  addresses_.Cancel();
  MutexLock lock(mutex_);
  if (link_) link_->Stop();
}

// --- Roles ---

bool ReplicationControl::IsOwn(const HostAndPort& address) const {
  return IsOwnAddress(services_.settings.All(), services_.port, address);
}

void ReplicationControl::Follow(std::optional<HostAndPort> primary) {
  asio::post(control_, [this, primary = std::move(primary)]() mutable {
    if (!stopped_) CarryOutFollow(std::move(primary));
  });
}

void ReplicationControl::CarryOutFollow(std::optional<HostAndPort> primary) {
  {
    MutexLock lock(mutex_);
    history_.was_told = true;
  }
  if (!started_) {  // Start carries it out.
    MutexLock lock(mutex_);
    first_primary_ = primary.value_or(HostAndPort{});
    history_.is_deposed = false;
    history_.joins_any = primary.has_value();
    set_ping_refusal(PingRefusal::kNone);
    set_role(primary ? ServerRole::kReplica : ServerRole::kPrimary);
    set_is_complete(!primary || !history_.id.empty());
    services_.limiter.SetFollowing(primary.has_value());
  } else if (primary) {
    BecomeReplica(*primary, PrimaryLink::Reason::kTold);
  } else if (role() == ServerRole::kDeposed || role() == ServerRole::kGated) {
    watch_.Promoted(clock_.HostNow());
    KeepFloor();
    role() == ServerRole::kDeposed ? Restore() : OpenGate();
  } else if (is_replica()) {
    BecomePrimaryAfterLease();
  }
  EndSwitch();
}

// Ends the link; what the server has of its history stays known.
void ReplicationControl::EndLink() {
  PrimaryLink* link = nullptr;
  {
    MutexLock lock(mutex_);
    link = link_.get();
  }
  if (link == nullptr) return;
  link->End();  // without the lock, which its thread needs
  MutexLock lock(mutex_);
  const std::optional<std::uint64_t> shown = link->shown();
  history_.offset = shown.value_or(0);
  is_exact_ = shown.has_value();
  link_.reset();
}

void ReplicationControl::BecomeReplica(const HostAndPort& primary, PrimaryLink::Reason reason) {
  static_cast<void>(Demote(primary, {.time = kDemotionTime}));
  {
    MutexLock lock(mutex_);
    heir_.reset();
    history_.joins_any = reason == PrimaryLink::Reason::kTold;
  }
  StartLink(primary, reason);
}

// Refuses changes, and ends the history if this server has one. Returns false if `ending` names an
// heir that has not got all of it.
bool ReplicationControl::Demote(const HostAndPort& primary, const Replicator::Ending& ending) {
  awaits_promotion_ = false;
  gate_.cancel();
  set_ping_refusal(PingRefusal::kNone);
  set_role(ServerRole::kReplica);
  IoThread::EndAllWaits(threads_);
  EndLink();  // first, since its thread notes the primary that it has joined
  {
    MutexLock lock(mutex_);
    history_.is_replica = true;
    history_.is_deposed = false;
    history_.primary = primary;
  }
  if (sink_) return true;
  // First, so that no hold is settled after the last take.
  services_.limiter.SetFollowing(true);
  bool yielded = false;
  sink_ = std::make_unique<Sink>(target_, EndPrimary(ending, yielded));
  return yielded;
}

void ReplicationControl::StartLink(const HostAndPort& primary, PrimaryLink::Reason reason) {
  reported_evicted_ = false;
  evicted_before_ = services_.limiter.evicted();
  spdlog::warn("this server is a replica of {}:{} now", EscapedForLog(primary.host), primary.port);
  PrimaryLink::Owner& owner = *this;
  auto link = std::make_unique<PrimaryLink>(
      PrimaryLink::Parts{.loop = link_loop_,
                         .settings = services_.settings,
                         .limiter = services_.limiter,
                         .sink = *sink_,
                         .promise = promise_,
                         .clock = clock_,
                         .owner = owner,
                         .tls = link_tls_,
                         .acks_from_disk = services_.state && services_.state->always()},
      primary, PrimaryLink::Identity{services_.run_id, services_.port}, reason);
  {
    MutexLock lock(mutex_);
    link_ = std::move(link);
  }
  watch_.RoleChanged();
  KeepFloor();
  SaveSoon();
}

// Ends the history of a primary, and returns what its server has of it.
Sink::State ReplicationControl::EndPrimary(const Replicator::Ending& ending, bool& yielded) {
  std::shared_ptr<Replicator> replicator;
  {
    MutexLock lock(mutex_);
    replicator = std::move(replicator_);
  }
  if (!replicator) {
    // What was loaded may be newer than its offset.
    MutexLock lock(mutex_);
    return {.applied = history_.offset,
            .last_changed = LastChanged(history_.offset + 1),
            .policies_changed = history_.offset + 1,
            .policies_as_of = std::nullopt,
            .complete = is_complete()};
  }
  const Replicator::Ended ended = replicator->End(ending);
  const Ring& ring = ended.ring;
  yielded = ended.yielded;
  NoteForReplicas(false);
  MutexLock lock(mutex_);
  history_.offset = ring.head();
  return {.applied = ring.head(),
          .last_changed = ring.last_changed(),
          .policies_changed = ring.policies().newest(),
          .complete = true,
          .exact_time = clock_.Now()};
}

// The last primary may admit until the promise of the last ACK ends; so the link ends first.
void ReplicationControl::BecomePrimaryAfterLease() {
  EndLink();
  set_is_link_up(false);
  const Nanos rest = promise_.until() - clock_.HostNow();
  awaits_promotion_ = rest > Nanos{0};
  if (!awaits_promotion_) return BecomePrimary();
  spdlog::warn("this server becomes a primary in {} ms: until then another one may admit",
               CeilMillis(rest));
  promotion_.expires_after(rest);
  promotion_.async_wait([this](std::error_code error) {
    if (error || stopped_ || !awaits_promotion_ || !is_replica()) return;
    BecomePrimaryAfterLease();
  });
}

void ReplicationControl::BecomePrimary() {
  awaits_promotion_ = false;
  EndLink();
  NoteForReplicas(true);
  // The history has them already: others need not get them again.
  hub_.TakeAll();
  std::unique_ptr<Sink> sink = std::move(sink_);
  std::uint64_t term = 0;
  bool is_taken_back = false;
  {
    MutexLock lock(mutex_);
    if (IsDistrusted()) {
      spdlog::warn(
          "this server was not in sync since an unclean stop: it may have forgotten changes that "
          "it had acknowledged");
    }
    // A server without the whole state has no history that another one could go on from.
    if (!sink->shown()) history_.id.clear();
    history_.seen_term = std::max(history_.seen_term, sink->yielded().value_or(0));
    BeginTerm(sink->shown().value_or(0));
    is_taken_back = heir_.has_value();
    heir_.reset();
    term = history_.term;
  }
  FixClock(sink->newest());
  std::shared_ptr<Replicator> replicator = MakeReplicator(sink->PromotedRing(RingBytes()));
  // Last, so that every hold that is settled from now on is in the new history.
  services_.limiter.SetFollowing(false);
  {
    MutexLock lock(mutex_);
    replicator_ = std::move(replicator);
  }
  if (is_taken_back) {
    watch_.RoleChanged();
  } else {
    watch_.Promoted(clock_.HostNow());
  }
  KeepFloor();
  AwaitSavedTerm();
  set_is_complete(true);
  set_ping_refusal(PingRefusal::kNone);
  set_role(ServerRole::kPrimary);
  spdlog::warn("this server is a primary now, of term {}{}", term,
               sink->shown() ? "" : "; it has not had the whole state of its last primary");
}

// Ends the following of a primary's time. Only a primary that was heard since the start may hold
// the time back.
void ReplicationControl::FixClock(Instant at_least) {
  const Nanos moved = clock_.Fix(at_least);
  if (moved == Nanos{0}) return;
  spdlog::warn("no primary has told its time since the start: the time moves on by {} ms",
               CeilMillis(moved));
}

void ReplicationControl::NoteForReplicas(bool notes) {
  if (services_.state) return;  // The saver needs them in any case.
  if (notes) {
    services_.limiter.StartNoting();
    services_.policies.StartNoting();
  } else {
    services_.limiter.StopNoting();
    services_.policies.StopNoting();
  }
}

std::size_t ReplicationControl::RingBytes() const {
  const auto bytes = services_.settings.Get(&Options::repl_backlog_size).bytes;
  return std::max(static_cast<std::size_t>(bytes), std::size_t{1});
}

std::shared_ptr<Replicator> ReplicationControl::MakeReplicator(Ring ring) {
  Replicator::Owner& owner = *this;
  return std::make_shared<Replicator>(replicator_loop_, hub_, services_.settings, owner,
                                      services_.state != nullptr, std::move(ring));
}

void ReplicationControl::TakeChangesSoon() {
  MutexLock lock(mutex_);
  if (replicator_) replicator_->TickNow();
}

// Options of leases and acknowledgements may have changed. Called by any thread, which may hold the
// lock of the settings.
void ReplicationControl::OnNewSettings() {
  MutexLock lock(mutex_);
  if (replicator_) return replicator_->OnNewSettings();
  const bool needs_replicas = services_.settings.Get(&Options::min_replicas_to_write) > 0 ||
                              services_.settings.Get(&Options::ack_replicas) > 0;
  set_admits_until(needs_replicas ? Instant{} : kInstantMax);
}

// A crash must not forget the term, since replicas would not follow a server of the same one again,
// or the role.
void ReplicationControl::SaveSoon() {
  if (services_.state && !services_.loading()) {
    static_cast<void>(services_.state->RequestSave());
  }
}

// --- The link ---

Lineage ReplicationControl::history() const {
  MutexLock lock(mutex_);
  return history_;
}

void ReplicationControl::Join(const HostAndPort& primary, std::uint64_t term,
                              std::string_view history) {
  MutexLock lock(mutex_);
  // After a referral the option replicaof names a server that is no primary any more.
  const bool is_named = history_.primary == primary;
  history_.was_told = history_.was_told || !is_named;
  history_.primary = primary;
  history_.Follow(term, history);
  history_.joins_any = false;
  has_joined_ = true;
  heir_.reset();
}

void ReplicationControl::ReportDropped() {
  if (!reported_evicted_ && services_.limiter.evicted() > evicted_before_) {
    reported_evicted_ = true;
    spdlog::warn(
        "this replica evicts buckets of its primary, which a failover would forget: its "
        "max-memory is smaller than what the primary has");
  }
  const std::size_t dropped = target_.dropped();
  if (dropped < 2 * reported_dropped_ || dropped == reported_dropped_) return;
  reported_dropped_ = dropped;
  spdlog::error(
      "{} records of the primary found no room on this replica: its max-holds or max-memory is "
      "smaller than the primary's",
      dropped);
}

void ReplicationControl::Show(bool complete, bool up) {
  set_is_complete(complete);
  set_is_link_up(up);
  // In sync with a new primary, which counts on this server from its next ACK on.
  if (up) asio::post(control_, [this] { EndSwitch(); });
}

ReplicationStatus ReplicationControl::status() const {
  ReplicationStatus status;
  MutexLock lock(mutex_);
  status.term = history_.term;
  status.deposed = role() == ServerRole::kDeposed;
  status.sentinel_epoch = history_.sentinel_floor;
  if (switch_) status.failover = FailoverState::kWaiting;
  if (heir_) status.failover = FailoverState::kYielding;
  if (!history_.id.empty()) status.replid = history_.id;
  if (!history_.previous.empty()) {
    status.replid2 = history_.previous;
    status.until = history_.until;
  }
  if (replicator_) replicator_->Describe(status);
  // A server that waits at its start without a state shows itself as a replica of none.
  const bool waits_for_state = role() == ServerRole::kGated && !is_complete();
  if (!is_replica() && !waits_for_state) return status;
  status.distrusted = IsDistrusted();
  if (link_) {
    status.link = link_->status();
    status.offset = link_->shown().value_or(0);
  } else {
    const bool is_named = !history_.primary.host.empty();
    status.link.emplace().primary = is_named ? history_.primary : first_primary_;
    status.link->complete = is_complete();
  }
  return status;
}

}  // namespace weir
