// The server's part in replication: it changes the role, and owns the thread that fits it.
//
//     primary with replicas:  a Replicator       replica:  a Sink and a PrimaryLink
//
// Roles change on the control thread only, one at a time. A demotion first refuses changes, then
// waits until no command is under way that was accepted before (IoThread::RunBetweenTurns), and
// only then takes the last changes: so they are in the history that other servers may go on from.
//
// FAILOVER is a demotion that gives the history over. Changes are paused; the replica gets the last
// of them and a YIELD, and is a primary when it has read that. This server then admits nothing
// more, and follows it. Should the replica ask to follow this server instead, it has not taken
// over, and this server is the primary again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "core/base/mutex.h"
#include "core/limiter/change_hub.h"
#include "persistence/saver.h"
#include "replication/hello.h"
#include "replication/lease.h"
#include "replication/limiter_target.h"
#include "replication/lineage.h"
#include "replication/sentinel_watch.h"
#include "replication/sink.h"
#include "server/net/io_thread.h"
#include "server/net/loop_thread.h"
#include "server/os/lineage_clock.h"
#include "server/os/log.h"
#include "server/replicas/host_addresses.h"
#include "server/replicas/planned_switch.h"
#include "server/replicas/primary_link.h"
#include "server/replicas/replicator.h"
#include "server/replicas/saved_term.h"
#include "server/session/services.h"
#include "server/state/replication.h"

