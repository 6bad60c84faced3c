// Three servers with the real role machine, three Sentinels, and whatever may fail between them.
//
//     RoleSimulation simulation(seed);
//     EXPECT_EQ(simulation.Run(), "");
//
// A run has 20 to 80 s of faults at random times, of which it likes one kind, then calm: one
// primary must serve, with all others in sync, within 90 s. The laws R5 to R18 are checked at each
// admission. The same seed makes the same run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/replication/role_sim_sentinel.h"
#include "tests/replication/role_sim_server.h"
#include "tests/replication/role_world.h"

namespace weir {

class RoleSimulation {
 public:
  explicit RoleSimulation(std::uint64_t seed, RoleBug planted = RoleBug::kNone);

  // Returns the law that was broken, with what the servers did last; empty: none.
  std::string Run();

  [[nodiscard]] std::uint64_t steps() const { return world_.steps; }
  [[nodiscard]] std::size_t admissions() const { return world_.admitted; }
  [[nodiscard]] const RoleCoverage& coverage() const { return world_.coverage; }

 private:
  void ChooseProfile();
  void Ask(std::size_t client_of);
  void Fault();
  void Carry(const std::string& kind, RoleServer& server, double ms);
  void CarryAlone(const std::string& kind, RoleServer& server, double ms);
  void Power(RoleServer* primary);
  void Switch(RoleServer& primary);
  void Command(RoleServer& server);
  void Configure(RoleServer& server, double ms);
  void TellEarly(RoleServer& server, double ms);
  void Hurry(RoleServer& primary);
  void Script(RoleServer& primary);
  void Survive(RoleServer& server);
  void LateAcks(RoleServer& primary, RoleServer& replica);
  void LateSuccessor(RoleServer& primary, RoleServer& replica);
  void CutQuestion(RoleServer& primary, RoleServer& replica);
  void LostTwice(RoleServer& primary, RoleServer& replica);
  void EmptyPrimary(RoleServer& primary, RoleServer& replica);
  void FullQuestion(RoleServer& primary, RoleServer& replica);
  void AskedBack(RoleServer& primary, RoleServer& replica);
  void Forgotten(RoleServer& primary, RoleServer& replica);
  void EmptyReplica(RoleServer& primary, RoleServer& replica);
  void Block(std::size_t a, std::size_t b, double ms, bool one_way);
  void Up(RoleServer& server);
  void Freeze(RoleServer& server, double ms);
  [[nodiscard]] RoleServer* Primary() const;
  [[nodiscard]] bool IsSettled() const;
  void CalmDown();
  void Settle();

  RoleWorld world_;
  std::vector<std::unique_ptr<RoleServer>> servers_;
  std::vector<std::unique_ptr<SimSentinel>> sentinels_;
  double end_ = 0;
  std::string favourite_;
  RoleServer* keeps_full_ = nullptr;
  bool was_wiped_ = false;
};

}  // namespace weir
