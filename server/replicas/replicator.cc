#include "server/replicas/replicator.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include <asio/error.hpp>
#include <spdlog/spdlog.h>

#include "core/limiter/change_reader.h"
#include "replication/lease.h"
#include "replication/policy_records.h"
#include "server/replicas/connected_replica.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTickWithChanges{1};
constexpr milliseconds kTickWithManyChanges{2};
constexpr milliseconds kTickWithout{10};
// Changes of a tick that are many: 512, of some 22 bytes.
constexpr std::uint64_t kManyBytes = 512 * 22;
// Ticks stay frequent for this long after the last change.
constexpr milliseconds kIdleAfter{100};
constexpr milliseconds kBeat{500};
// Other work of the thread comes between so many bytes for a replica.
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
constexpr std::size_t kReplicaInputBytes = 16 * 1024;  // a replica says little

}  // namespace

Replicator::Replicator(Dependencies dependencies, Ring ring)
    : dependencies_(std::move(dependencies)),
      hub_(dependencies_.hub),
      settings_(dependencies_.settings),
      cell_(dependencies_.cell),
      context_(dependencies_.loop.context()),
      tick_(context_),
      beat_(context_),
      end_(context_),
      ring_(std::move(ring)),
      input_(kReplicaInputBytes) {
  {
    const ChangesLock changes_lock(hub_.reader());
    generation_ = hub_.reader().generation();
    hub_.Attach(*this);
  }
  cell_.acks.Begin();
  JudgeReplicas();
  dependencies_.loop.Begin([this] {
    thread_.TakeOver();
    Tick();
    Beat();
    context_.run();
    if (ending_) dependencies_.on_ended(*this);
  });
}

// Asio declares that the end of timers and of a loop may throw; neither does.
Replicator::~Replicator() {  // NOLINT(bugprone-exception-escape)
  if (ended_) return;
  context_.stop();
  dependencies_.loop.Await();
  thread_.TakeOver();
  EndThread();
}

// Requires: the loop has ended.
void Replicator::EndThread() {
  hub_.Detach(*this);
  CloseAll();
  for (asio::steady_timer* const timer : {&tick_, &beat_, &end_}) timer->cancel();
  ended_ = true;
  dependencies_.loop.Clear();
  cell_.acks.EndAll();
}

std::uint64_t Replicator::head() const {
  MutexLock lock(mutex_);
  return ring_.head();
}

bool Replicator::has_room() const {
  MutexLock lock(mutex_);
  return replicas_.size() < kReplicasMax;
}

void Replicator::Describe(ReplicationStatus& status) const {
  MutexLock lock(mutex_);
  status.offset = ring_.head();
  status.backlog = {.active = true, .first_offset = ring_.tail(), .bytes = ring_.size()};
  status.partitions_sent = partitions_sent_;
  const Clock::Reading at = hub_.clock().Read();
  const Instant now = at.now;
  const Nanos max_lag = settings_.Get(&Options::min_replicas_max_lag);
  const auto age_of_lack = [&](const AckBody& acked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (acked.offset >= ring_.head()) return Nanos{0};
    // If the first frame that it lacks is gone, the oldest frame in the ring gives the closest
    // time.
    const std::uint64_t lacks_from = std::max(acked.offset, ring_.tail());
    const Instant lacks_since = ring_.TimeAt(lacks_from).value_or(acked.newest);
    return std::max(now - lacks_since, Nanos{0});
  };
  for (const ReplicaPtr& replica : replicas_) {
    const AckBody& acked = replica->source.acked();
    status.replicas.push_back({.run_id = replica->sync.request.run_id,
                               .ip = replica->sync.request.ip,
                               .port = replica->sync.request.port,
                               .online = replica->was_synced,
                               .synced = acked.synced,
                               .cannot_save = acked.cannot_save,
                               .offset = acked.offset,
                               .lag = std::max(at.host_now - replica->heard, Nanos{0}),
                               .echoed = acked.newest});
    if (replica->lease.HeardUntil(max_lag) > now) ++status.good_replicas;
    // A replica that waits for its disk says 0 until its first save on this link.
    if (!acked.synced || (acked.offset == 0 && ring_.head() > 0)) continue;
    status.loss_bound = std::min(status.loss_bound.value_or(Nanos::max()), age_of_lack(acked));
  }
  if (!status.loss_bound && last_synced_) status.loss_bound = age_of_lack(*last_synced_);
}

