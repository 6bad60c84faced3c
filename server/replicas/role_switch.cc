// Switches of roles between servers that know of each other: FAILOVER, and a term that is later
// than that of this primary.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include <asio/post.hpp>
#include <spdlog/spdlog.h>

#include "server/os/log.h"
#include "server/replicas/replication_control.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSwitchStep{5};  // between two looks at a replica that lags
// Changes are paused for at most this long. The heir has it to read the end of the history.
constexpr milliseconds kSwitchTime{1000};

}  // namespace

// --- The planned switch ---

std::string ReplicationControl::Failover(const FailoverRequest& request) {
  if (role() != ServerRole::kPrimary) return "ERR FAILOVER is not valid when server is a replica.";
  const ReplicationStatus now = status();
  if (now.failover != FailoverState::kNone) return "ERR FAILOVER already in progress.";
  if (std::string error = FailoverError(request, now.replicas); !error.empty()) return error;
  {
    MutexLock lock(mutex_);
    switch_.emplace(request, own_clock_.Now());
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
    step = switch_->Next(now.replicas, now.offset, own_clock_.Now());
    if (step.what != PlannedSwitch::What::kWait) switch_.reset();
  }
  switch (step.what) {
    case PlannedSwitch::What::kYield:
      return YieldTo(step.target);
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

void ReplicationControl::YieldTo(const ReplicaStatus& replica) {
  const HostAndPort address = {replica.ip, replica.port};
  spdlog::warn("failing over to {}:{}", EscapedForLog(replica.ip), replica.port);
  const Instant now = clock_.Now();
  services_.pause.BeginSwitch(now, now + kSwitchTime);
  Replicator::Ending ending = {.time = kSwitchTime, .yield_to = replica.run_id};
  {
    MutexLock lock(mutex_);
    ending.term = history_.term;
    heir_ = {replica.run_id, address};
    history_.was_told = true;
  }
  BecomeReplica(address, PrimaryLink::Reason::kYield, ending);
}

// The heir has not taken over.
void ReplicationControl::TakeBack() {
  if (stopped_ || !is_replica()) return;
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
    BecomePrimary();
    MutexLock lock(mutex_);
    history_.was_told = true;
  });
}

// --- A later term ---

// On any thread: from now on nothing is admitted.
void ReplicationControl::Depose(std::uint64_t term) {
  if (!Replication::Depose()) return;
  spdlog::error(
      "a replica is in term {}, which is later than this primary's: another server has become the "
      "primary, or this one has lost its state. It admits nothing until REPLICAOF gives it a role",
      term);
  asio::post(control_, [this] {
    if (stopped_ || role() != ServerRole::kDeposed) return;
    IoThread::RunBetweenTurns(threads_, [](IoThread& thread) { thread.EndWaits(); });
    MutexLock lock(mutex_);
    history_.is_deposed = true;
    history_.term = std::max(history_.term, seen_term_);
    SaveSoon();
  });
}

// A command makes a deposed server a primary, in a history that no other server knows.
void ReplicationControl::Restore() {
  std::shared_ptr<Replicator> replicator;
  {
    MutexLock lock(mutex_);
    replicator = std::move(replicator_);
  }
  if (replicator) {
    static_cast<void>(replicator->End({}));
    NoteForReplicas(false);
  }
  MutexLock beginning(begin_mutex_);
  MutexLock lock(mutex_);
  history_.id.clear();
  history_.is_deposed = false;
  set_role(ServerRole::kPrimary);
  spdlog::warn("this server is a primary again");
}

// The error of an RL.SYNC that shows where its sender stands: in a later term than this server, or
// behind a YIELD that it has not got. Empty: it shows nothing new.
std::string ReplicationControl::SyncRefusal(const SyncRequest& request) {
  MutexLock lock(mutex_);
  if (is_replica()) {
    const HostAndPort address = {request.ip, request.port};
    const bool is_heir = heir_ && (heir_->run_id == request.run_id || heir_->address == address);
    if (is_heir && request.term <= history_.term) {
      heir_.reset();
      asio::post(control_, [this] { TakeBack(); });
    }
    return absl::StrCat("NOMASTERLINK this server is a replica: follow ", history_.primary_host,
                        ":", history_.primary_port);
  }
  seen_term_ = std::max(seen_term_, request.term);
  if (request.term <= history_.term) return {};
  Depose(request.term);
  return absl::StrCat("ERR this server's term is ", history_.term, ", and yours ", request.term,
                      ": it may have lost its state");
}

}  // namespace weir
