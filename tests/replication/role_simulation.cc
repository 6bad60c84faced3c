#include "tests/replication/role_simulation.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

using Kind = RoleProfile::Kind;

constexpr double kCalmMs = 90000;  // until one primary serves

}  // namespace

RoleSimulation::RoleSimulation(std::uint64_t seed, RoleBug planted) : world_(seed, planted) {
  ChooseProfile();
  for (std::size_t i = 0; i < kRoleServers; ++i) {
    servers_.push_back(std::make_unique<RoleServer>(world_, servers_, i));
  }
  if (world_.Chance(.5)) {
    servers_.at(world_.Below(kRoleServers))->skew = world_.Pick({-20000.0, 20000.0, 3000.0});
  }
  for (const auto& server : servers_) server->Start();
  if (world_.profile.kind != Kind::kAlone) {
    servers_.front()->Post(NoOneAsked{});  // a new group begins by a command
    for (std::size_t i = 0; i < kRoleServers; ++i) {
      sentinels_.push_back(std::make_unique<SimSentinel>(world_, servers_, sentinels_, i));
    }
  }
  for (std::size_t i = 0; i < kRoleServers; ++i) {
    world_.At(world_.Between(0, 200), [this, i] { Ask(i); });
  }
  end_ = world_.now + world_.Pick({20000.0, 40000.0, 80000.0});
  world_.At(6000, [this] { Fault(); });
}

void RoleSimulation::ChooseProfile() {
  RoleProfile& profile = world_.profile;
  profile.kind = world_.Pick({Kind::kWatched, Kind::kWatched, Kind::kWatched, Kind::kWatched,
                              Kind::kAlone, Kind::kAlone, Kind::kQuick});
  profile.is_always = profile.kind == Kind::kQuick || world_.Chance(.5);
  if (profile.kind == Kind::kQuick) return;
  const int strength = world_.Pick({0, 1, 2, 2});
  if (strength == 1) profile.lease_replicas = 2;
  if (strength == 2) profile.ack_replicas = 2;
  if (profile.kind == Kind::kWatched && strength != 2 && world_.Chance(.1)) {
    profile.has_disk = false;
    profile.is_always = false;
  }
}

void RoleSimulation::Ask(std::size_t client_of) {
  if (world_.is_calm) return;
  world_.At(world_.Pick({60.0, 200.0, 500.0}), [this, client_of] { Ask(client_of); });
  servers_.at(client_of)->Request();
}

RoleServer* RoleSimulation::Primary() const {
  const auto found = std::ranges::find_if(
      servers_, [](const auto& server) { return server->state() == RoleState::kServing; });
  return found == servers_.end() ? nullptr : found->get();
}

// --- Faults --------------------------------------------------------------------------------------

void RoleSimulation::Fault() {
  if (world_.now > end_) return;
  world_.At(world_.Pick({300.0, 1500.0, 3000.0, 6000.0}), [this] { Fault(); });
  std::vector<std::string> kinds = {"restart"};
  if (world_.profile.kind == Kind::kAlone) {
    kinds = {"restart", "stop",   "freeze",   "cut",     "block", "power", "switch",
             "switch",  "switch", "stranger", "restore", "full",  "backup"};
  } else if (world_.profile.kind == Kind::kWatched) {
    kinds = {"restart", "stop",     "freeze",   "cut",     "block",  "isolate", "power", "switch",
             "elect",   "elect",    "stranger", "restore", "full",   "hang",    "wipe",  "backup",
             "no-one",  "survivor", "hurry",    "script",  "script", "script"};
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
    server.Stop();
    world_.At(world_.Pick({500.0, ms}), [this, &server] { Up(server); });
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
                          .term = 50,
                          .id = std::string(kHistoryIdBytes, 'f'),
                          .offset = 3,
                          .has_our_secret = world_.Has(RoleBug::kStrangerDeposes),
                          .head = server.offset,
                          .has_buckets = server.data.any()});
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
  if (std::ranges::none_of(views, [](const ReplicaView& view) { return view.is_synced; })) return;
  FailoverRequest request;
  if (world_.Chance(.5)) request.to = views.at(world_.Below(views.size())).address;
  request.timeout = std::chrono::seconds{1};
  primary.Post(FailoverAsked{.request = request, .replicas = {views, primary.offset}});
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

// A replica is promoted by a command, and is told to need no others.
void RoleSimulation::Survive(RoleServer& server) {
  if (!server.alive || server.frozen || server.view().has_priority_zero) return;
  if (server.state() != RoleState::kFollowing) return;
  server.lease_is_off = true;
  server.Post(NoOneAsked{});
  server.lease_is_off = true;
}

