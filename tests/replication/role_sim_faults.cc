// The faults of the role simulation: which come, and what each does.
#include <algorithm>
#include <utility>

#include "tests/replication/role_simulation.h"

namespace weir {
namespace {

using Kind = RoleProfile::Kind;

}  // namespace

void RoleSimulation::Fault() {
  if (world_.now > end_) return;
  world_.At(world_.Pick({300.0, 1500.0, 3000.0, 6000.0}), [this] { Fault(); });
  std::vector<std::string> kinds = {"restart"};
  if (world_.profile.kind == Kind::kAlone) {
    kinds = {"restart", "stop",   "freeze", "cut",      "block",   "power",
             "switch",  "switch", "switch", "stranger", "restore", "full",
             "backup",  "config", "early",  "commands", "skip"};
  } else if (world_.profile.kind == Kind::kWatched) {
    kinds = {"restart", "stop",   "freeze", "cut",      "block",    "isolate", "power",
             "switch",  "elect",  "elect",  "stranger", "restore",  "full",    "hang",
             "wipe",    "backup", "no-one", "survivor", "hurry",    "script",  "script",
             "script",  "config", "early",  "commands", "commands", "skip",    "sentinels"};
  }
  if (favourite_.empty()) favourite_ = kinds.at(world_.Below(kinds.size()));
  const std::string kind = world_.Chance(.5) ? favourite_ : kinds.at(world_.Below(kinds.size()));
  RoleServer* const primary = Primary();
  RoleServer& server =
      primary != nullptr && world_.Chance(.5) ? *primary : *servers_.at(world_.Below(kRoleServers));
  Carry(kind, server, world_.Pick({100.0, 800.0, 3000.0, 8000.0}));
}

void RoleSimulation::Carry(const std::string& kind, RoleServer& server, double ms) {
  RoleServer* const primary = Primary();
  const bool can_lead = primary != nullptr && !primary->frozen;
  if (kind == "restart") {
    server.Crash();
    const double down = world_.profile.kind == Kind::kQuick ? world_.Pick({20.0, 300.0}) : ms;
    world_.At(down, [this, &server] { Up(server); });
  } else if (kind == "stop") {
    const double takes = world_.Pick({0.0, 0.0, 50.0, 500.0});
    server.Stop(takes);
    world_.At(takes + world_.Pick({500.0, ms}), [this, &server] { Up(server); });
  } else if (kind == "freeze") {
    Freeze(server, ms);
  } else if (kind == "cut") {
    server.CutLink();
  } else if (kind == "block") {
    Block(world_.Below(kRoleHosts), world_.Below(kRoleHosts), ms, world_.Chance(.3));
  } else if (kind == "isolate") {
    for (std::size_t host = 0; host < kRoleHosts; ++host) {
      if (host != server.index && !world_.Chance(.2)) Block(server.index, host, ms, false);
    }
  } else if (kind == "power") {
    Power(primary);
  } else if (kind == "switch" && can_lead) {
    Switch(*primary);
  } else if (kind == "elect") {
    SimSentinel& sentinel = *sentinels_.at(world_.Below(sentinels_.size()));
    if (!sentinel.is_failing_over()) sentinel.BeginFailover(true);
  } else if (kind == "hang" && world_.profile.has_disk) {
    server.hangs = true;
    server.hung_until = world_.now + ms + 300;
    world_.At(ms, [&server] { server.hangs = false; });
  } else if (kind == "wipe" && world_.profile.has_disk && !was_wiped_ && &server != primary) {
    was_wiped_ = true;
    server.Crash();
    server.disk.reset();
    world_.At(ms, [this, &server] { Up(server); });
  } else if (kind == "config") {
    Configure(server, ms);
  } else if (kind == "early") {
    TellEarly(server, ms);
  } else if (kind == "commands") {  // one after the other, while the role changes
    const auto deposed = std::ranges::find_if(
        servers_, [](const auto& other) { return other->state() == RoleState::kDeposed; });
    RoleServer& to = deposed == servers_.end() ? server : **deposed;
    for (std::size_t left = 1 + world_.Below(6); left > 0; --left) {
      world_.At(world_.Pick({0.0, 5.0, 20.0, 60.0, 400.0}), [this, &to] { Command(to); });
    }
  } else if (kind == "skip" && can_lead) {
    primary->Request();
    primary->Skip();
    if (&server == primary || !world_.Chance(.5)) return;
    world_.At(world_.Pick({1.0, 10.0, 40.0, 150.0}), [&server] { server.CutLink(); });
  } else if (kind == "sentinels" && can_lead) {
    for (const auto& sentinel : sentinels_) sentinel->Reset(primary->index);
    for (const auto& other : servers_) other->failover_epoch = 0;
  } else if (kind == "hurry" && can_lead) {
    Hurry(*primary);
  } else if (kind == "script" && can_lead) {
    Script(*primary);
  } else if (kind == "survivor" && primary != nullptr && world_.profile.lease_replicas > 0) {
    RoleServer& survivor = *servers_.at(world_.Below(kRoleServers));
    if (world_.Chance(.6)) {
      Block(survivor.index, primary->index, world_.Pick({2500.0, 4500.0}), true);
    }
    world_.At(world_.Pick({50.0, 300.0, 1500.0}), [this, &survivor] { Survive(survivor); });
  } else {
    CarryAlone(kind, server, ms);
  }
}

// Faults of one server, its disk and its operator.
void RoleSimulation::CarryAlone(const std::string& kind, RoleServer& server, double ms) {
  const RoleProfile& profile = world_.profile;
  const bool is_up = server.alive && !server.frozen;
  const bool has_state = server.view().record.term > 0 || server.data.any();
  if (kind == "stranger" && is_up && has_state) {
    const bool was_serving = server.state() == RoleState::kServing;
    server.Post(SyncAsked{.ticket = RoleTicket{~0ULL},
                          .run_id = "stranger",
                          .term = world_.Pick({50U, 50U, 0U}),
                          .id = std::string(kHistoryIdBytes, 'f'),
                          .offset = 3,
                          .has_our_secret = world_.Has(RoleBug::kStrangerDeposes),
                          .was_told = world_.Chance(.3),
                          .head = server.offset,
                          .has_state = server.data.any()});
    if (was_serving && server.state() != RoleState::kServing) {
      world_.Fail("R15: a stranger has deposed a primary");
    }
  } else if (kind == "backup" && profile.has_disk) {
    if (server.disk) server.backup = server.disk;
  } else if (kind == "restore" && server.backup && server.index != 0 && is_up &&
             server.state() == RoleState::kFollowing && IsSettled()) {
    server.Stop();
    server.disk = server.backup;
    server.disk->is_backup = true;
    server.disk->is_clean = false;
    world_.At(ms, [this, &server] { Up(server); });
  } else if (kind == "full" && profile.kind == Kind::kAlone) {
    // A replica's, for good, and its primary knows.
    const bool is_weak = profile.ack_replicas == 0 && profile.lease_replicas == 0;
    if (!is_up || server.state() != RoleState::kFollowing || !server.view().is_synced) return;
    if (keeps_full_ != nullptr || !is_weak) return;
    keeps_full_ = &server;
    server.FillDisk();
    for (const auto& other : servers_) {
      for (const auto& link : other->replicas) {
        if (&link->end(0) == &server) link->can_save = false;
      }
    }
  } else if (kind == "full" && profile.has_disk) {
    server.is_full = true;
    world_.At(ms, [&server] { server.is_full = false; });
  } else if (kind == "no-one" && is_up && server.state() == RoleState::kFollowing) {
    const bool is_safe =
        profile.lease_replicas > 0 || (profile.ack_replicas > 0 && profile.is_always);
    if (is_safe && !server.view().has_priority_zero) server.Post(NoOneAsked{});
  }
}

// Two or three servers lose their power; some requests are under way.
void RoleSimulation::Power(RoleServer* primary) {
  const double gone = world_.Pick({500.0, 4000.0, 100000.0});
  const std::size_t spared = world_.Chance(.8) ? kRoleServers : world_.Below(kRoleServers);
  if (primary != nullptr) {
    primary->Request();
    primary->Request();
  }
  const double at = world_.Pick({5.0, 15.0, 30.0, 100.0});
  for (const auto& server : servers_) {
    if (server->index == spared) continue;
    world_.At(at, [server = server.get()] { server->Crash(); });
    const double late = server.get() == primary ? world_.Pick({0.0, 25000.0})
                                                : world_.Pick({0.0, 0.0, 50.0, 2000.0});
    world_.At(at + gone + late, [this, server = server.get()] { Up(*server); });
  }
  if (gone > 50000) end_ = std::min(end_, world_.now + gone + 8000);
}

void RoleSimulation::Switch(RoleServer& primary) {
  const std::vector<ReplicaView> views = primary.Views();
  FailoverRequest request;
  if (!views.empty() && world_.Chance(.5)) {
    const ReplicaView& to = views.at(world_.Below(views.size()));
    // A switch to a disk that stays full ends in no state that an operator wants.
    const bool may_force = world_.profile.kind == Kind::kWatched || !to.cannot_save;
    request.to = to.address;
    request.force = may_force && world_.Chance(.5);
  }
  request.timeout = NanosOf(world_.Pick({30.0, 300.0, 1000.0, 1000.0, 3000.0}));
  if (world_.Chance(.3)) primary.Request();
  primary.AskFailover(request);
  if (world_.Chance(.3)) {
    world_.At(world_.Pick({1.0, 10.0, 100.0, 1000.0}),
              [&primary] { primary.Post(FailoverAbortAsked{}); });
  }
  if (world_.profile.kind == Kind::kAlone && world_.Chance(.1)) {
    world_.At(world_.Pick({20.0, 40.0, 100.0, 300.0}), [this, &primary] {
      primary.Crash();
      world_.At(world_.Pick({20.0, 300.0}), [this, &primary] { Up(primary); });
    });
  }
  if (world_.profile.kind == Kind::kWatched && world_.Chance(.3)) {
    world_.At(world_.Pick({20.0, 40.0, 70.0}), [this, &primary] { Command(primary); });
  }
}

// An operator's command, or an order of a Sentinel that comes late.
void RoleSimulation::Command(RoleServer& server) {
  if (!server.alive) return;
  const RoleProfile& profile = world_.profile;
  // An order of an operator may forget acknowledged changes that are on no disk.
  const bool is_safe = profile.ack_replicas == 0 || profile.is_always;
  switch (world_.Below(profile.kind == Kind::kWatched ? 7 : 2)) {
    case 0:
      return server.AskFailover({});
    case 1:
      return server.Post(FailoverAbortAsked{});
    case 2:
      return server.Post(PromoteAsked{});
    case 3:
      if (is_safe && !server.view().has_priority_zero) server.Post(NoOneAsked{});
      return;
    case 4:  // names a wrong server, too
      return server.Post(
          FollowAsked{SimAddress((server.index + 1 + world_.Below(2)) % kRoleServers)});
    case 5:
      return server.SetAcks(profile.ack_replicas);
    default:
      server.Stop(30);
      world_.At(500, [this, &server] { Up(server); });
  }
}

// CONFIG SET of how many replicas a change needs, for a time.
void RoleSimulation::Configure(RoleServer& server, double ms) {
  if (!server.alive) return;
  const RoleProfile& profile = world_.profile;
  if (profile.lease_replicas > 0 && server.state() == RoleState::kServing) {
    server.SetLeaseOff(true);
  } else {
    server.SetAcks(profile.ack_replicas > 0 ? world_.Below(2) : 2);
  }
  world_.At(ms, [&server, life = server.life, acks = profile.ack_replicas] {
    if (server.life != life) return;
    server.SetLeaseOff(false);
    server.SetAcks(acks);
  });
}

// An operator's commands come while the state on disk is read.
void RoleSimulation::TellEarly(RoleServer& server, double ms) {
  const RoleProfile& profile = world_.profile;
  server.Crash();
  world_.At(ms, [this, &server, &profile] {
    if (server.alive) return;
    server.Start(world_.Pick({40.0, 300.0}));
    const bool is_safe =
        profile.kind == Kind::kWatched &&
        (profile.lease_replicas > 0 || (profile.ack_replicas > 0 && profile.is_always));
    for (std::size_t left = world_.Below(3); left > 0; --left) {
      world_.At(world_.Between(0, 30), [this, &server, is_safe] {
        if (server.state() != RoleState::kLoading) return;
        if (is_safe && world_.Chance(.5)) return server.Post(NoOneAsked{});
        const RoleServer* const primary = Primary();
        if (primary != nullptr) server.Post(FollowAsked{SimAddress(primary->index)});
      });
    }
  });
}

// Replicas crash and are back at once, their primary later.
void RoleSimulation::Hurry(RoleServer& primary) {
  primary.Request();
  const double at = world_.Pick({20.0, 60.0, 250.0, 800.0});
  world_.At(at + 10, [&primary] { primary.Crash(); });
  world_.At(at + world_.Pick({6000.0, 16000.0}), [this, &primary] { Up(primary); });
  for (const auto& server : servers_) {
    if (server.get() == &primary) continue;
    world_.At(at, [server = server.get()] { server->Crash(); });
    world_.At(at + 20, [this, server = server.get()] { Up(*server); });
  }
}

// A replica is promoted by a command, and configured to need no others.
void RoleSimulation::Survive(RoleServer& server) {
  if (!server.alive || server.frozen || server.view().has_priority_zero) return;
  if (server.state() != RoleState::kFollowing) return;
  server.lease_is_off = true;
  server.Post(NoOneAsked{});
  server.lease_is_off = true;
}

void RoleSimulation::Block(std::size_t a, std::size_t b, double ms, bool one_way) {
  world_.Block(a, b, ms);
  if (!one_way) world_.Block(b, a, ms);
}

void RoleSimulation::Up(RoleServer& server) {
  if (!server.alive) server.Start(world_.Pick({0.0, 0.0, 20.0, 300.0}));
}

void RoleSimulation::Freeze(RoleServer& server, double ms) {
  if (!server.alive) return;
  server.frozen = true;
  world_.At(ms, [this, &server, life = server.life] {
    if (server.life != life) return;
    server.frozen = false;
    server.thawed_at = world_.now;
  });
}

}  // namespace weir