void Replicator::Probe() {
  Post([this] {
    thread_.AssertHeld();
    BeatOnce();
  });
}

std::size_t Replicator::Disconnect(std::string_view reason) {
  const std::vector<ReplicaPtr> all = AllReplicas();
  Post([this, all, reason = std::string(reason)] {
    thread_.AssertHeld();
    for (const ReplicaPtr& replica : all) Close(replica, reason);
  });
  return all.size();
}

// --- The history ---

void Replicator::Consume(const ChangeBatch& batch) {
  MutexLock lock(mutex_);
  const LimiterChanges& changes = batch.limiter;
  if (changes.generation != generation_) {
    generation_ = changes.generation;
    ring_.Append(FrameKind::kFlush, batch.time, BodyOf(FlushBody{generation_}),
                 PartitionSet::All());
  }
  for (const std::uint16_t partition : changes.overflowed_partitions) {
    PartitionSet touched;
    touched.Add(partition);
    ring_.Append(FrameKind::kGap, batch.time, BodyOf(GapBody{partition}), touched);
  }
  // Before the buckets. Otherwise a replica could have a bucket of a policy that it does not know,
  // and give that policy's id to another one once it is promoted.
  if (!batch.policies.empty()) {
    PartitionSet touched;
    for (const OverrideChange& change : batch.policies.overrides) {
      touched.Add(PartitionOfOverride(change.key));
    }
    WritePolicies(batch.policies, kPoliciesBytes,
                  [&](std::string_view body, bool) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                    ring_.Append(FrameKind::kPolicies, batch.time, body, touched);
                  });
    for (const auto& change : batch.policies.policies) ring_.TouchPolicy(change.id);
  }
  const auto limit_of = [this](LimitId id) { return &hub_.reader().LimitOf(id); };
  changes_.WriteChanges(changes, limit_of, kChangesBytes,
                        [&](const RecordsWriter::Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                          ring_.Append(FrameKind::kChanges, batch.time, body.bytes,
                                       body.partitions);
                        });
}

void Replicator::ArmTick(milliseconds after) {
  tick_.expires_after(after);
  tick_.async_wait([this](std::error_code error) {
    thread_.AssertHeld();
    if (!error && !ended_) Tick();
  });
}

void Replicator::RequestTick() {
  if (tick_is_due_.exchange(true)) return;
  Post([this] {
    thread_.AssertHeld();
    if (tick_is_due_.exchange(false)) Tick();
  });
}

void Replicator::Tick() {
  const HostInstant now = hub_.clock().HostNow();
  const bool is_idle = now - changed_at_ >= kIdleAfter;
  cell_.is_idle = is_idle;  // before the changes are taken, so that later ones begin a tick
  TakeChanges();
  const std::uint64_t end = head();
  const std::uint64_t brought = end - std::exchange(seen_, end);
  FitRing();
  if (brought > 0) {
    changed_at_ = now;
    cell_.is_idle = false;
  }
  const std::vector<ReplicaPtr> all = AllReplicas();
  for (const ReplicaPtr& replica : all) Send(replica);
  if (cell_.acks.size() > 0) JudgeReplicas();  // They may have all of it already.
  if (brought > kManyBytes) return ArmTick(kTickWithManyChanges);
  ArmTick(is_idle && brought == 0 ? kTickWithout : kTickWithChanges);
}

// Puts all changes into the ring.
void Replicator::TakeChanges() {
  cell_.acks.BeginTick();
  if (dependencies_.has_saver) {
    hub_.TakeAll();
  } else {
    // The ring needs no ids of limits, so this is what frees them.
    const ChangesLock changes_lock(hub_.reader());
    hub_.reader().BeginSave();
    hub_.TakeAll();
    static_cast<void>(hub_.reader().TakeLimits());
    hub_.reader().EndSave();
  }
  cell_.acks.EndTick(head());
}

// repl-backlog-size may have changed.
void Replicator::FitRing() {
  const auto bytes = settings_.Get(&Options::repl_backlog_size).bytes;
  const std::size_t capacity = std::max(static_cast<std::size_t>(bytes), std::size_t{1});
  MutexLock lock(mutex_);
  if (ring_.capacity() != capacity) ring_.SetCapacity(capacity);
}

