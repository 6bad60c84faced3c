// A link of the role simulation: messages in order, late or never, until a side closes it.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "replication/role_events.h"
#include "tests/replication/role_world.h"

namespace weir {

class RoleServer;

// A message on a link, in either direction.
struct SimMessage {
  enum class What : std::uint8_t {
    kSync,
    kAck,
    kTakeover,  // of a replica
    kError,
    kReferral,
    kOtherGroup,
    kOk,
    kFrame,
    kPart,
    kSkip,  // partitions are sent again, and what came between is not
    kSynced,
    kHeartbeat,
    kRefuse,
    kYield,
    kFin,
  };
  What what{};
  std::uint64_t term = 0;
  std::string id{};
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> common{};
  std::vector<std::size_t> admissions{};
  Admissions data{};
  int part = 0;
  double time = 0;  // of decisions
  std::optional<std::pair<double, double>> mark{};
  bool flag = false;     // kAck: synced; kSync: told
  bool can_save = true;  // kAck
  int syncs = 0;         // kAck: the number of kSynced on this link
  bool is_whole = true;  // kSync
  std::size_t server = 0;
  std::uint64_t life = 0;
};

// A TCP connection from a replica (side 0) to a primary (side 1).
class SimLink : public std::enable_shared_from_this<SimLink> {
 public:
  SimLink(RoleWorld& world, RoleServer& replica, RoleServer& primary);
  void Send(int side, SimMessage message);
  void Close(int side);
  void LoseFin(int side);  // that has not arrived yet

  [[nodiscard]] RoleServer& end(int side) const {
    return *ends_.at(static_cast<std::size_t>(side));
  }
  [[nodiscard]] bool is_open(int side) const { return open_.at(static_cast<std::size_t>(side)); }
  void Cut() { open_ = {false, false}; }  // both sides lie dead

  // Of the replica's side.
  LinkNumber number{};
  bool was_referred = false;
  std::optional<SimMessage> accepted;  // waits for Join
  int syncs_come = 0;
  // Of the primary's side.
  std::uint64_t cursor = 0;
  std::uint64_t acked = 0;
  double echo = -1e9;
  bool is_joined = false;
  bool is_synced = false;
  bool can_save = true;
  bool is_fed = false;
  int syncs_sent = 0;
  std::vector<int> parts;
  std::array<double, 2> heard{};  // by the own clocks
  double accepted_at = 0;         // by the primary's clock

 private:
  void Pump(int side);
  void Reset(int side);

  RoleWorld& world_;
  std::array<RoleServer*, 2> ends_;
  std::array<std::uint64_t, 2> lives_;
  std::array<std::deque<SimMessage>, 2> queues_;  // what each side has sent
  std::array<bool, 2> open_{true, true};
};

}  // namespace weir
