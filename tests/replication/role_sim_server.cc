// A life: clocks, the machine's actions, saves.
#include "tests/replication/role_sim_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/id_type.h"

namespace weir {
namespace {

using What = SimMessage::What;

constexpr double kHeartbeatMs = 600;
constexpr double kTimeoutMs = 5000;
constexpr double kGateMs = 25000;

}  // namespace

// --- Clocks --------------------------------------------------------------------------------------

RoleServer::RoleServer(RoleWorld& world, std::vector<std::unique_ptr<RoleServer>>& all,
                       std::size_t server_index)
    : index(server_index),
      world_(world),
      all_(all),
      drift_(world.Between(-4e-4, 4e-4)),
      save_ms_(world.Pick({4.0, 10.0, 40.0, 250.0})) {}

double RoleServer::Own() const { return base_ + (world_.now - started_at_) * (1 + drift_); }
HostInstant RoleServer::OwnInstant() const { return HostOf(Own()); }

double RoleServer::FollowedTime() {
  last_time_ = std::max(last_time_, Own() + shift_);
  return last_time_;
}

std::string RoleServer::run_id() const { return absl::StrCat(index, ".", life); }

// --- A life --------------------------------------------------------------------------------------

RoleSettings RoleServer::Settings() const {
  const RoleProfile& profile = world_.profile;
  RoleSettings settings;
  if (index != 0) settings.replicaof = SimAddress(0);
  settings.has_disk = profile.has_disk;
  settings.is_always = profile.is_always;
  if (world_.Has(RoleBug::kGateRefusesAlways)) settings.is_always = false;
  settings.is_watched = profile.kind != RoleProfile::Kind::kAlone;
  settings.sentinel_wait = NanosOf(kGateMs);
  if (profile.lease_replicas > 0 && !lease_is_off) settings.lease = NanosOf(kSimLeaseMs);
  if (!world_.Has(RoleBug::kUntrustedPromotes)) settings.ack_replicas = ack_replicas;
  return settings;
}

void RoleServer::Post(RoleEvent event) {
  if (!alive) return;
  if (frozen) {
    world_.At(60, [this, of_life = life, event = std::move(event)] {
      if (of_life == life) Post(event);
    });
    return;
  }
  const bool is_command =
      std::holds_alternative<FollowAsked>(event) || std::holds_alternative<NoOneAsked>(event);
  was_told_early_ = was_told_early_ || (is_command && state() == RoleState::kLoading);
  events_.push_back(std::move(event));
  Drain();
}

// Of another thread: the role may be another one meanwhile.
void RoleServer::PostLate(RoleEvent event) {
  const double ms = world_.Pick({0.0, 0.0, 0.0, 1.0, 30.0, 300.0});
  if (ms == 0) return Post(std::move(event));
  world_.At(ms, [this, of_life = life, event = std::move(event)] {
    if (of_life == life) Post(event);
  });
}

void RoleServer::Drain() {
  if (is_draining_) return;
  is_draining_ = true;
  while (!events_.empty()) {
    const RoleEvent event = std::move(events_.front());
    events_.pop_front();
    for (const RoleAction& action : Tell(event)) CarryOut(action);
  }
  is_draining_ = false;
}

// What the machine wants done.
std::vector<RoleAction> RoleServer::Tell(const RoleEvent& event) {
  const std::shared_ptr<const RoleView> before = role_->view();
  std::vector<RoleAction> actions;
  role_->On(event, OwnInstant(), actions);
  world_.coverage.Note(*before, event, *role_->view(), actions);
  if (role_->needs_id()) {
    role_->set_next_id(absl::StrCat(absl::Hex(life, absl::kZeroPad16),
                                    absl::Hex(world_.steps, absl::kZeroPad16),
                                    absl::Hex(index * 256 + ids_++ % 256, absl::kZeroPad8)));
  }
  return actions;
}

void RoleServer::CarryOut(const RoleAction& action) {
  world_.Note(index, *view_, action);
  const auto carry_out = [this](const auto& what) {
    using Action = std::decay_t<decltype(what)>;
    if constexpr (std::is_same_v<Action, PublishView>) {
      OnPublish(what.view);
    } else if constexpr (std::is_same_v<Action, EndWaits>) {
      parked_.clear();
    } else if constexpr (std::is_same_v<Action, PauseChanges>) {
      is_paused_ = true;
    } else if constexpr (std::is_same_v<Action, ResumeChanges>) {
      is_paused_ = false;
    } else if constexpr (std::is_same_v<Action, EndHistory>) {
      OnEndHistory(what);
    } else if constexpr (std::is_same_v<Action, LetYieldLeave>) {
      may_yield_ = true;
      StepYield();
    } else if constexpr (std::is_same_v<Action, EndReplicaLinks>) {
      DropReplicas();
    } else if constexpr (std::is_same_v<Action, BeginHistory>) {
      OnBeginHistory(what);
    } else if constexpr (std::is_same_v<Action, OpenLink>) {
      OnOpen(what);
    } else if constexpr (std::is_same_v<Action, CloseLink>) {
      OnClose();
    } else if constexpr (std::is_same_v<Action, JoinHistory>) {
      OnJoin();
    } else if constexpr (std::is_same_v<Action, AskTakeover>) {
      if (link) link->Send(0, {.what = What::kTakeover, .time = frame_time_});
    } else if constexpr (std::is_same_v<Action, RefuseTakeover>) {
      for (const auto& replica : replicas) {
        if (replica->end(0).run_id() == what.run_id && !world_.Has(RoleBug::kSilentRefusal)) {
          replica->Send(1, {.what = What::kRefuse});
        }
      }
    } else if constexpr (std::is_same_v<Action, LookAtReplicas>) {
      world_.At(world_.Pick({0.0, 0.0, 1.0}), [this, of_life = life] {
        if (of_life == life) Post(ReplicasSeen{List()});
      });
    } else if constexpr (std::is_same_v<Action, SaveRecord>) {
      role_save_ = what.save;
      static_cast<void>(SaveSoon());
    } else if constexpr (std::is_same_v<Action, RemoveBackupMark>) {
      is_backup_ = false;
      if (disk) disk->is_backup = false;
    } else if constexpr (std::is_same_v<Action, AnswerSync>) {
      OnAnswerSync(what);
    } else if constexpr (std::is_same_v<Action, Remark>) {
      const bool ends_by_time =
          what.what == Remark::What::kTrustedAgain || what.what == Remark::What::kNobodyHadAState;
      if (ends_by_time && (lacked_ || !had_state_)) world_.is_excused = true;
      if (what.what == Remark::What::kNotYielded) CheckUnanswered();
      if (what.what == Remark::What::kTakesBack) CheckTakenBack();
    }
  };
  std::visit(carry_out, action);
}

void RoleServer::OnPublish(const std::shared_ptr<const RoleView>& view) {
  const RoleState before = view_->state;
  view_ = view;
  if (view_->state != RoleState::kServing) {
    admitting.reset();
    if (view_->state != RoleState::kSaving && view_->state != RoleState::kWaiting) {
      lease_is_off = false;
    }
    if (view_->state == RoleState::kDeposed && before == RoleState::kGated) return;
    return;
  }
  if (before == RoleState::kServing) return;
  admitting = ++world_.reigns;
  reign_term_ = view_->record.term;
  if (has_jumped_) world_.jumped_at = world_.now;
  const bool opened_by_time = before == RoleState::kGated && Own() - base_ >= kGateMs - 1;
  if (opened_by_time && (lacked_ || !had_state_)) world_.is_excused = true;
  // The page says that a primary which starts again from its own disk may forget.
  const bool starts_alone = world_.profile.kind == RoleProfile::Kind::kAlone && was_unclean_ &&
                            !world_.profile.is_always && world_.now - loaded_at_ < 1;
  if (starts_alone) world_.is_excused = true;
}

// --- What others ask -----------------------------------------------------------------------------

bool RoleServer::AnswersPing() const {
  return state() != RoleState::kDeposed && view_->ping_refusal == PingRefusal::kNone &&
         (view_->is_complete || !IsReplica(view_->state));
}

bool RoleServer::HasPriority() const {
  const bool is_empty = !view_->is_complete && world_.Has(RoleBug::kEmptyPromotes);
  return !view_->has_priority_zero || is_empty;
}

bool RoleServer::ShowsSlave() const {
  return IsReplica(state()) || (state() == RoleState::kGated && !view_->is_complete);
}

std::optional<std::size_t> RoleServer::primary() const {
  if (view_->record.primary.host.empty()) return std::nullopt;
  return ServerAt(view_->record.primary);
}

std::vector<ReplicaView> RoleServer::Views() const {
  std::vector<ReplicaView> views;
  for (const auto& replica : replicas) {
    views.push_back({.run_id = replica->end(0).run_id(),
                     .address = SimAddress(replica->end(0).index),
                     .is_online = replica->is_synced,
                     .is_synced = replica->is_synced,
                     .cannot_save = !replica->can_save && !world_.Has(RoleBug::kSwitchToFullDisk),
                     .is_there = replica->echo >= switch_began_,
                     .offset = replica->acked * kSimAdmissionBytes});
  }
  return views;
}

ReplicaList RoleServer::List() const {
  return {.all = Views(), .head = offset * kSimAdmissionBytes};
}

void RoleServer::AskFailover(FailoverRequest request) {
  switch_began_ = FollowedTime();
  is_forced_ = request.force;
  Beat();
  Post(FailoverAsked{.request = std::move(request), .replicas = List()});
}

// CONFIG SET ack-replicas.
void RoleServer::SetAcks(std::size_t wanted) {
  ack_replicas = wanted;
  // It may be promoted although it lacks what it has acknowledged.
  if (view_->record.lacks && wanted < world_.profile.ack_replicas) world_.is_excused = true;
  Post(SettingsChanged{Settings()});
}

// CONFIG SET min-replicas-to-write, until its role changes.
void RoleServer::SetLeaseOff(bool is_off) {
  lease_is_off = is_off;
  Post(SettingsChanged{Settings()});
}

// --- Saves ---------------------------------------------------------------------------------------

// Returns the number of a save that has everything up to now.
std::uint64_t RoleServer::SaveSoon() {
  ++saves_;
  BeginSave();
  return saves_;
}

void RoleServer::BeginSave() {
  if (!alive || saving_ || saves_done_ >= saves_ || !HasDisk()) return;
  if (state() == RoleState::kLoading || view_->keeps_record) return;
  saving_ = Running{.covers = saves_, .save = role_save_, .image = Image(), .id = view_->record.id};
  if (world_.Has(RoleBug::kTermUnsaved)) {
    events_.push_back(RecordSaved{.save = SaveNumber{0}, .term = view_->record.term});
    if (!is_draining_) Drain();
  }
  world_.At(world_.Between(.5, 1) * save_ms_, [this, of_life = life] { EndSave(of_life); });
}

void RoleServer::EndSave(std::uint64_t of_life) {
  if (of_life != life || !alive) return;
  if (hangs || frozen) {
    world_.At(100, [this, of_life] { EndSave(of_life); });
    return;
  }
  const Running done = *std::exchange(saving_, std::nullopt);
  if (is_full) {
    can_save_ = false;
    world_.At(1000, [this, of_life] {
      if (of_life == life) BeginSave();
    });
    return Post(RecordSaveFailed{done.save});
  }
  saves_done_ = done.covers;
  can_save_ = true;
  const bool keeps_mark = is_backup_;
  disk = done.image;
  disk->is_backup = keeps_mark;
  saved_offset_ = {done.id, done.image.offset};
  Post(RecordSaved{.save = done.save, .term = done.image.record.term});
  Settle();
  if (link) Ack();
  BeginSave();
}

// --- Time ----------------------------------------------------------------------------------------

void RoleServer::FillDisk() {
  is_full = true;
  can_save_ = false;
  Post(RecordSaveFailed{role_save_});
}

void RoleServer::Beat() {
  for (const auto& replica : std::vector(replicas)) {
    if (Own() - replica->heard[1] > kTimeoutMs) {
      replica->Close(1);
      std::erase(replicas, replica);
    } else {
      replica->Send(1, {.what = What::kHeartbeat, .time = FollowedTime()});
    }
  }
}

void RoleServer::Tick(std::uint64_t of_life) {
  if (of_life != life || !alive) return;
  world_.At(20, [this, of_life] { Tick(of_life); });
  if (frozen) return;
  ++ticks_;
  if (ticks_ % static_cast<std::uint64_t>(kHeartbeatMs / 20) == 0) Beat();
  if (ticks_ % 50 == 0) static_cast<void>(SaveSoon());
  if (link && Own() - link->heard[0] > kTimeoutMs) CutLink();
  const bool is_lost = world_.Has(RoleBug::kSharedDeadline) &&
                       view_->ping_refusal == PingRefusal::kHandedOver &&
                       (state() == RoleState::kAsking || state() == RoleState::kSaving);
  // The timer of a deadline that is gone may come, too.
  if (ticks_ % 40 == 0 && !is_lost) Post(DeadlineCame{});
  if (OwnInstant() >= role_->wakes_at() && !is_lost) {
    Post(DeadlineCame{});
    if (alive && OwnInstant() >= role_->wakes_at()) world_.Fail("a deadline is never met");
  }
  Settle();
  StepYield();
}

}  // namespace weir