// Tells each replica that the primary is there, and closes those that do not answer.
void Replicator::BeatOnce() {
  const HostInstant now = hub_.clock().HostNow();
  const Nanos timeout = settings_.Get(&Options::repl_timeout);
  for (const ReplicaPtr& replica : AllReplicas()) {
    if (now - replica->heard > timeout) {
      Close(replica, absl::StrCat("it has acknowledged nothing for ",
                                  std::chrono::floor<std::chrono::seconds>(timeout).count(), " s"));
      continue;
    }
    if (replica->has_yield || replica->out.size() - replica->sent > Source::kOutBytes) continue;
    AppendHeartbeat(*replica);
    Send(replica);
  }
  JudgeReplicas();
}

void Replicator::Beat() {
  BeatOnce();
  const Nanos timeout = settings_.Get(&Options::repl_timeout);
  const Nanos max_lag = settings_.Get(&Options::min_replicas_max_lag);
  beat_.expires_after(std::min<Nanos>(kBeat, std::min(timeout, max_lag) / 4));
  beat_.async_wait([this](std::error_code error) {
    thread_.AssertHeld();
    if (!error && !ended_) Beat();
  });
}

// A heartbeat that asks for another lease is followed by a second one, whose echo proves that the
// replica has heard the first.
void Replicator::AppendHeartbeat(Replica& replica) {
  const bool leases = settings_.Get(&Options::min_replicas_to_write) > 0;
  const milliseconds length =
      leases ? settings_.Get(&Options::min_replicas_max_lag) : milliseconds{0};
  for (bool is_new = true; is_new;) {
    const Instant now = hub_.clock().Now();
    replica.source.AppendHeartbeat(head(), static_cast<std::uint32_t>(length.count()), now,
                                   replica.out);
    MutexLock lock(mutex_);
    is_new = replica.lease.asked() != length;
    replica.lease.OnHeartbeatSent(length, now);
  }
}

void Replicator::OnNewSettings() {
  JudgeReplicas();
  Post([this] {
    thread_.AssertHeld();
    Beat();
  });
}

// Publishes the time until which enough replicas were heard, and which changes they have.
void Replicator::JudgeReplicas() {
  MutexLock lock(mutex_);  // before the options are read, so that the newest are judged last
  const auto for_lease = static_cast<std::size_t>(settings_.Get(&Options::min_replicas_to_write));
  const auto for_acks = static_cast<std::size_t>(settings_.Get(&Options::ack_replicas));
  const Nanos max_lag = settings_.Get(&Options::min_replicas_max_lag);
  std::vector<Instant> promised;
  std::vector<Instant> heard;
  std::vector<std::uint64_t> acked;
  for (const ReplicaPtr& replica : replicas_) {
    promised.push_back(replica->lease.PromisedUntil(max_lag));
    heard.push_back(replica->lease.HeardUntil(max_lag));
    const AckBody& last = replica->source.acked();
    if (last.synced) acked.push_back(last.offset);
  }
  cell_.admits_until.store(
      std::min(NthLatest(std::move(promised), for_lease), NthLatest(std::move(heard), for_acks)),
      std::memory_order_relaxed);
  std::ranges::sort(acked, std::ranges::greater());
  cell_.acks.Judge(acked);
}

// --- Replicas ---

void Replicator::Adopt(Transport transport, SyncHandOver sync) {
  transport.MoveTo(context_);
  Post([this, replica = std::make_shared<Replica>(std::move(transport), std::move(sync))] {
    thread_.AssertHeld();
    Welcome(replica);
  });
}

void Replicator::Welcome(const ReplicaPtr& replica) {
  for (const ReplicaPtr& other : AllReplicas()) {
    if (other->sync.request.run_id == replica->sync.request.run_id) {
      Close(other, "it has connected again");
    }
  }
  if (!has_room()) {
    spdlog::warn("replica {} is refused: there are {} already", replica->name(), kReplicasMax);
    return replica->transport.Close();
  }
  replica->heard = hub_.clock().HostNow();
  replica->reader.Feed(replica->sync.input);
  spdlog::info("replica {} is connected: {}", replica->name(),
               replica->sync.answer.resume
                   ? absl::StrCat("it continues at offset ", replica->sync.answer.common)
                   : "it gets the whole state");
  {
    MutexLock lock(mutex_);
    replicas_.push_back(replica);
  }
  AppendHeartbeat(*replica);  // First, so that all else proves that the replica knows the lease.
  WatchInput(replica);
  Send(replica);
}

