// Planned switches (FAILOVER), and primaries that learn of a later term.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "replication/lease.h"
#include "server/os/log.h"
#include "server/replicas/link_reply.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSwitchStep{5};  // between two looks at a replica that lags
// Changes are paused for at most this long. The heir must read the rest of the history in the other
// time, which is shorter, so that a switch that fails is undone within the pause.
constexpr milliseconds kSwitchTime{1000};
constexpr milliseconds kYieldTime{800};

}  // namespace

// --- The planned switch ---

std::string ReplicationControl::Failover(const FailoverRequest& request) {
  if (role() != ServerRole::kPrimary) return "ERR FAILOVER is not valid when server is a replica.";
  const ReplicationStatus now = status();
  if (std::string error = FailoverError(request, now.replicas); !error.empty()) return error;
  {
    MutexLock lock(mutex_);
    if (switch_ || heir_) return "ERR FAILOVER already in progress.";
    switch_.emplace(request, clock_.HostNow());
    if (replicator_) replicator_->Probe();
  }
  asio::post(control_, [this] { StepSwitch(); });
  return {};
}

std::string ReplicationControl::AbortFailover() {
  MutexLock lock(mutex_);
  if (!switch_) return "ERR No failover in progress.";
  switch_.reset();
  return {};
}

void ReplicationControl::StepSwitch() {
  if (stopped_ || role() != ServerRole::kPrimary) return EndSwitch();
  const ReplicationStatus now = status();
  PlannedSwitch::Step step;
  {
    MutexLock lock(mutex_);
    if (!switch_) return;  // It was aborted.
    step = switch_->Next(now.replicas, now.offset, clock_.HostNow());
    if (step.what != PlannedSwitch::What::kWait) switch_.reset();
  }
  switch (step.what) {
    case PlannedSwitch::What::kYield:
      if (YieldTo(step.target, now.replicas, SwitchBy::kPrimary)) RefusePingAfterSwitch();
      return;
    case PlannedSwitch::What::kGiveUp:
      return spdlog::warn("the failover ends without a switch: {}", step.reason);
    case PlannedSwitch::What::kWait:
      break;
  }
  switch_timer_.expires_after(kSwitchStep);
  switch_timer_.async_wait([this](std::error_code error) {
    if (!error) StepSwitch();
  });
}

// Returns whether this server has given its role away.
bool ReplicationControl::YieldTo(const ReplicaStatus& replica,
                                 const std::vector<ReplicaStatus>& replicas, SwitchBy by) {
  const HostAndPort address = {replica.ip, replica.port};
  spdlog::warn("failing over to {}:{}", EscapedForLog(replica.ip), replica.port);
  switch_timer_.cancel();
  const HostInstant now = clock_.HostNow();
  services_.pause.BeginSwitch(now, now + kSwitchTime);
  // Otherwise a command that has not seen the pause could be refused too early.
  IoThread::RunBetweenTurns(threads_, [](IoThread&) {});
  Replicator::Ending ending = {.time = kYieldTime, .yield_to = replica.run_id};
  {
    MutexLock lock(mutex_);
    ending.term = history_.term;
    heir_ = {.run_id = replica.run_id, .address = address, .siblings = {}};
    for (const ReplicaStatus& other : replicas) {
      if (other.run_id != replica.run_id) heir_->siblings.push_back(other.run_id);
    }
  }
  const bool yielded = Demote(address, ending) || by == SwitchBy::kReplica;
  {
    MutexLock lock(mutex_);
    heir_->declined = !yielded;
    history_.was_told = history_.was_told || yielded;
  }
  if (yielded) {
    // No command makes it the primary again while its YIELD may count.
    promise_.Acked(kYieldAgeMax, clock_.HostNow());
    StartLink(address, PrimaryLink::Reason::kYield);
  } else {
    TakeBack();
  }
  return yielded;
}

// The heir has not taken over: this server is the primary again, unless a command says otherwise.
void ReplicationControl::TakeBack() {
  {
    MutexLock lock(mutex_);
    if (stopped_ || !is_replica() || !heir_ || !heir_->declined) return;
  }
  spdlog::warn("the replica has not taken over");
  BecomePrimary();
  EndSwitch();
}

// Lets the clients go on, whose changes are paused.
void ReplicationControl::EndSwitch() {
  {
    MutexLock lock(mutex_);
    switch_.reset();
  }
  if (!services_.pause.EndSwitch()) return;
  for (const auto& client : services_.clients.All()) client->Wake();
}

void ReplicationControl::TakeOver() {
  asio::post(control_, [this] {
    if (stopped_ || !is_replica()) return;
    {
      // Another link may have begun in the meantime.
      MutexLock lock(mutex_);
      if (!link_ || !link_->has_yielded()) return;
    }
    {
      MutexLock lock(mutex_);
      history_.was_told = true;
    }
    BecomePrimary();
  });
}

// --- A later term ---

// On any thread: from now on nothing is admitted.
void ReplicationControl::Depose(std::uint64_t term) {
  if (!TryDepose()) return;
  history_.is_deposed = true;
  history_.seen_term = std::max(history_.seen_term, term);
  history_.term = history_.seen_term;
  spdlog::error(
      "a replica is in a history of term {}, which wins over this primary's: another server has "
      "become the primary, or this one has lost its state or was restored. It admits nothing until "
      "REPLICAOF NO ONE makes it the primary again, which the others follow, or REPLICAOF HOST "
      "PORT "
      "a replica",
      term);
  asio::post(control_, [this] {
    if (stopped_ || role() != ServerRole::kDeposed) return;
    IoThread::EndAllWaits(threads_);
    SaveSoon();
  });
}

// A command makes a deposed server a primary, in a history that no other server knows.
void ReplicationControl::Restore() {
  std::shared_ptr<Replicator> replicator;
  {
    MutexLock beginning(begin_mutex_);
    MutexLock lock(mutex_);
    replicator = std::move(replicator_);
  }
  std::optional<std::uint64_t> head;
  if (replicator) {
    head = replicator->End({}).ring.head();
    replicator.reset();
    NoteForReplicas(false);
  }
  {
    MutexLock lock(mutex_);
    history_.offset = head.value_or(history_.offset);
    history_.id.clear();
    history_.is_deposed = false;
    history_.had_replicas = false;
    history_.lacks = false;
    begun_term_ = history_.term;
  }
  AwaitSavedTerm();
  set_is_complete(true);
  set_role(ServerRole::kPrimary);
  spdlog::warn("this server is a primary again");
}

}  // namespace weir
