#include "tests/replication/role_sim_sentinel.h"

#include <algorithm>

namespace weir {
namespace {

constexpr double kDownAfterMs = 2000;
constexpr double kFailoverMs = 10000;
constexpr std::size_t kQuorum = 2;

}  // namespace

SimSentinel::SimSentinel(RoleWorld& world, std::vector<std::unique_ptr<RoleServer>>& servers,
                         std::vector<std::unique_ptr<SimSentinel>>& all, std::size_t index)
    : world_(world), servers_(servers), all_(all), index_(index) {
  pong_.fill(world.now);
  world.At(world.Between(0, 1000), [this] { Tick(); });
}

bool SimSentinel::Reaches(std::size_t server) const {
  return servers_.at(server)->alive && !world_.IsBlocked(host(), server) &&
         !world_.IsBlocked(server, host());
}

bool SimSentinel::Hears(const SimSentinel& other) const {
  return !world_.IsBlocked(host(), other.host()) && !world_.IsBlocked(other.host(), host());
}

bool SimSentinel::TakesForDown(std::size_t server) const {
  const auto& [is_master, since] = role_since_.at(server);
  const bool is_demoted =
      server == master_ && is_master == false && world_.now - since > kDownAfterMs + 20000;
  return world_.now - pong_.at(server) > kDownAfterMs || is_demoted;
}

void SimSentinel::Tick() {
  ++ticks_;
  world_.At(1000, [this] { Tick(); });
  for (std::size_t server = 0; server < servers_.size(); ++server) {
    if (Reaches(server) && !servers_.at(server)->frozen) Look(server);
  }
  if (ticks_ % 2 == 0) GossipWithOthers();
  const auto votes = static_cast<std::size_t>(std::ranges::count_if(all_, [&](const auto& other) {
    return (other.get() == this || Hears(*other)) && other->TakesForDown(master_);
  }));
  const bool may_begin = world_.now - last_failover_ > 2 * kFailoverMs;
  if (TakesForDown(master_) && !failover_ && may_begin && votes >= kQuorum) BeginFailover(false);
  if (failover_) {
    StepFailover();
  } else {
    FixRoles();
  }
}

// PING, INFO, and every other second a hello.
void SimSentinel::Look(std::size_t at) {
  RoleServer& server = *servers_.at(at);
  if (server.AnswersPing()) pong_.at(at) = world_.now;
  const bool is_master = !server.ShowsSlave();
  auto& [shown, since] = role_since_.at(at);
  if (shown != is_master) {
    shown = is_master;
    since = world_.now;
  }
  info_.at(at) = Info{.at = world_.now,
                      .is_master = is_master,
                      .follows = server.primary(),
                      .offset = server.view().record.id.empty() ? 0 : server.offset,
                      .has_priority = server.HasPriority()};
  if (ticks_ % 2 != 0) return;
  world_.At(world_.Delay(), [this, at, life = server.life, epoch = epoch_, master = master_] {
    SayHello(at, life, epoch, master);
  });
}

void SimSentinel::SayHello(std::size_t to, std::uint64_t life, std::uint64_t epoch,
                           std::size_t master) {
  RoleServer& server = *servers_.at(to);
  if (life != server.life || !server.alive) return;
  if (server.frozen) {
    world_.At(70, [this, to, life, epoch, master] { SayHello(to, life, epoch, master); });
    return;
  }
  const bool was_admitting = server.admitting.has_value();
  const std::uint64_t floor = server.view().record.sentinel_floor.value_or(0);
  if (world_.Has(RoleBug::kFloorGe) && was_admitting && master != to && epoch >= floor) {
    server.Post(FollowAsked{SimAddress(master)});
  } else {
    server.Post(
        HelloHeard{.epoch = epoch, .names_us = master == to, .primary = SimAddress(master)});
  }
  // The hellos of the failover come in the time that the watch gives them.
  const bool is_old =
      epoch <= server.failover_epoch && (epoch <= floor || world_.now - server.failover_at < 5000);
  if (was_admitting && !server.admitting && server.failover_epoch > 0 && is_old) {
    world_.Fail("R12: a hello of an old epoch has deposed the new primary");
  }
}

// Sentinels hear each other over any server that both reach.
void SimSentinel::GossipWithOthers() {
  for (const auto& other : all_) {
    if (other.get() == this) continue;
    bool is_heard = false;
    for (std::size_t server = 0; server < servers_.size(); ++server) {
      is_heard =
          is_heard || (Reaches(server) && other->Reaches(server) && !servers_[server]->frozen);
    }
    if (!is_heard) continue;
    other->current_ = std::max(other->current_, current_);
    if (epoch_ <= other->epoch_) continue;
    other->epoch_ = epoch_;
    other->master_ = master_;
    other->failover_.reset();
    other->last_failover_ = world_.now;
  }
}

void SimSentinel::BeginFailover(bool is_forced) {
  last_failover_ = world_.now + world_.Between(0, 1000);
  ++current_;
  std::size_t votes = 0;
  for (const auto& other : all_) {
    if (other.get() != this && !Hears(*other)) continue;
    if (other->voted_ >= current_) continue;
    ++votes;
    other->voted_ = current_;
    other->current_ = current_;
    if (other.get() != this) {
      other->last_failover_ = std::max(other->last_failover_, world_.now + world_.Between(0, 1000));
    }
  }
  if (votes >= kQuorum || is_forced) {
    failover_ = Failover{.epoch = current_, .chosen = std::nullopt, .since = world_.now};
  }
}

void SimSentinel::Reset(std::size_t master) {
  master_ = master;
  epoch_ = current_ = voted_ = 0;
  failover_.reset();
}

void SimSentinel::StepFailover() {
  if (!failover_->chosen) {
    std::optional<std::size_t> best;
    for (std::size_t server = 0; server < servers_.size(); ++server) {
      const std::optional<Info>& info = info_.at(server);
      if (server == master_ || !info || !info->has_priority || TakesForDown(server)) continue;
      if (world_.now - info->at > 5000) continue;
      if (!best || info->offset > info_.at(*best)->offset) best = server;
    }
    if (!best) {
      failover_.reset();
      return;
    }
    failover_->chosen = best;
    failover_->since = world_.now;
    return Send(*best, Order::kPromote, failover_->epoch);
  }
  const std::size_t chosen = *failover_->chosen;
  const std::optional<Info>& info = info_.at(chosen);
  if (info && info->is_master && info->at > failover_->since) {
    epoch_ = failover_->epoch;
    master_ = chosen;
    failover_.reset();
    last_failover_ = world_.now;
    for (std::size_t server = 0; server < servers_.size(); ++server) {
      const std::optional<Info>& other = info_.at(server);
      if (server == master_ || !other || other->is_master || other->follows == master_) continue;
      Send(server, Order::kFollow, 0);
    }
  } else if (world_.now - failover_->since > kFailoverMs) {
    failover_.reset();
  }
}

// +convert-to-slave and +fix-slave-config, of a master that is well.
void SimSentinel::FixRoles() {
  const std::optional<Info>& master = info_.at(master_);
  if (TakesForDown(master_) || !master || !master->is_master) return;
  if (world_.now - master->at >= 3000) return;
  for (std::size_t server = 0; server < servers_.size(); ++server) {
    const std::optional<Info>& info = info_.at(server);
    if (server == master_ || !info || world_.now - info->at >= 1500) continue;
    auto& since = role_since_.at(server).second;
    if (world_.now - since <= 8000 || world_.now - last_failover_ <= 8000) continue;
    if (!info->is_master && info->follows == master_) continue;
    Send(server, Order::kFollow, 0);
    since = world_.now;
  }
}

void SimSentinel::Send(std::size_t to, Order order, std::uint64_t epoch) {
  if (!Reaches(to)) return;
  world_.At(world_.Delay(), [this, to, life = servers_.at(to)->life, order, master = master_,
                             epoch] { Deliver(to, life, order, master, epoch); });
}

void SimSentinel::Deliver(std::size_t to, std::uint64_t life, Order order, std::size_t about,
                          std::uint64_t epoch) {
  RoleServer& server = *servers_.at(to);
  if (life != server.life || !server.alive) return;
  if (server.frozen) {
    world_.At(70,
              [this, to, life, order, about, epoch] { Deliver(to, life, order, about, epoch); });
    return;
  }
  if (order == Order::kFollow) return server.Post(FollowAsked{SimAddress(about)});
  const bool may = server.state() == RoleState::kFollowing && !server.view().has_priority_zero;
  server.failover_epoch = may ? epoch : 0;
  server.failover_at = world_.now;
  const bool is_empty = server.state() == RoleState::kFollowing && !server.view().is_complete;
  if (world_.Has(RoleBug::kEmptyPromotes) && is_empty && !server.view().is_link_up) {
    return server.Post(NoOneAsked{});
  }
  server.Post(PromoteAsked{});
}

}  // namespace weir
