// The end of a replicator: the last changes, and the replica that takes over.
#include <algorithm>
#include <utility>

#include "server/replicas/connected_replica.h"
#include "server/replicas/replicator.h"
#include "server/state/ack_waits.h"

namespace weir {

void Replicator::BeginEnd(const Ending& ending) {
  Post([this, ending] {
    thread_.AssertHeld();
    StepEnd(ending);
  });
}

void Replicator::LetYieldLeave() {
  Post([this] {
    thread_.AssertHeld();
    may_yield_ = true;
    CheckEnd();
  });
}

Replicator::Ended Replicator::End() {
  dependencies_.loop.Await();
  thread_.TakeOver();
  const bool yielded =
      successor_ && successor_->has_yield && successor_->sent == successor_->out.size();
  EndThread();
  MutexLock lock(mutex_);
  return {std::move(ring_), yielded};
}

void Replicator::StepEnd(const Ending& ending) {
  ending_ = ending;
  TakeChanges();
  const std::vector<ReplicaPtr> all = AllReplicas();
  const auto takes_over = [&](const ReplicaPtr& replica) {
    return replica->sync.request.run_id == ending.yield_to;
  };
  const auto found = std::ranges::find_if(all, takes_over);
  if (found != all.end()) successor_ = *found;
  for (const ReplicaPtr& replica : all) RefuseAtEnd(replica);
  if (!ending.yield_to.empty() && !successor_) return context_.stop();
  if (successor_) Send(successor_);
  for (const ReplicaPtr& replica : all) Send(replica);
  AtEnd(ending.time / 2, [this] {
    thread_.AssertHeld();
    awaits_acks_ = false;
    for (const ReplicaPtr& replica : AllReplicas()) Send(replica);
    AtEnd(ending_->time / 2, [this] { context_.stop(); });
  });
  JudgeReplicas();
  CheckEnd();
}

template <typename Step>
void Replicator::AtEnd(Nanos after, Step step) {
  end_.expires_after(after);
  end_.async_wait([this, step](std::error_code error) {
    thread_.AssertHeld();
    if (!error && !ended_) step();
  });
}

// A successor closes its link once it has the last frame. Then nothing that it has not read is lost
// with the socket.
void Replicator::CheckEnd() {
  if (!ending_) return;
  if (successor_) {
    // Replies may have been waiting for another replica.
    return successor_->closed ? context_.stop() : Send(successor_);
  }
  MutexLock lock(mutex_);
  const auto waits = [this](const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const AckBody& acked = replica->source.acked();
    return acked.synced && acked.offset != ring_.head();
  };
  if (std::ranges::none_of(replicas_, waits)) context_.stop();
}

// Gives the history over, if the replica is the successor and has everything. At first, only when
// no reply waits for an acknowledgement any more.
void Replicator::YieldTo(Replica& replica) {
  if (&replica != successor_.get() || !may_yield_) return;
  MutexLock lock(mutex_);
  if (!replica.source.is_level(ring_)) return;
  const bool is_confirmed = replica.source.acked().offset == ring_.head() && cell_.acks.size() == 0;
  if (awaits_acks_ && !is_confirmed) return;
  replica.source.AppendYield(ending_->term, hub_.clock().Now(), replica.out);
  replica.has_yield = true;
}

void Replicator::RefuseTakeover(const std::string& run_id) {
  Post([this, run_id] {
    thread_.AssertHeld();
    for (const ReplicaPtr& replica : AllReplicas()) {
      if (replica->sync.request.run_id == run_id) Refuse(replica);
    }
  });
}

// A replica that does not read gets no answer.
void Replicator::Refuse(const ReplicaPtr& replica) {
  if (replica->requests == 0) return;
  --replica->requests;
  if (replica->has_yield || replica->out.size() - replica->sent > Source::kOutBytes) return;
  replica->source.AppendRefusal(hub_.clock().Now(), replica->out);
  Send(replica);
}

// Refuses the requests that come while the role goes to another server, or that the owner has not
// answered before.
void Replicator::RefuseAtEnd(const ReplicaPtr& replica) {
  if (ending_->stops || replica == successor_) return;
  while (replica->requests > 0) Refuse(replica);
}

}  // namespace weir
