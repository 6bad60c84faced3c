// The server's part in replication: the control thread drives the role machine
// (replication/role.h), carries out what it asks for, and owns the threads of both roles.
//
//     any thread:   a command, a hello, RL.SYNC  ->  an event
//     weir-link, weir-replicator, the saver      ->  an event
//     control:      Role::On(event) -> actions, in their order; the view, for all threads
//
// Nothing here decides. A primary with replicas has a Replicator; a replica has a FollowedHistory
// and, while it is linked, a PrimaryLink.
//
// The control thread waits for another one in three places: for the end of all turns that have
// seen the last role (Barrier, EndWaits; 1 to 2 ms), for a link that has ended or is to end, and
// for a replicator that has ended.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/mutex.h"
#include "core/base/thread_role.h"
#include "core/limiter/change_hub.h"
#include "persistence/saver.h"
#include "replication/hello.h"
#include "replication/history.h"
#include "replication/role.h"
#include "server/net/io_thread.h"
#include "server/net/loop_thread.h"
#include "server/os/followed_clock.h"
#include "server/os/log.h"
#include "server/replicas/followed_history.h"
#include "server/replicas/host_addresses.h"
#include "server/replicas/primary_link.h"
#include "server/replicas/replicator.h"
#include "server/session/services.h"
#include "server/state/replication.h"

namespace weir {

class ReplicationControl final : public Replication, public HistoryRecord {
 public:
  struct Dependencies {
    asio::io_context& control;
    Services& services;
    ChangeHub& hub;
    FollowedClock& clock;
    const std::vector<std::unique_ptr<IoThread>>& threads;
    const SharedTlsContext* link_tls;  // null: the link to a primary speaks plain text
    bool is_backup;                    // as in StateOnDisk, as the next two
    bool may_lack;
    bool has_losses;
  };
  // `record`: the history on disk, or an empty text. The server refuses changes from now on if that
  // record, or the option replicaof, makes it a replica.
  ReplicationControl(const Dependencies& dependencies, std::string_view record);

  // --- The control thread ---

  // The calling thread is the control thread from now on.
  void TakeOverControl() { thread_.TakeOver(); }
  // Takes up the role. To be called when the state is loaded.
  void Start();
  // Asks for the saves that the role has needed so far. To be called when saves have begun.
  void SaveWhatIsAsked();
  // From now on the role does not change.
  void KeepRole();
  // Ends the threads, once the replicas in sync have confirmed all changes, or after a second.
  // Requires: nothing changes the limiter any more, and no thread runs handlers of the control
  // thread, whose role the caller takes over.
  void Stop();

  // --- Any thread ---

  [[nodiscard]] ReplicationStatus status() const override;
  [[nodiscard]] bool IsOwn(const HostAndPort& address) const override;
  void Follow(std::optional<HostAndPort> primary) override;
  void BecomePrimaryForSentinel() override;
  void OnHello(std::string message) override;
  [[nodiscard]] absl::Status Failover(const FailoverRequest& request) override;
  [[nodiscard]] absl::Status AbortFailover() override;
  std::size_t CloseReplicas() override;
  std::size_t CloseLink() override;
  void AnswerSync(SyncRequest request, SyncAnswered answered) override;

  // --- The thread of saves ---

  void BeginSave() override;
  [[nodiscard]] std::string UrgentRecord() override;
  void OnUrgentSaved() override;
  [[nodiscard]] std::string Record(bool is_last) override;
  void EndSave() override;
  [[nodiscard]] bool HasOwnRole() const override;
  // All saves up to that ticket have failed.
  void OnSaveFailed(std::uint64_t ticket);

  // --- An I/O thread ---

  // Takes over the connection of a replica that was answered.
  void Adopt(Transport transport, SyncHandOver sync);

 private:
  static constexpr RoleTicket kAbort{1};  // of FAILOVER ABORT; 0: of FAILOVER
  struct AskedSync {
    SyncRequest request;
    SyncAnswered answered;
  };
  struct AskedSave {
    SaveNumber save;
    std::uint64_t ticket;
  };