// Orders of faults that chance finds too rarely; their times are still random.
void RoleSimulation::Script(RoleServer& primary) {
  std::vector<RoleServer*> synced;
  for (const auto& link : primary.replicas) {
    if (link->is_synced) synced.push_back(&link->end(0));
  }
  if (synced.empty()) return;
  RoleServer& replica = *synced.at(world_.Below(synced.size()));
  const RoleProfile& profile = world_.profile;
  switch (world_.Below(6)) {
    case 0:  // its acknowledgements come late, and no FIN
      if (profile.lease_replicas == 0) return;
      Block(replica.index, primary.index, 4500, true);
      world_.At(world_.Pick({600.0, 1200.0}), [this, &replica, &primary] {
        const std::shared_ptr<SimLink> link = replica.link;
        Survive(replica);
        if (!link || replica.link) return;
        link->LoseFin(0);
        Block(primary.index, replica.index, 8000, true);
      });
      return;
    case 5:  // one whose disk is full asks for the role
      if (!profile.has_disk || profile.is_always) return;
      replica.is_full = true;
      world_.At(4000, [&replica] { replica.is_full = false; });
      world_.At(world_.Pick({1500.0, 2500.0}), [&replica] { replica.Post(PromoteAsked{}); });
      return;
    case 1: {  // the heir stands still, and reads its YIELD late
      if (profile.ack_replicas > 0) return;
      if (std::ranges::any_of(primary.replicas, [](const auto& to) { return !to->can_save; }))
        return;
      primary.Post(FailoverAsked{.request = {.to = SimAddress(replica.index)},
                                 .replicas = {primary.Views(), primary.offset}});
      world_.At(25, [this, &replica] { Freeze(replica, world_.Pick({2600.0, 3600.0, 4600.0})); });
      world_.At(world_.Pick({1200.0, 2300.0}), [&primary] { primary.Post(NoOneAsked{}); });
      return;
    }
    case 2:  // the link of one that asks is cut
      replica.Post(PromoteAsked{});
      world_.At(world_.Pick({2.0, 10.0, 40.0, 200.0}), [&replica] { replica.CutLink(); });
      return;
    case 3:  // all replicas are lost twice, the second time cleanly
      if (profile.ack_replicas == 0) return;
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
      return;
    default:  // the primary has lost its directory, and is first back
      if (!profile.has_disk || std::exchange(was_wiped_, true)) return;
      for (const auto& server : servers_) {
        server->Crash();
        const double down = server.get() == &primary ? 200 : 12000;
        world_.At(down, [this, other = server.get()] { Up(*other); });
      }
      primary.disk.reset();
  }
}

void RoleSimulation::Block(std::size_t a, std::size_t b, double ms, bool one_way) {
  world_.Block(a, b, ms);
  if (!one_way) world_.Block(b, a, ms);
}

void RoleSimulation::Up(RoleServer& server) {
  if (!server.alive) server.Start();
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

// --- The run -------------------------------------------------------------------------------------

bool RoleSimulation::IsSettled() const {
  const RoleServer* const primary = Primary();
  if (primary == nullptr || !primary->Admits()) return false;
  for (const auto& server : servers_) {
    if (server.get() == primary) continue;
    const bool is_well = server->state() == RoleState::kFollowing && server->view().is_synced &&
                         server->view().record.id == primary->view().record.id;
    if (!is_well) return false;
  }
  return std::ranges::all_of(
      sentinels_, [&](const auto& sentinel) { return sentinel->master() == primary->index; });
}

std::string RoleSimulation::Run() {
  while (world_.now <= end_ && world_.violation.empty()) world_.Step();
  CalmDown();
  Settle();
  if (!world_.violation.empty()) return world_.violation;
  RoleServer& primary = *Primary();
  primary.Request();
  const double last = world_.now + 1500;
  while (world_.now <= last) world_.Step();
  for (const auto& server : servers_) {
    if (server->data != primary.data) world_.Fail("R1: the states differ in the end");
  }
  return world_.violation;
}

// Until one primary has served for 3 s: R16.
void RoleSimulation::Settle() {
  const double begin = world_.now;
  double good_since = -1;
  while (world_.violation.empty() && (good_since < 0 || world_.now - good_since <= 3000)) {
    world_.Step();
    if (!IsSettled()) {
      good_since = -1;
    } else if (good_since < 0) {
      good_since = world_.now;
    }
    if (good_since >= 0 || world_.now - begin <= kCalmMs) continue;
    std::string states;
    for (const auto& server : servers_) {
      absl::StrAppend(&states, " ", kStateWords.at(static_cast<std::size_t>(server->state())), ">",
                      server->primary().value_or(9), " t", server->view().record.term);
    }
    world_.Fail("R16: no single primary after 90 s of calm:" + states);
  }
}

void RoleSimulation::CalmDown() {
  world_.is_calm = true;
  world_.HealLinks();
  for (const auto& server : servers_) {
    server->hangs = false;
    if (server.get() != keeps_full_) server->is_full = false;
    if (server->frozen) server->thawed_at = world_.now;
    server->frozen = false;
    Up(*server);
  }
}

}  // namespace weir
