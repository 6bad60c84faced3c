// Orders of faults of the role simulation that chance finds too rarely; their times are random.
#include <algorithm>
#include <utility>

#include "tests/replication/role_simulation.h"

namespace weir {

void RoleSimulation::Script(RoleServer& primary) {
  std::vector<RoleServer*> synced;
  for (const auto& link : primary.replicas) {
    if (link->is_synced) synced.push_back(&link->end(0));
  }
  if (synced.empty()) return;
  using Order = void (RoleSimulation::*)(RoleServer & primary, RoleServer & replica);
  const Order order = world_.Pick<Order>(
      {&RoleSimulation::LateAcks, &RoleSimulation::LateSuccessor, &RoleSimulation::CutQuestion,
       &RoleSimulation::LostTwice, &RoleSimulation::EmptyPrimary, &RoleSimulation::FullQuestion,
       &RoleSimulation::AskedBack, &RoleSimulation::Forgotten, &RoleSimulation::EmptyReplica});
  (this->*order)(primary, *synced.at(world_.Below(synced.size())));
}

// The acknowledgements of a replica come late, and no FIN.
void RoleSimulation::LateAcks(RoleServer& primary, RoleServer& replica) {
  if (world_.profile.lease_replicas == 0) return;
  Block(replica.index, primary.index, 4500, true);
  world_.At(world_.Pick({600.0, 1200.0}), [this, &replica, &primary] {
    const std::shared_ptr<SimLink> link = replica.link;
    Survive(replica);
    if (!link || replica.link) return;
    link->LoseFin(0);
    Block(primary.index, replica.index, 8000, true);
  });
}

// The successor is suspended, and reads its YIELD late.
void RoleSimulation::LateSuccessor(RoleServer& primary, RoleServer& replica) {
  if (world_.profile.ack_replicas > 0) return;
  if (std::ranges::any_of(primary.replicas, [](const auto& to) { return !to->can_save; })) return;
  primary.AskFailover({.to = SimAddress(replica.index)});
  world_.At(25, [this, &replica] { Freeze(replica, world_.Pick({2600.0, 3600.0, 4600.0})); });
  world_.At(world_.Pick({1200.0, 2300.0}), [&primary] { primary.Post(NoOneAsked{}); });
}

// The link of one that asks for the role is cut, or a command comes, or a copy begins.
void RoleSimulation::CutQuestion(RoleServer& primary, RoleServer& replica) {
  replica.Post(PromoteAsked{});
  world_.At(world_.Pick({0.0, 2.0, 10.0, 40.0, 200.0}), [this, &primary, &replica] {
    if (world_.Chance(.6)) return replica.CutLink();
    if (world_.Chance(.5)) return Command(replica);
    if (primary.state() == RoleState::kServing && !primary.frozen) primary.Skip();
  });
}

// All replicas are lost twice, the second time cleanly.
void RoleSimulation::LostTwice(RoleServer& primary, RoleServer&) {
  if (world_.profile.ack_replicas == 0) return;
  primary.Request();
  world_.At(300, [&primary] { primary.Crash(); });
  world_.At(world_.Pick({9000.0, 30000.0}), [this, &primary] { Up(primary); });
  for (const auto& server : servers_) {
    if (server.get() == &primary) continue;
    RoleServer* const other = server.get();
    world_.At(290, [other] { other->Crash(); });
    world_.At(310, [this, other] { Up(*other); });
    world_.At(700, [other] { other->Stop(); });
    world_.At(900, [this, other] { Up(*other); });
  }
}

// The primary has lost its directory, and is first back.
void RoleSimulation::EmptyPrimary(RoleServer& primary, RoleServer&) {
  if (!world_.profile.has_disk || std::exchange(was_wiped_, true)) return;
  for (const auto& server : servers_) {
    server->Crash();
    const double down = server.get() == &primary ? 200 : 12000;
    world_.At(down, [this, other = server.get()] { Up(*other); });
  }
  primary.disk.reset();
}

// One whose disk is full asks for the role.
void RoleSimulation::FullQuestion(RoleServer&, RoleServer& replica) {
  if (!world_.profile.has_disk || world_.profile.is_always) return;
  replica.is_full = true;
  world_.At(4000, [&replica] { replica.is_full = false; });
  world_.At(world_.Pick({1500.0, 2500.0}), [&replica] { replica.Post(PromoteAsked{}); });
}

// A primary that has given its role away asks for it, and its link is cut.
void RoleSimulation::AskedBack(RoleServer& primary, RoleServer& replica) {
  primary.AskFailover({.to = SimAddress(replica.index)});
  world_.At(world_.Pick({700.0, 1500.0, 3000.0}), [this, &primary] {
    if (primary.state() != RoleState::kFollowing) return;
    primary.Post(PromoteAsked{});
    world_.At(world_.Pick({1.0, 5.0, 30.0}), [&primary] { primary.CutLink(); });
  });
}

// A primary forgets a history that its disk did not take, and a replica that has it comes later.
void RoleSimulation::Forgotten(RoleServer& primary, RoleServer& replica) {
  if (!world_.profile.has_disk || !world_.profile.is_always) return;
  primary.Crash();
  Up(primary);
  primary.is_full = true;
  world_.At(world_.Pick({5000.0, 8000.0}), [this, &primary, &replica] {
    if (primary.state() != RoleState::kServing) return;
    replica.Crash();
    primary.Crash();
    primary.is_full = false;
    Up(primary);
    const double at = world_.Pick({4000.0, 6000.0});
    world_.At(at, [this, &replica] { Up(replica); });
    world_.At(at + world_.Pick({500.0, 3000.0}), [&primary] {
      const bool has_state = !primary.view().has_priority_zero;
      if (primary.state() == RoleState::kDeposed && has_state) primary.Post(NoOneAsked{});
    });
  });
}

// The last replica loses its directory when Sentinel is about to promote it.
void RoleSimulation::EmptyReplica(RoleServer& primary, RoleServer& replica) {
  if (!world_.profile.has_disk || world_.profile.ack_replicas == 0) return;
  if (std::exchange(was_wiped_, true)) return;
  primary.Request();
  for (const auto& server : servers_) {
    if (server.get() == &replica) continue;
    world_.At(300, [other = server.get()] { other->Crash(); });
    const double down = server.get() == &primary ? 16000 : 12000;
    world_.At(down, [this, other = server.get()] { Up(*other); });
  }
  world_.At(world_.Between(1500, 3000), [this, &replica] {
    replica.Crash();
    replica.disk.reset();
    world_.At(50, [this, &replica] { Up(replica); });
  });
}

}  // namespace weir
