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
