// The primary's end of replication: the thread weir-replicator takes the changes and sends them to
// all replicas.
//
//     I/O threads change buckets ... -> tick: ChangeHub -> Consume: frames in the ring
//                                          -> for each replica: Source -> its socket
//
// Ticks are 1 ms apart while there are changes (2 ms if there are many) and 10 ms apart while there
// are none; a change after a pause triggers a tick immediately. A replica that acknowledges nothing
// for repl-timeout is closed. One that does not read costs 32 KiB besides the ring, and one copy:
// of a partition, or of all policies.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/base/thread_role.h"
#include "core/limiter/change_hub.h"
#include "core/limiter/change_reader.h"
#include "replication/frame_bodies.h"
#include "replication/records.h"
#include "replication/ring.h"
#include "server/config/settings.h"
#include "server/net/loop_thread.h"
#include "server/net/transport.h"
#include "server/os/descriptor_limit.h"
#include "server/state/replication.h"

namespace weir {

inline constexpr std::size_t kReplicasMax = 16;
static_assert(kReplicasMax + 2 * kDescriptorsPerLoop < kDescriptorsForReplication);

class Replicator final : public ChangeConsumer {
 public:
  struct Dependencies {
    LoopThread& loop;  // the replicator's alone until its end
    ChangeHub& hub;
    const Settings& settings;
    PrimaryCell& cell;
    bool has_saver;  // a saver is attached to the hub, which takes the ids of limits
    // These are called on the replicator's thread.
    std::function<void()> on_in_sync;  // a replica is in sync for the first time
    // A replica asks to become the primary, and knew of nothing newer than `newest` when it asked.
    // The answer is a BeginEnd() that names it, or RefuseTakeover().
    std::function<void(const std::string& run_id, Instant newest)> on_takeover_asked;
    // What BeginEnd() began is over. The last call.
    std::function<void(const Replicator& ended)> on_ended;
  };
  // Begins to send a history, whose frames so far are in the ring, on the thread of the loop. All
  // references must outlive it.
  Replicator(Dependencies dependencies, Ring ring);
  // Closes all replicas.
  ~Replicator() override;  // NOLINT(bugprone-exception-escape): replicator.cc says why

  // What the replicas get at the end.
  struct Ending {
    Nanos time{0};           // for a replica to take over, or for those in sync to confirm all
    std::string yield_to{};  // the run id of the replica that takes over; empty: none does
    std::uint64_t term = 0;  // of the history, if it is yielded
    bool stops = false;      // the server stops: a replica that asks may become the primary
  };
  // Begins to put the last changes into the ring and to send them. Requires: nothing changes the
  // limiter any more.
  void BeginEnd(const Ending& ending);
  // The replica that takes over gets its YIELD from now on, once it has everything.
  void LetYieldLeave();
  struct Ended {
    Ring ring;
    bool yielded = false;  // that replica was sent all of it: it may be the primary by now
  };
  // Waits for the end that BeginEnd() began, closes all replicas, and returns the ring. The last
  // call.
  [[nodiscard]] Ended End();

  // --- Any thread, before End() ---

  // Sends the history to a replica whose RL.SYNC was answered. To be called on the thread that had
  // the transport.
  void Adopt(Transport transport, SyncHandOver sync);

  // Makes all replicas acknowledge immediately.
  void Probe();
  // Refuses the oldest request of the replica to become the primary. Without an answer the replica
  // would take this server for dead.
  void RefuseTakeover(const std::string& run_id);
  // Ends all connections, and returns their number. `reason`: for the log.
  std::size_t Disconnect(std::string_view reason);

  void Consume(const ChangeBatch& batch) override;

  // The head of the ring.
  [[nodiscard]] std::uint64_t head() const;
  [[nodiscard]] bool has_room() const;
  // Fills in what it knows: the replicas, the backlog, and the offset.
  void Describe(ReplicationStatus& status) const;
  // Applies changed options of leases and acknowledgements.
  void OnNewSettings();
  // Requests a tick now, because a reply waits for it. Cheap if one is about to begin.
  void RequestTick();

 private:
  struct Replica;
  using ReplicaPtr = std::shared_ptr<Replica>;

  // Calls `step` on the thread, unless it has ended.
  template <typename Step>
  void Post(Step step) {
    asio::post(context_, [this, step = std::move(step)]() mutable {
      thread_.AssertHeld();
      if (!ended_) step();
    });
  }
  void EndThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Tick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void FitRing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void TakeChanges() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  template <typename Step>
  void AtEnd(Nanos after, Step step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void ArmTick(std::chrono::milliseconds after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Beat() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void BeatOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Refuse(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void RefuseAtEnd(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void AppendHeartbeat(Replica& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void JudgeReplicas();
  void Welcome(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Fill(Replica& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Send(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Receive(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] bool HandleFrame(Replica& replica, const Frame& frame)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void WatchInput(const ReplicaPtr& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void AppendPolicies(Replica& replica, std::optional<std::uint64_t> as_of)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void AppendPartition(Replica& replica, std::uint16_t partition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Close(const ReplicaPtr& replica, std::string_view reason)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void CloseAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void StepEnd(const Ending& ending) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void CheckEnd() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void YieldTo(Replica& replica) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  [[nodiscard]] std::vector<ReplicaPtr> AllReplicas() const;

  const Dependencies dependencies_;
  ChangeHub& hub_;
  const Settings& settings_;
  PrimaryCell& cell_;
  asio::io_context& context_;  // the loop's
  ThreadRole thread_;          // of weir-replicator
  asio::steady_timer tick_ ABSL_GUARDED_BY(thread_);
  asio::steady_timer beat_ ABSL_GUARDED_BY(thread_);
  asio::steady_timer end_ ABSL_GUARDED_BY(thread_);

  mutable Mutex mutex_;  // taken after a ChangesLock
  Ring ring_ ABSL_GUARDED_BY(mutex_);
  TableGeneration generation_ ABSL_GUARDED_BY(mutex_){};
  RecordsWriter changes_ ABSL_GUARDED_BY(mutex_);
  std::vector<ReplicaPtr> replicas_ ABSL_GUARDED_BY(mutex_);  // changed by the thread only
  std::uint64_t partitions_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  // The ACK with the greatest offset of all replicas that were in sync; it stays after its replica
  // has left.
  std::optional<AckBody> last_synced_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> tick_is_due_{false};  // a Tick is in the thread's queue

  RecordsWriter copies_ ABSL_GUARDED_BY(thread_);
  // Empty between copies; keeps its memory, so that a copy maps no pages under a lock.
  std::vector<BucketChange> copy_memory_ ABSL_GUARDED_BY(thread_);
  std::uint64_t seen_ ABSL_GUARDED_BY(thread_) = 0;    // the head at the last tick
  HostInstant changed_at_ ABSL_GUARDED_BY(thread_){};  // the last tick that brought changes
  std::vector<char> input_ ABSL_GUARDED_BY(thread_);
  std::optional<Ending> ending_ ABSL_GUARDED_BY(thread_);  // set at the end
  ReplicaPtr successor_ ABSL_GUARDED_BY(thread_);          // that takes over
  bool awaits_acks_ ABSL_GUARDED_BY(thread_) =
      true;  // it gets no YIELD before it has confirmed all
  bool may_yield_ ABSL_GUARDED_BY(thread_) = false;
  bool ended_ ABSL_GUARDED_BY(thread_) = false;
};

}  // namespace weir