void Replicator::Send(const ReplicaPtr& replica) {
  std::size_t written = 0;
  while (!replica->closed && !replica->waits_for_room) {
    if (replica->out.size() - replica->sent < Source::kOutBytes) Fill(*replica);
    const std::string_view unsent = std::string_view(replica->out).substr(replica->sent);
    if (unsent.empty()) return;
    std::error_code error;
    const std::size_t some = replica->transport.Write(unsent, error);
    replica->sent += some;
    written += some;
    if (error == asio::error::would_block || (!error && written >= kBytesAtOnce)) {
      replica->waits_for_room = true;
      replica->transport.WaitToWrite([this, replica](std::error_code failed) {
        if (failed || replica->closed) return;
        thread_.AssertHeld();
        replica->waits_for_room = false;
        Send(replica);
      });
    } else if (error) {
      return Close(replica, error.message());
    }
  }
}

void Replicator::WatchInput(const ReplicaPtr& replica) {
  replica->transport.WaitToRead([this, replica](std::error_code error) {
    if (error || replica->closed) return;
    thread_.AssertHeld();
    Receive(replica);
  });
}

void Replicator::Receive(const ReplicaPtr& replica) {
  std::error_code error;
  const std::size_t received = replica->transport.Read(input_, error);
  if (error == asio::error::would_block) return WatchInput(replica);
  if (error) return Close(replica, "it has closed the connection");
  replica->reader.Feed({input_.data(), received});
  while (const std::optional<Frame> frame = replica->reader.Next()) {
    if (!HandleFrame(*replica, *frame)) return Close(replica, "it sends what no replica sends");
    if (const auto asked = replica->source.TakeTakeover()) {
      ++replica->requests;
      if (!ending_) {
        dependencies_.on_takeover_asked(replica->sync.request.run_id, asked->newest);
      } else {
        RefuseAtEnd(replica);
        if (replica->closed) return;
      }
    }
  }
  if (!replica->reader.error().empty()) {
    return Close(replica, absl::StrCat("it sends ", replica->reader.error()));
  }
  JudgeReplicas();
  WatchInput(replica);
  Send(replica);
  CheckEnd();
}

// Returns false for a frame that no replica sends.
bool Replicator::HandleFrame(Replica& replica, const Frame& frame) {
  bool is_new = false;
  {
    MutexLock lock(mutex_);
    if (!replica.source.HandleFrame(frame)) return false;
    replica.heard = hub_.clock().HostNow();
    const AckBody& acked = replica.source.acked();
    replica.lease.OnAck(acked.newest, acked.synced);
    is_new = acked.synced && !std::exchange(replica.was_synced, true);
    const bool is_best = !last_synced_ || acked.offset >= last_synced_->offset;
    if (acked.synced && is_best) last_synced_ = acked;
  }
  if (is_new) {
    spdlog::info("replica {} has the whole state", replica.name());
    dependencies_.on_in_sync();
  }
  return true;
}

void Replicator::Close(const ReplicaPtr& replica, std::string_view reason) {
  if (std::exchange(replica->closed, true)) return;
  if (replica->has_yield) {
    spdlog::warn("replica {} takes over", replica->name());
  } else {
    spdlog::warn("replica {} is disconnected: {}", replica->name(), reason);
  }
  replica->transport.Close();
  {
    MutexLock lock(mutex_);
    std::erase(replicas_, replica);
  }
  JudgeReplicas();
  CheckEnd();
}

// Requires: the thread has ended.
void Replicator::CloseAll() {
  for (const ReplicaPtr& replica : AllReplicas()) {
    Close(replica, "this server is no longer a primary");
  }
}

// A copy, because a replica that closes leaves the list.
std::vector<Replicator::ReplicaPtr> Replicator::AllReplicas() const {
  MutexLock lock(mutex_);
  return replicas_;
}

}  // namespace weir
