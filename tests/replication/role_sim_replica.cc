// A server of the role simulation as a replica: its link, and what it acknowledges.
#include <algorithm>
#include <utility>

#include "tests/replication/role_sim_server.h"

namespace weir {
namespace {

using What = SimMessage::What;

}  // namespace

// --- A replica -----------------------------------------------------------------------------------

void RoleServer::OnOpen(const OpenLink& open) {
  view_link_ = open.link;
  world_.At(world_.Pick({1.0, 3.0}), [this, of_life = life, open] { Connect(open, of_life); });
}

void RoleServer::Connect(const OpenLink& open, std::uint64_t of_life) {
  if (of_life != life || !alive) return;
  if (frozen) {
    world_.At(60, [this, of_life, open] { Connect(open, of_life); });
    return;
  }
  RoleServer& to = *all_.at(ServerAt(open.primary));
  const bool reaches = &to != this && to.alive && !world_.IsBlocked(index, to.index) &&
                       !world_.IsBlocked(to.index, index);
  if (!reaches) return EndOfLink(open.link);
  if (closed_.contains(open.link)) return EndOfLink(open.link);
  link = std::make_shared<SimLink>(world_, *this, to);
  link->number = open.link;
  link->heard = {Own(), to.Own()};
  link->accepted_at = to.Own();
  const History& record = view_->record;
  const bool is_state = is_exact_ || world_.Has(RoleBug::kPartialHistory);
  const bool has_history = !record.id.empty() && is_state;
  const bool claims = open.claims || world_.Has(RoleBug::kClaimWithoutState);
  link->Send(0, {.what = What::kSync,
                 .term = claims ? record.term : 0,
                 .id = has_history ? record.id : "",
                 .offset = has_history ? offset : 0,
                 .flag = record.joins_any,
                 .is_whole = view_->is_complete && is_exact_});
}

// The connection is gone, or was never there.
void RoleServer::EndOfLink(LinkNumber number) {
  if (link && state() == RoleState::kAsking && world_.Has(RoleBug::kAskerReconnects)) {
    ConnectAgain(link->end(1).index);
  }
  link.reset();
  const bool lies = world_.Has(RoleBug::kPartialHistory);
  Post(LinkLost{number});
  Post(LinkEnded{
      .link = number,
      .offset = offset,
      .is_exact = is_exact_ || lies,
      .promised_until = world_.Has(RoleBug::kNoLeaseWait) ? HostInstant{} : HostOf(promise_)});
}

// A link that the machine has not asked for. It hears no answer.
void RoleServer::ConnectAgain(std::size_t to) {
  world_.At(100, [this, of_life = life, to] {
    if (of_life != life || !alive || state() != RoleState::kAsking) return;
    const auto again = std::make_shared<SimLink>(world_, *this, *all_.at(to));
    again->accepted_at = all_.at(to)->Own();
    again->Send(0, {.what = What::kSync, .id = view_->record.id, .offset = offset});
  });
}

void RoleServer::OnClose() {
  if (!link) {
    closed_.insert(view_link_);
    return;
  }
  const LinkNumber number = link->number;
  link->Close(0);
  link.reset();
  if (world_.Chance(.1)) events_.push_back(LateEvent(number));
  world_.At(world_.Pick({0.0, 0.0, 1.0, 1.0, 20.0, 200.0}), [this, of_life = life, number] {
    if (of_life == life) EndOfLink(number);
  });
}

// Posts events as the thread of a link does before it has heard of the end.
RoleEvent RoleServer::LateEvent(LinkNumber number) {
  switch (world_.Below(6)) {
    case 0:
      return LinkUp{.link = number, .is_exact = true};
    case 1:
      return LinkSynced{number};
    case 2:
      return LinkLacks{number};
    case 3:
      return YieldCame{.link = number, .term = view_->record.term, .offset = 1, .is_exact = true};
    case 4:
      return RefuseCame{number};
    default:
      return SyncAnswered{.link = number,
                          .what = SyncAnswered::What::kAccepted,
                          .term = view_->record.term + 1,
                          .id = std::string(kHistoryIdBytes, 'e')};
  }
}

void RoleServer::CutLink() {
  if (!link) return;
  const LinkNumber number = link->number;
  link->Close(0);
  EndOfLink(number);
}

void RoleServer::Closed(SimLink& which, int side) {
  const std::shared_ptr<SimLink> shared = which.shared_from_this();
  if (side == 1) {
    if (!(yielding_ && yielding_->successor == shared)) std::erase(replicas, shared);
    return StepYield();
  }
  if (link == shared) EndOfLink(which.number);
}

void RoleServer::OnJoin() {
  if (!link || !link->accepted) return;
  const SimMessage ok = *std::exchange(link->accepted, std::nullopt);
  if (!ok.common) {
    is_exact_ = false;
    offset = ok.offset;
  }
  link->is_joined = true;
  frames_.Clear();
  events_.push_back(LinkUp{.link = link->number, .is_exact = is_exact_});
}

void RoleServer::AddFrameTime(double time) {
  // The time of another primary may be an earlier one.
  if (frames_.empty()) last_time_ = 0;
  frame_time_ = time;
  has_frame_ = true;
  frames_.Add(Instant{NanosOf(time)}, OwnInstant());
  shift_ = static_cast<double>(frames_.At(OwnInstant()).count()) / 1e6;
}

void RoleServer::FromPrimary(SimLink& from, const SimMessage& message) {
  if (link.get() != &from) return;
  from.heard[0] = Own();
  const LinkNumber number = from.number;
  switch (message.what) {
    case What::kError:
      return Post(SyncAnswered{.link = number});
    case What::kOtherGroup:
      return Post(SyncAnswered{.link = number, .what = SyncAnswered::What::kOtherGroup});
    case What::kReferral:
      if (message.server == index) return Post(SyncAnswered{.link = number});
      return Post(SyncAnswered{.link = number,
                               .what = SyncAnswered::What::kReferral,
                               .address = SimAddress(message.server)});
    case What::kOk:
      from.accepted = message;
      return Post(SyncAnswered{.link = number,
                               .what = SyncAnswered::What::kAccepted,
                               .term = message.term,
                               .id = message.id,
                               .has_buckets = data.any()});
    case What::kRefuse:
      return Post(RefuseCame{number});
    case What::kYield: {
      if (!from.is_joined) return;
      const double age =
          world_.Has(RoleBug::kOldYield) ? 0 : std::max(0.0, FollowedTime() - message.time);
      const RoleServer& sender = *all_.at(message.server);
      yield_from = {message.server, message.life};
      Post(YieldCame{.link = number,
                     .term = message.term,
                     .age = NanosOf(age),
                     .offset = offset,
                     .is_exact = is_exact_});
      if (IsReplica(state()) && state() != RoleState::kSaving) return;
      if ((message.data & ~data & world_.answered).any())
        world_.Fail("R9: a switch lost something");
      const bool still =
          sender.alive && sender.life == message.life &&
          (sender.state() == RoleState::kServing || sender.state() == RoleState::kSaving);
      if (still) world_.Fail("R9: an old YIELD has made a second primary");
      return;
    }
    default:
      break;
  }
  if (!from.is_joined) return;
  if (message.what == What::kFrame) {
    for (const std::size_t admission : message.admissions) data.set(admission);
    offset = message.offset + message.admissions.size();
    if (is_exact_) mark_ = message.mark;
  } else if (message.what == What::kPart) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (IsOfPart(i, message.part)) data[i] = message.data[i];
    }
  } else if (message.what == What::kSkip) {
    is_exact_ = false;
    offset = message.offset;
    const bool is_copy = world_.Chance(.3);
    Post(is_copy ? RoleEvent(LinkUp{.link = number}) : RoleEvent(LinkLacks{number}));
  } else if (message.what == What::kSynced) {
    ++from.syncs_come;
    is_exact_ = true;
    mark_ = message.mark;
    Post(LinkSynced{number});
  }
  AddFrameTime(message.time);
  if (world_.profile.is_always && message.what != What::kHeartbeat) static_cast<void>(SaveSoon());
  if (link.get() == &from) Ack();
}

void RoleServer::Ack() {
  const RoleProfile& profile = world_.profile;
  if (!link || !link->is_joined) return;
  if (state() != RoleState::kFollowing && state() != RoleState::kAsking) return;
  std::uint64_t confirmed = offset;
  if (profile.is_always && HasDisk() && ack_replicas > 0 && !world_.Has(RoleBug::kAckMemory)) {
    confirmed = saved_offset_.first == view_->record.id ? saved_offset_.second : 0;
  }
  // Before the bytes leave.
  if (profile.lease_replicas > 0) promise_ = std::max(promise_, Own() + kSimLeaseMs * 1.001 + 1);
  link->Send(0, {.what = What::kAck,
                 .offset = confirmed,
                 .time = frame_time_,
                 .flag = view_->is_synced,
                 .can_save = can_save_,
                 .syncs = link->syncs_come});
}

}  // namespace weir
