// A Sentinel of the role simulation, as a value: what roles.md and Redis's sentinel.c say of PING,
// INFO, hellos, votes, the choice of a replica, and the reconfiguration of the others.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/replication/role_sim_server.h"
#include "tests/replication/role_world.h"

namespace weir {

class SimSentinel {
 public:
  SimSentinel(RoleWorld& world, std::vector<std::unique_ptr<RoleServer>>& servers,
              std::vector<std::unique_ptr<SimSentinel>>& all, std::size_t index);

  // SENTINEL FAILOVER, which needs no votes, or what an odown begins.
  void BeginFailover(bool is_forced);
  void Reset(std::size_t master);  // set up again: its epochs begin at 0
  [[nodiscard]] bool is_failing_over() const { return failover_.has_value(); }
  [[nodiscard]] std::size_t master() const { return master_; }

 private:
  struct Info {
    double at;
    bool is_master;
    std::optional<std::size_t> follows;
    std::uint64_t offset;
    bool has_priority;
  };
  struct Failover {
    std::uint64_t epoch;
    std::optional<std::size_t> chosen;
    double since;
  };
  enum class Order : std::uint8_t { kPromote, kFollow };

  void Tick();
  void Look(std::size_t at);
  void GossipWithOthers();
  void StepFailover();
  void FixRoles();
  void Send(std::size_t to, Order order, std::uint64_t epoch);
  void Deliver(std::size_t to, std::uint64_t life, Order order, std::size_t about,
               std::uint64_t epoch);
  void SayHello(std::size_t to, std::uint64_t life, std::uint64_t epoch, std::size_t master);
  [[nodiscard]] bool Reaches(std::size_t server) const;
  [[nodiscard]] bool TakesForDown(std::size_t server) const;
  [[nodiscard]] bool Hears(const SimSentinel& other) const;
  [[nodiscard]] std::size_t host() const { return index_ + kRoleServers; }

  RoleWorld& world_;
  std::vector<std::unique_ptr<RoleServer>>& servers_;
  std::vector<std::unique_ptr<SimSentinel>>& all_;
  const std::size_t index_;
  std::size_t master_ = 0;
  std::uint64_t epoch_ = 0;    // of the master
  std::uint64_t current_ = 0;  // of votes
  std::uint64_t voted_ = 0;
  std::optional<Failover> failover_;
  double last_failover_ = -1e9;
  std::array<double, kRoleServers> pong_;
  std::array<std::optional<Info>, kRoleServers> info_;
  std::array<std::pair<std::optional<bool>, double>, kRoleServers> role_since_{};
  std::uint64_t ticks_ = 0;
};

}  // namespace weir
