// The lives of a server of the role simulation: what a start makes of its disk, and what an end
// leaves there.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "tests/replication/role_sim_server.h"

namespace weir {

void RoleServer::Start(double loading_ms) {
  ++life;
  alive = true;
  frozen = false;
  const SimImage image = disk.value_or(SimImage{.is_clean = true});
  BeginLife(image, world_.now + skew);
  role_.emplace(Settings(),
                absl::StrCat(absl::Hex(life, absl::kZeroPad16), absl::Hex(index, absl::kZeroPad16),
                             absl::Hex(ids_++ % 256, absl::kZeroPad8)));
  view_ = role_->view();
  if (loading_ms > 0) {
    world_.At(loading_ms, [this, of_life = life] { Load(of_life); });
  } else {
    Load(life);
  }
  world_.At(1, [this, of_life = life] { Tick(of_life); });
}

// The state on disk has been read.
void RoleServer::Load(std::uint64_t of_life) {
  if (of_life != life || !alive) return;
  if (frozen) {
    world_.At(60, [this, of_life] { Load(of_life); });
    return;
  }
  const SimImage image = disk.value_or(SimImage{.is_clean = true});
  StateLoaded loaded = {.is_clean = image.is_clean,
                        .is_backup = image.is_backup && !world_.Has(RoleBug::kRestoredRole),
                        .has_buckets = data.any() || world_.Has(RoleBug::kEmptyGate)};
  if (disk) loaded.record = image.record;
  if (world_.Has(RoleBug::kLacksForgotten) && image.is_clean && loaded.record) {
    loaded.record->lacks = false;
  }
  if (disk) disk->is_clean = false;
  loaded_at_ = world_.now;
  saved_offset_ = {image.record.id, offset};
  is_exact_ = !disk || !image.record.is_replica || !image.record.id.empty();
  const std::vector<RoleAction> actions = Tell(loaded);
  const double wall = world_.now + skew;
  const bool starts_as_replica = IsReplica(role_->view()->state);
  if (starts_as_replica) {
    // Until the primary says more, no time passes for what was loaded.
    if (image.time > 0) shift_ = image.time - Own();
  } else if (image.is_clean && !image.is_backup) {
    has_jumped_ = false;
    const bool is_shifted = image.shift != 0 && !world_.Has(RoleBug::kShiftLost);
    if (is_shifted) shift_ = std::max(wall + image.shift, image.time) - Own();
  } else if (!image.is_clean) {
    world_.jumped_at = world_.now;
  }
  CheckStart(image);
  for (const RoleAction& action : actions) CarryOut(action);
  Drain();
}

void RoleServer::CheckStart(const SimImage& image) {
  const RoleView& loaded = *role_->view();
  lacked_ = loaded.record.lacks || was_unclean_;
  had_state_ = loaded.is_complete && (image.record.term > 0 || data.any());
  if (was_told_early_) {
    // An operator may make a server the primary that lacks something.
    const bool has_all = had_state_ && !lacked_ && !image.record.id.empty();
    if (!has_all) world_.is_excused = true;
  } else if (image.is_backup && index != 0 && loaded.state != RoleState::kFollowing) {
    world_.Fail("R17: a backup brought its role");
  }
}

// Everything of the life before is gone but the disk.
void RoleServer::BeginLife(const SimImage& image, double wall) {
  started_at_ = world_.now;
  base_ = std::max(wall, image.time);
  shift_ = 0;
  last_time_ = 0;
  has_frame_ = false;
  has_jumped_ = true;
  frames_.Clear();
  frame_time_ = 0;
  data = image.data;
  offset = image.offset;
  mark_ = image.mark;
  was_unclean_ = !image.is_clean;
  is_backup_ = image.is_backup;
  is_paused_ = false;
  log_.clear();
  log_begin_ = offset;
  replicas.clear();
  link.reset();
  parked_.clear();
  yielding_.reset();
  asked_.clear();
  admitting.reset();
  lease_is_off = false;
  ack_replicas = world_.profile.ack_replicas;
  loaded_at_ = world_.now;
  was_told_early_ = false;
  switch_began_ = -1e9;
  is_forced_ = false;
  promise_ = 0;
  saves_ = saves_done_ = 0;
  role_save_ = SaveNumber{};
  saving_.reset();
  can_save_ = true;
  failover_epoch = 0;
  yield_from.reset();
  successor_ = kRoleServers;
  closed_.clear();
  events_.clear();
  is_draining_ = false;
  ids_ = 0;
}

void RoleServer::Crash() {
  if (!alive) return;
  alive = false;
  ++life;
  ack_replicas = world_.profile.ack_replicas;
  admitting.reset();
  for (const auto& replica : replicas) {
    if (world_.Chance(.7)) replica->Close(1);
    replica->Cut();
  }
  if (link) {
    if (world_.Chance(.7)) link->Close(0);
    link->Cut();
  }
  replicas.clear();
  link.reset();
}

void RoleServer::Stop(double ms) {
  if (!alive || frozen) return;
  if (state() == RoleState::kServing) FeedAll();
  Post(StopAsked{});
  if (ms == 0) return EndStop();
  world_.At(ms, [this, of_life = life] {
    if (of_life == life) EndStop();
  });
}

void RoleServer::EndStop() {
  if (!view_->keeps_record && !is_full && !hangs && HasDisk()) {
    disk = Image();
    disk->is_clean = true;
  }
  Crash();
}

SimImage RoleServer::Image() {
  SimImage image = {.record = view_->record,
                    .data = data,
                    .offset = offset,
                    .time = FollowedTime(),
                    .shift = view_->record.is_replica ? 0 : shift_,
                    .mark = mark_,
                    .is_clean = false,
                    .is_backup = is_backup_};
  image.record.offset = offset;
  if (view_->record.is_replica && !is_exact_) image.record.ForgetId();
  return image;
}

}  // namespace weir