  // replication_control.cc: events in, actions out.
  void Post(RoleEvent event);
  void Take(RoleEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void CarryOut(const RoleAction& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void ArmTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void OnNewSettings();
  [[nodiscard]] RoleSettings Settings() const;
  void ShowUntilLoaded(const HostAndPort& primary, bool is_told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  // role_actions.cc
  void Do(const PublishView& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const Barrier& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const EndWaits& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const PauseChanges& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const ResumeChanges& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const CloseClients& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const EndHistory& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const LetYieldLeave& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const EndReplicaLinks& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const BeginHistory& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const OpenLink& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const weir::CloseLink& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const JoinHistory& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const AskTakeover& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const RefuseTakeover& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const LookAtReplicas& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const SaveRecord& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const RemoveBackupMark& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const AnswerFailover& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const weir::AnswerSync& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void Do(const Remark& action) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void BeginToFollow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void EndFollowing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void BeginReplicator(Ring ring) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  // Waits for the end of the replicator, and returns whether its successor has got its YIELD.
  [[nodiscard]] bool CollectHistory() ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  void FixClock(Instant at_least);
  void LogChanges(bool logs);
  [[nodiscard]] std::size_t RingBytes() const;
  [[nodiscard]] bool HasReplicator() const;
  [[nodiscard]] ReplicaList Replicas() const;
  [[nodiscard]] std::uint64_t head() const;
  [[nodiscard]] std::shared_ptr<const RoleView> view() const;
  [[nodiscard]] std::string TextOf(const Remark& remark) const  // role_remarks.cc
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  // sync_answer.cc
  void AskRole(const AskedSync& asked) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);
  // Whether this server has, or had since its start, what its clients rely on. Cost: a look at each
  // policy.
  [[nodiscard]] bool HasState() const;
  [[nodiscard]] weir::SyncAnswer Accept(const SyncRequest& request,
                                        std::optional<std::uint64_t> common)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  // sentinel_hellos.cc
  [[nodiscard]] bool is_watched() const { return !services_.options.sentinel.empty(); }
  void TakeHello(const std::string& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(thread_);

  // history_record.cc
  [[nodiscard]] History Present() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Of the replicator's thread:
  void OnTakeoverAsked(const std::string& run_id, Instant newest);
  void OnHistoryEnded(const Replicator& ended);

  void RequestTick() override;

  asio::io_context& control_;
  Services& services_;
  ChangeHub& hub_;
  FollowedClock& clock_;
  const std::vector<std::unique_ptr<IoThread>>& threads_;
  const SharedTlsContext* const link_tls_;
  LoopThread link_loop_{"weir-link"};
  LoopThread replicator_loop_{"weir-replicator"};

  ThreadRole thread_;  // the control thread's
  Role role_machine_ ABSL_GUARDED_BY(thread_);
  StateLoaded loaded_ ABSL_GUARDED_BY(thread_);  // the machine's first event
  std::deque<RoleEvent> events_ ABSL_GUARDED_BY(thread_);
  bool is_draining_ ABSL_GUARDED_BY(thread_) = false;
  bool has_started_ ABSL_GUARDED_BY(thread_) = false;
  bool keeps_role_ ABSL_GUARDED_BY(thread_) = false;
  bool is_stopped_ ABSL_GUARDED_BY(thread_) = false;
  bool is_ending_ ABSL_GUARDED_BY(thread_) = false;  // the replicator
  HostInstant now_ ABSL_GUARDED_BY(thread_){};       // of the last event
  asio::steady_timer timer_ ABSL_GUARDED_BY(thread_);
  HostInstant armed_for_ ABSL_GUARDED_BY(thread_) = kHostInstantMax;
  // The state in which the last history of this server has ended.
  std::optional<Sink::State> ended_ ABSL_GUARDED_BY(thread_);
  HostAndPort dialed_ ABSL_GUARDED_BY(thread_){};          // by the last link
  std::string last_refusal_ ABSL_GUARDED_BY(thread_);      // of a link that was not joined
  std::uint64_t last_epoch_ ABSL_GUARDED_BY(thread_) = 0;  // of a hello
  absl::flat_hash_map<std::uint64_t, AskedSync> asked_syncs_ ABSL_GUARDED_BY(thread_);  // by ticket
  std::uint64_t tickets_ ABSL_GUARDED_BY(thread_) = 0;
  HostAddresses addresses_ ABSL_GUARDED_BY(thread_);
  LogThrottle hello_throttle_ ABSL_GUARDED_BY(thread_);

  // Taken before the mutexes of the link and of the replicator.
  mutable Mutex mutex_;
  std::shared_ptr<const RoleView> view_ ABSL_GUARDED_BY(mutex_);
  bool failover_is_asked_ ABSL_GUARDED_BY(mutex_) = false;  // the machine does not know it yet
  bool abort_is_asked_ ABSL_GUARDED_BY(mutex_) = false;     // nor this
  Instant failover_asked_at_ ABSL_GUARDED_BY(mutex_){};
  // Changed by the control thread only:
  std::shared_ptr<Replicator> replicator_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<FollowedHistory> followed_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PrimaryLink> link_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t ended_head_ ABSL_GUARDED_BY(mutex_) = 0;  // of the history without a replicator
  bool was_synced_ ABSL_GUARDED_BY(mutex_) = false;       // by the primary that it follows
  HostInstant down_since_ ABSL_GUARDED_BY(mutex_){};      // of the link
  // Of saves:
  SaveNumber asked_save_ ABSL_GUARDED_BY(mutex_){};
  std::deque<AskedSave> asked_saves_ ABSL_GUARDED_BY(mutex_);
  bool forgets_backup_ ABSL_GUARDED_BY(mutex_) = false;
  History begun_ ABSL_GUARDED_BY(mutex_);  // at the beginning of the present save, as the next
  SaveNumber begun_save_ ABSL_GUARDED_BY(mutex_){};
  SaveNumber told_save_ ABSL_GUARDED_BY(mutex_){};  // to the machine
  bool save_fails_ ABSL_GUARDED_BY(mutex_) = false;
  History written_ ABSL_GUARDED_BY(mutex_);  // the last record that was written
  std::uint64_t saved_term_ ABSL_GUARDED_BY(mutex_) = 0;
  History urgent_ ABSL_GUARDED_BY(mutex_);  // that is being written ahead of a save
  SaveNumber urgent_save_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace weir
