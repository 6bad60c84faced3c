// A server of the role simulation: the real role machine, with a disk, clocks, links and clients as
// values. Its state is the set of admissions that it knows of, in two partitions.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "replication/role.h"
#include "replication/time_shift.h"
#include "tests/replication/role_sim_link.h"
#include "tests/replication/role_world.h"

namespace weir {

// What is on the disk of a server.
struct SimImage {
  History record{};
  Admissions data{};
  std::uint64_t offset = 0;
  double time = 0;  // of decisions
  double shift = 0;
  std::optional<std::pair<double, double>>
      mark{};  // true time and time of decisions of an admission
  bool is_clean = false;
  bool is_backup = false;
};

class RoleServer {
 public:
  RoleServer(RoleWorld& world, std::vector<std::unique_ptr<RoleServer>>& all, std::size_t index);

  // --- Faults ---
  void Start(double loading_ms = 0);
  void Crash();
  void Stop(double ms = 0);  // SIGTERM, and the process ends later: all saved, if the disk lets it
  void Skip();               // replicas have fallen too far behind
  void CutLink();
  void FillDisk();  // and it has noticed
  void Post(RoleEvent event);
  void AskFailover(FailoverRequest request);
  void SetAcks(std::size_t wanted);
  void SetLeaseOff(bool is_off);

  // --- What others ask ---
  [[nodiscard]] const RoleView& view() const { return *view_; }
  [[nodiscard]] RoleState state() const { return alive ? view_->state : RoleState::kStopping; }
  [[nodiscard]] bool AnswersPing() const;
  [[nodiscard]] bool ShowsSlave() const;
  [[nodiscard]] bool HasPriority() const;
  [[nodiscard]] std::optional<std::size_t> primary() const;
  [[nodiscard]] bool Admits() const;
  void Request();
  [[nodiscard]] std::vector<ReplicaView> Views() const;
  [[nodiscard]] ReplicaList List() const;
  [[nodiscard]] std::string run_id() const;

  const std::size_t index;
  bool alive = false;
  bool frozen = false;
  bool is_full = false;
  bool hangs = false;
  std::uint64_t life = 0;
  double skew = 0;  // of the wall clock
  double hung_until = -1e9;
  double thawed_at = -1e9;
  bool lease_is_off = false;     // CONFIG SET
  std::size_t ack_replicas = 0;  // CONFIG SET
  std::optional<SimImage> disk;
  std::optional<SimImage> backup;
  Admissions data;
  std::uint64_t offset = 0;
  std::vector<std::shared_ptr<SimLink>> replicas;
  std::shared_ptr<SimLink> link;
  std::optional<std::uint64_t> admitting;  // the reign
  std::uint64_t failover_epoch = 0;        // of a promotion by Sentinel
  double failover_at = 0;
  std::optional<std::pair<std::size_t, std::uint64_t>> yield_from;

  // --- Of links ---
  void FromReplica(SimLink& from, const SimMessage& message);
  void FromPrimary(SimLink& from, const SimMessage& message);
  void Closed(SimLink& which, int side);

 private:
  struct Parked {
    std::size_t admission;
    std::uint64_t offset;
    std::uint64_t save;
    double since;
    bool must_stay;  // all servers want the acknowledgements
  };
  struct Yielding {
    std::shared_ptr<SimLink> successor;
    double since;
    bool has_left = false;
  };

  void BeginLife(const SimImage& image, double wall);
  void Load(std::uint64_t of_life);
  void CheckStart(const SimImage& image);
  void EndStop();
  [[nodiscard]] double Own() const;
  [[nodiscard]] HostInstant OwnInstant() const;
  double FollowedTime();
  [[nodiscard]] RoleSettings Settings() const;
  [[nodiscard]] bool HasDisk() const { return world_.profile.has_disk; }
  SimImage Image();
  void PostLate(RoleEvent event);
  void Drain();
  std::vector<RoleAction> Tell(const RoleEvent& event);
  void CarryOut(const RoleAction& action);
  void OnPublish(const std::shared_ptr<const RoleView>& view);
  void OnOpen(const OpenLink& open);
  void Connect(const OpenLink& open, std::uint64_t of_life);
  void OnClose();
  void ConnectAgain(std::size_t to);
  void EndOfLink(LinkNumber number);
  RoleEvent LateEvent(LinkNumber number);
  void OnJoin();
  void OnEndHistory(const EndHistory& ending);
  void StepYield();
  void EndYield(bool has_left);
  void OnBeginHistory(const BeginHistory& begin);
  void OnAnswerSync(const AnswerSync& answer);
  std::uint64_t SaveSoon();
  void BeginSave();
  void EndSave(std::uint64_t of_life);
  void Beat();
  void Tick(std::uint64_t of_life);
  void Feed(SimLink& to);
  void FeedAll();
  void FeedPart(const std::shared_ptr<SimLink>& to, std::uint64_t of_life);
  void SendFrames(SimLink& to);
  void DropReplicas();
  void Settle();
  void Ack();
  void AddFrameTime(double time);
  void CheckTime();
  [[nodiscard]] bool MustStay() const;
  void CheckUnanswered();
  void CheckTakenBack();
  void CheckAdmission();

  RoleWorld& world_;
  std::vector<std::unique_ptr<RoleServer>>& all_;
  const double drift_;
  const double save_ms_;

  // Of one life.
  std::optional<Role> role_;
  std::shared_ptr<const RoleView> view_ = std::make_shared<const RoleView>();
  std::deque<RoleEvent> events_;
  bool is_draining_ = false;
  std::uint64_t ids_ = 0;
  double started_at_ = 0;
  double loaded_at_ = 0;
  bool was_told_early_ = false;  // while it loaded
  double switch_began_ = -1e9;   // in the time of its frames
  bool is_forced_ = false;       // FAILOVER with FORCE
  double base_ = 0;
  double shift_ = 0;
  double last_time_ = 0;
  bool has_frame_ = false;
  bool has_jumped_ = true;
  TimeShift frames_;
  double frame_time_ = 0;
  std::optional<std::pair<double, double>> mark_;
  bool is_exact_ = true;
  bool was_unclean_ = false;
  bool lacked_ = false;
  bool had_state_ = false;
  bool is_backup_ = false;
  bool is_paused_ = false;
  std::vector<std::size_t> log_;
  std::uint64_t log_begin_ = 0;
  std::vector<Parked> parked_;
  std::optional<Yielding> yielding_;
  bool may_yield_ = false;
  std::size_t successor_ = kRoleServers;
  std::map<RoleTicket, std::pair<std::shared_ptr<SimLink>, SimMessage>> asked_;
  std::uint64_t tickets_ = 0;
  double promise_ = 0;           // of own time
  LinkNumber view_link_{};       // of the last OpenLink
  std::set<LinkNumber> closed_;  // before they were connected
  std::uint64_t saves_ = 0;      // that were asked for, by the machine or for changes
  SaveNumber role_save_{};       // the last of the machine's
  std::uint64_t saves_done_ = 0;
  struct Running {
    std::uint64_t covers;
    SaveNumber save;
    SimImage image;
    std::string id;
  };
  std::optional<Running> saving_;
  bool can_save_ = true;
  std::pair<std::string, std::uint64_t> saved_offset_;
  std::uint64_t reign_term_ = 0;
  std::uint64_t ticks_ = 0;
};

}  // namespace weir