namespace weir {

class ReplicationControl final : public Replication,
                                 public HistoryRecord,
                                 private PrimaryLink::Owner,
                                 private Replicator::Owner {
 public:
  struct Parts {
    asio::io_context& control;
    Services& services;
    ChangeHub& hub;
    LineageClock& clock;
    const std::vector<std::unique_ptr<IoThread>>& threads;
    const SharedTlsContext* link_tls;  // null: the link to a primary speaks plain text
    bool is_backup;                    // as in StateOnDisk, as the next two
    bool may_lack;
    bool has_losses;
  };
  // `record`: the history on disk, or an empty text. If the server is to be a replica, by that or
  // by the option replicaof, it refuses changes from now on.
  ReplicationControl(const Parts& parts, std::string_view record);

  // --- The control thread ---

  // Begins to follow a primary, if it is to be a replica. To be called when the state is loaded.
  void Start();
  // Changes the role no more.
  void KeepRole();
  // Ends the threads, once the replicas in sync have confirmed all changes, or after kLastAcksTime.
  // Requires: nothing changes the limiter any more.
  void Stop();

  // --- Any thread ---

  [[nodiscard]] ReplicationStatus status() const override;
  [[nodiscard]] bool IsOwn(const HostAndPort& address) const override;
  void Follow(std::optional<HostAndPort> primary) override;
  void BecomePrimaryForSentinel() override;
  void HearHello(std::string message) override;
  [[nodiscard]] std::string Failover(const FailoverRequest& request) override;
  [[nodiscard]] std::string AbortFailover() override;
  std::size_t CloseReplicas() override;
  std::size_t CloseLink() override;
  [[nodiscard]] SyncAnswer AnswerSync(const SyncRequest& request) override;

  // --- The thread of saves ---

  void BeginSave() override;
  [[nodiscard]] std::string UrgentRecord() override;
  void OnUrgentSaved() override;
  [[nodiscard]] std::string Record(bool is_last) override;
  void EndSave() override;
  [[nodiscard]] bool HasOwnRole() const override;

  // --- An I/O thread ---

  // Takes over the connection of a replica that was answered.
  void Adopt(Transport transport, SyncHandOver sync);

 private:
  // The replica that this server has yielded to.
  struct Heir {
    std::string run_id;
    HostAndPort address;
    std::vector<std::string> siblings;  // the run ids of the other replicas at the switch
    bool declined = false;              // it asks to follow this server instead
  };

  void CarryOutFollow(std::optional<HostAndPort> primary);
  void BecomeReplica(const HostAndPort& primary, PrimaryLink::Reason reason);
  [[nodiscard]] bool Demote(const HostAndPort& primary, const Replicator::Ending& ending);
  void StartLink(const HostAndPort& primary, PrimaryLink::Reason reason);
  void StepSwitch();
  // The origin of a planned switch: FAILOVER, or the replica itself, which takes over even if this
  // server is too slow.
  enum class SwitchBy { kPrimary, kReplica };
  [[nodiscard]] bool YieldTo(const ReplicaStatus& replica,
                             const std::vector<ReplicaStatus>& replicas, SwitchBy by);
  void TakeBack();
  [[nodiscard]] bool Declines(const SyncRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndSwitch();
  void Depose(std::uint64_t term) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Restore();
  [[nodiscard]] std::string SyncRefusal(const SyncRequest& request);
  void EndLink();
  [[nodiscard]] Lineage Present() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BecomePrimaryAfterLease();
  void BecomePrimary();
  void FixClock(Instant at_least);
  [[nodiscard]] bool IsDistrusted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteWhole();
  // Begins a history at the offset, in a new term.
  void BeginTerm(std::uint64_t offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[nodiscard]] Sink::State EndPrimary(const Replicator::Ending& ending, bool& yielded);
  [[nodiscard]] std::shared_ptr<Replicator> BeginHistory();
  [[nodiscard]] std::shared_ptr<Replicator> MakeReplicator(Ring ring);
  [[nodiscard]] bool IsBeginningSaved() const;
  void AwaitSavedTerm();
  void OnNewSettings();
  // Whether changes are noted although nothing is saved.
  void NoteForReplicas(bool notes);
  [[nodiscard]] std::size_t RingBytes() const;

  // Whether Sentinel watches this server (--sentinel).
  [[nodiscard]] bool is_watched() const;
  void CloseGate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForSentinel();
  static void RefuseSentinel(std::string_view why);
  void EndTakeover();
  void OpenGate();
  void Heed(const Hello& hello, bool names_us, HostInstant now);
  void TakeBackIfNamed(bool is_named);
  void CloseClients();
  void KeepFloor();
  void RefusePingAfterSwitch();

  [[nodiscard]] Lineage history() const override;
  void Join(const HostAndPort& primary, std::uint64_t term, std::string_view history) override;
  void TakeOver() override;
  void OnTakeoverRefused(std::uint64_t request) override;
  void ReportDropped() override;
  void Show(bool complete, bool up) override;
  void NoteInSync() override { NoteWhole(); }
  void SaveSoon() override;
  [[nodiscard]] bool is_save_failing() const override { return services_.is_save_failing(); }
  void AdmitUntil(Instant until) override { set_admits_until(until); }
  void Sleep(bool sleeps) override { set_sleeps(sleeps); }
  AckWaits& waits() override { return acks(); }
  void OnTakeoverAsked(const std::string& run_id, Instant newest) override;
  void OnReplicaInSync() override;
  void TakeChangesSoon() override;

  asio::io_context& control_;
  Services& services_;
  ChangeHub& hub_;
  LineageClock& clock_;
  const std::vector<std::unique_ptr<IoThread>>& threads_;
  const SharedTlsContext* const link_tls_;
  LoopThread link_loop_{"weir-link"};              // of the control thread, as the next
  LoopThread replicator_loop_{"weir-replicator"};  // each serves one role after the other
  LimiterTarget target_;
  std::size_t reported_dropped_ = 0;  // of the link's thread, as the next
  bool reported_evicted_ = false;
  std::uint64_t evicted_before_ = 0;  // this link
  bool started_ = false;              // of the control thread, as the next
  bool stopped_ = false;
  bool awaits_promotion_ = false;  // promotion_ runs
  std::uint64_t request_ = 0;      // the number of the last request to the primary to yield
  asio::steady_timer promotion_;
  asio::steady_timer switch_timer_;
  LeasePromise promise_;  // also of the link, while there is one
  // Of Sentinel:
  SentinelWatch watch_;
  HostAddresses addresses_;
  LogThrottle hello_throttle_;
  asio::steady_timer gate_;                 // of the gate, and of PING's refusal after a switch
  std::uint64_t handed_over_in_ = 0;        // the epoch of the last planned switch
  std::optional<HostInstant> named_since_;  // a replica without a link, by all hellos since then

  Mutex begin_mutex_;  // orders the beginnings of histories; taken before mutex_
  mutable Mutex mutex_;
  Lineage history_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Replicator> replicator_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Sink> sink_;  // of the control thread, and of the link while there is one
  std::unique_ptr<PrimaryLink> link_ ABSL_GUARDED_BY(mutex_);
  // The primary that the server follows once it has started; or none.
  HostAndPort first_primary_ ABSL_GUARDED_BY(mutex_);
  bool is_exact_ ABSL_GUARDED_BY(mutex_) = true;       // without a link: as of history_.offset
  Lineage begun_ ABSL_GUARDED_BY(mutex_);              // at the beginning of the present save
  bool begun_is_own_ ABSL_GUARDED_BY(mutex_) = false;  // its role came about since the start
  bool has_joined_ ABSL_GUARDED_BY(mutex_) = false;    // a primary, since the start
  std::string saved_id_ ABSL_GUARDED_BY(mutex_);       // in the last record that was written
  SavedTerm saved_term_;
  std::uint64_t begun_term_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last history that began here
  std::uint64_t urgent_term_ = 0;                         // of the thread of saves
  std::optional<PlannedSwitch> switch_ ABSL_GUARDED_BY(mutex_);  // waits for its replica
  std::optional<Heir> heir_ ABSL_GUARDED_BY(mutex_);  // until it is known to be a primary
};

}  // namespace weir
