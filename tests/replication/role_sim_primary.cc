// A server of the role simulation as a primary: admissions and their laws, and its replicas.
#include <algorithm>
#include <utility>

#include "tests/replication/role_sim_server.h"

namespace weir {
namespace {

using What = SimMessage::What;

constexpr double kYieldMs = 800;

}  // namespace

// --- A primary -----------------------------------------------------------------------------------

bool RoleServer::Admits() const {
  const RoleProfile& profile = world_.profile;
  if (!alive || frozen || is_paused_ || !admitting || state() != RoleState::kServing) return false;
  if (profile.is_always && !can_save_) return false;
  const double time = std::max(last_time_, Own() + shift_);
  const auto there = static_cast<std::size_t>(std::ranges::count_if(
      replicas, [&](const auto& to) { return to->is_synced && to->echo + kSimLeaseMs > time; }));
  if (profile.lease_replicas > there && !lease_is_off) return false;
  return there >= ack_replicas;
}

void RoleServer::Request() {
  if (!Admits() || world_.admitted + 2 > Admissions{}.size()) return;
  const std::size_t admission = world_.admitted++;
  data.set(admission);
  ++offset;
  log_.push_back(admission);
  CheckTime();
  mark_ = {world_.now, FollowedTime()};
  CheckAdmission();
  const std::uint64_t save = world_.profile.is_always ? SaveSoon() : 0;
  parked_.push_back({.admission = admission,
                     .offset = offset,
                     .save = save,
                     .since = world_.now,
                     .must_stay = MustStay()});
  Settle();
  world_.At(world_.Pick({1.0, 2.0, 10.0}), [this, of_life = life] {
    if (of_life == life && alive) FeedAll();
  });
}

// Whether no server was told to need fewer acknowledgements.
bool RoleServer::MustStay() const {
  const RoleProfile& profile = world_.profile;
  if (profile.kind == RoleProfile::Kind::kQuick) return true;
  return profile.ack_replicas > 0 && !world_.is_excused &&
         std::ranges::none_of(
             all_, [&](const auto& server) { return server->ack_replicas < profile.ack_replicas; });
}

void RoleServer::Settle() {
  const RoleProfile& profile = world_.profile;
  std::vector<Parked> rest;
  for (const Parked& reply : parked_) {
    const auto acks = static_cast<std::size_t>(std::ranges::count_if(
        replicas, [&](const auto& to) { return to->is_synced && to->acked >= reply.offset; }));
    const bool waits_for_disk =
        profile.is_always && HasDisk() && (saves_done_ < reply.save || !can_save_);
    if (acks < ack_replicas || waits_for_disk) {
      if (world_.now - reply.since < 400) rest.push_back(reply);
      continue;
    }
    if (reply.must_stay && MustStay()) {
      if (admitting && (world_.kept & ~data).any()) {
        world_.Fail("R5, R14: forgot an answered admission");
      }
      world_.kept.set(reply.admission);
    }
    world_.answered.set(reply.admission);
  }
  parked_ = std::move(rest);
}

void RoleServer::CheckAdmission() {
  const RoleProfile& profile = world_.profile;
  const bool is_well = can_save_ && world_.now > hung_until && world_.now - thawed_at > 1500;
  const std::uint64_t on_disk = disk ? disk->record.term : 0;
  if (HasDisk() && is_well && on_disk < reign_term_) {
    world_.Fail("R7: admits in a term that is not on its disk");
  }
  if (*admitting == world_.last_reign) return;
  const bool is_over = world_.old_reigns.contains(*admitting);
  const bool both_admit = std::ranges::any_of(all_, [&](const auto& other) {
    return other->alive && other->admitting == world_.last_reign;
  });
  const bool has_lease = profile.lease_replicas > 0 && !lease_is_off && both_admit;
  if (is_over && (has_lease || profile.kind == RoleProfile::Kind::kAlone)) {
    world_.Fail("R6: two servers admit in turns");
  }
  // One that was told to need no replica may go on beside a newer one.
  if (!lease_is_off || *admitting > world_.last_reign) world_.old_reigns.insert(world_.last_reign);
  world_.last_reign = *admitting;
}

// R19: a primary that hears a replica answers it within its second.
void RoleServer::CheckUnanswered() {
  if (!link) return;
  const RoleServer& primary = link->end(1);
  const bool was_there = primary.alive && !primary.frozen && link->is_open(1) &&
                         primary.state() == RoleState::kServing &&
                         world_.now - std::max(thawed_at, primary.thawed_at) > 1500;
  if (was_there && !world_.WasBlocked(index, primary.index, 1500)) {
    world_.Fail("R19: a takeover was not answered");
  }
}

// R9: a role is taken back only from a successor that has not taken it, and will not.
void RoleServer::CheckTakenBack() {
  if (successor_ == kRoleServers) return;
  const RoleServer& successor = *all_.at(successor_);
  const bool has_taken =
      (successor.state() == RoleState::kSaving || successor.state() == RoleState::kServing) &&
      successor.yield_from == std::pair(index, life);
  if (successor.state() == RoleState::kAsking || has_taken) {
    world_.Fail("R9: took the role back from a successor that has it");
  }
}

// R13, of the time between the last admission that this server knows of and now.
void RoleServer::CheckTime() {
  if (!mark_) return;
  const double gone = world_.now - mark_->first;
  const double passed = FollowedTime() - mark_->second;
  double low = 0;
  double high = 0;
  for (const auto& server : all_) {
    low = std::min(low, server->skew);
    high = std::max(high, server->skew);
  }
  if (passed < 0) world_.Fail("R13: the time went back");
  if (passed < gone * .998 - 8000 - (high - low)) world_.Fail("R13: the time has lost too much");
  const bool has_jumped = world_.jumped_at >= mark_->first;
  const double won = has_jumped ? high - low : 0;
  // A restart to the wall's time wins back what a replica's time had lost before.
  const bool is_wall = has_jumped && FollowedTime() <= world_.now + high + 500;
  if (passed > gone * 1.002 + 500 + won && !is_wall) {
    world_.Fail("R13: the time has won too much");
  }
}

void RoleServer::SendFrames(SimLink& to) {
  const auto from = static_cast<std::ptrdiff_t>(to.cursor - log_begin_);
  to.Send(1, {.what = What::kFrame,
              .offset = to.cursor,
              .admissions = {log_.begin() + from, log_.end()},
              .time = FollowedTime(),
              .mark = mark_});
  to.cursor = offset;
}

void RoleServer::Feed(SimLink& to) {
  if (!to.is_joined || to.cursor < log_begin_) return;
  if (to.cursor < offset) SendFrames(to);
  if (to.is_fed) return;
  to.is_fed = true;
  if (to.parts.empty()) {
    ++to.syncs_sent;
    to.Send(1, {.what = What::kSynced, .time = FollowedTime(), .mark = mark_});
    return;
  }
  world_.At(world_.Pick({5.0, 30.0, 300.0}),
            [this, of_life = life, link = to.shared_from_this()] { FeedPart(link, of_life); });
}

void RoleServer::FeedPart(const std::shared_ptr<SimLink>& to, std::uint64_t of_life) {
  if (of_life != life || !to->is_open(1) || std::ranges::count(replicas, to) == 0) return;
  if (frozen) {
    world_.At(100, [this, of_life, to] { FeedPart(to, of_life); });
    return;
  }
  if (to->cursor < offset) SendFrames(*to);
  const int part = to->parts.back();
  to->parts.pop_back();
  Admissions of_part;
  for (std::size_t i = 0; i < data.size(); ++i) of_part[i] = data[i] && IsOfPart(i, part);
  to->Send(
      1,
      {.what = What::kPart, .data = of_part, .part = part, .time = FollowedTime(), .mark = mark_});
  to->is_fed = false;
  Feed(*to);
}

void RoleServer::FeedAll() {
  if (frozen) {
    world_.At(100, [this, of_life = life] {
      if (of_life == life && alive) FeedAll();
    });
    return;
  }
  for (const auto& replica : std::vector(replicas)) Feed(*replica);
  StepYield();
}

void RoleServer::Skip() {
  for (const auto& replica : replicas) {
    if (!replica->is_joined || !replica->is_fed || !replica->parts.empty()) continue;
    replica->cursor = offset;
    replica->is_synced = false;
    replica->is_fed = false;
    replica->parts = {0, 1};
    replica->Send(1, {.what = What::kSkip, .offset = offset, .time = FollowedTime()});
    Feed(*replica);
  }
}

void RoleServer::DropReplicas() {
  for (const auto& replica : replicas) replica->Close(1);
  replicas.clear();
  parked_.clear();
}

// --- The ends of a history -----------------------------------------------------------------------

void RoleServer::OnEndHistory(const EndHistory& ending) {
  admitting.reset();
  FeedAll();
  if (ending.successor.empty()) {
    DropReplicas();
    world_.At(world_.Pick({0.0, 1.0, 20.0, 100.0}), [this, of_life = life] {
      if (of_life == life) Post(HistoryEnded{.head = offset});
    });
    return;
  }
  const auto successor = std::ranges::find(replicas, ending.successor,
                                           [](const auto& to) { return to->end(0).run_id(); });
  yielding_ = Yielding{.successor = successor == replicas.end() ? nullptr : *successor,
                       .since = world_.now};
  if (yielding_->successor) successor_ = yielding_->successor->end(0).index;
  may_yield_ = world_.Has(RoleBug::kYieldUnsaved);
  const bool is_forced = std::exchange(is_forced_, false);
  if (yielding_->successor && !yielding_->successor->can_save && !is_forced) {
    world_.Fail("R18: a switch to a server that had said that it cannot save");
  }
  StepYield();
}

void RoleServer::StepYield() {
  if (!yielding_) return;
  const double late = world_.now - yielding_->since;
  const std::shared_ptr<SimLink> successor = yielding_->successor;
  const bool is_there = successor && successor->is_open(1);
  const bool is_level =
      is_there && successor->is_fed && successor->parts.empty() && successor->cursor == offset;
  if (is_level && !yielding_->has_left && may_yield_ &&
      ((successor->acked >= offset && parked_.empty()) || late > kYieldMs / 2)) {
    yielding_->has_left = true;
    successor->Send(1, {.what = What::kYield,
                        .term = view_->record.term,
                        .offset = offset,
                        .data = data,
                        .time = FollowedTime(),
                        .server = index,
                        .life = life});
  }
  if (!is_there || late > kYieldMs) EndYield(yielding_->has_left);
}

void RoleServer::EndYield(bool has_left) {
  yielding_.reset();
  DropReplicas();
  is_exact_ = true;
  // A list of actions may be under way.
  world_.At(0, [this, of_life = life, has_left] {
    if (of_life == life) Post(HistoryEnded{.head = offset, .has_yielded = has_left});
  });
}

void RoleServer::OnBeginHistory(const BeginHistory& begin) {
  log_.clear();
  log_begin_ = offset;
  if (!begin.is_promotion) return;
  if (!has_frame_ && !world_.Has(RoleBug::kShiftDisk)) shift_ = std::max(shift_, 0.0);
  has_jumped_ = !has_frame_;
  is_exact_ = true;
  DropReplicas();
}

// --- Questions of replicas -----------------------------------------------------------------------

void RoleServer::FromReplica(SimLink& from, const SimMessage& message) {
  const std::shared_ptr<SimLink> shared = from.shared_from_this();
  from.heard[1] = Own();
  bool was_synced = false;
  switch (message.what) {
    case What::kSync: {
      const RoleTicket ticket{++tickets_};
      asked_[ticket] = {shared, message};
      const bool was_deposed = state() == RoleState::kDeposed;
      Post(SyncAsked{
          .ticket = ticket,
          .run_id = from.end(0).run_id(),
          .is_at_primary = primary() == from.end(0).index || world_.Has(RoleBug::kDeclinesAny),
          .term = message.term,
          .id = message.id,
          .offset = message.offset,
          .has_our_secret = true,
          .connected_at = HostOf(from.accepted_at),
          .was_told = message.flag,
          .head = offset,
          .has_state = data.any()});
      if (!message.is_whole && !was_deposed && state() == RoleState::kDeposed) {
        world_.Fail("R15: a server without a whole state has deposed a primary");
      }
      return;
    }
    case What::kAck:
      if (std::ranges::count(replicas, shared) == 0) return;
      from.acked = std::max(from.acked, message.offset);
      was_synced = std::exchange(from.is_synced,
                                 message.flag && from.is_fed && message.syncs == from.syncs_sent);
      from.can_save = message.can_save;
      if (from.is_synced) {
        const double echo = world_.Has(RoleBug::kLeaseFromReceipt) ? FollowedTime() : message.time;
        from.echo = std::max(from.echo, echo);
        if (!was_synced) PostLate(ReplicaInSync{});
      }
      Settle();
      StepYield();
      return;
    case What::kTakeover: {
      const double age = world_.Has(RoleBug::kOldYield) ? 0 : FollowedTime() - message.time;
      // Of another thread: the role may be another one meanwhile.
      world_.At(world_.Pick({0.0, 0.0, 1.0, 300.0}),
                [this, of_life = life, age, run_id = from.end(0).run_id()] {
                  if (of_life != life) return;
                  Post(TakeoverAsked{.run_id = run_id, .age = NanosOf(age), .replicas = List()});
                });
      return;
    }
    default:
      return;
  }
}

void RoleServer::OnAnswerSync(const AnswerSync& answer) {
  const auto found = asked_.find(answer.ticket);
  if (found == asked_.end()) return;  // a stranger's
  const auto [to, question] = found->second;
  asked_.erase(found);
  if (answer.what != AnswerSync::What::kAccepted) {
    SimMessage reply = {.what = What::kError};
    if (answer.what == AnswerSync::What::kOtherGroup) reply.what = What::kOtherGroup;
    if (answer.what == AnswerSync::What::kReferral) {
      reply.what = What::kReferral;
      reply.server = ServerAt(answer.primary);
    }
    to->Send(1, std::move(reply));
    return;
  }
  for (const auto& old : std::vector(replicas)) {
    if (&old->end(0) != &to->end(0)) continue;
    old->Close(1);
    std::erase(replicas, old);
  }
  std::optional<std::uint64_t> common = answer.common;
  // Admissions beyond the common part are not of this history: the replica gets a copy.
  const bool goes_on = common == question.offset && *common >= log_begin_ && *common <= offset;
  if (!goes_on) common.reset();
  to->is_joined = true;
  to->cursor = common.value_or(offset);
  to->acked = 0;
  if (!common) to->parts = {0, 1};
  replicas.push_back(to);
  to->Send(1, {.what = What::kOk,
               .term = view_->record.term,
               .id = view_->record.id,
               .offset = offset,
               .common = common});
  to->Send(1, {.what = What::kHeartbeat, .time = FollowedTime()});
  Feed(*to);
}

}  // namespace weir
