#include "tests/replication/role_sim_link.h"

#include <utility>

#include "tests/replication/role_sim_server.h"

namespace weir {

SimLink::SimLink(RoleWorld& world, RoleServer& replica, RoleServer& primary)
    : world_(world), ends_{&replica, &primary}, lives_{replica.life, primary.life} {}

void SimLink::Send(int side, SimMessage message) {
  if (!is_open(side)) return;
  queues_.at(static_cast<std::size_t>(side)).push_back(std::move(message));
  world_.At(world_.Delay(), [self = shared_from_this(), side] { self->Pump(side); });
}

void SimLink::Close(int side) {
  if (!is_open(side)) return;
  Send(side, {.what = SimMessage::What::kFin});
  open_.at(static_cast<std::size_t>(side)) = false;
}

// One message, in order; late while the way is blocked or the reader is suspended.
void SimLink::Pump(int side) {
  auto& queue = queues_.at(static_cast<std::size_t>(side));
  if (queue.empty()) return;
  RoleServer& to = end(1 - side);
  if (world_.IsBlocked(end(side).index, to.index) || to.frozen) {
    world_.At(60, [self = shared_from_this(), side] { self->Pump(side); });
    return;
  }
  const SimMessage message = std::move(queue.front());
  queue.pop_front();
  const auto other = static_cast<std::size_t>(1 - side);
  if (to.life != lives_.at(other) || !to.alive || !open_.at(other)) {
    queue.clear();
    open_.at(other) = false;
    if (is_open(side)) {
      world_.At(world_.Delay(), [self = shared_from_this(), side] { self->Reset(side); });
    }
    return;
  }
  if (message.what == SimMessage::What::kFin) {
    open_.at(other) = false;
    to.Closed(*this, 1 - side);
  } else if (side == 0) {
    to.FromReplica(*this, message);
  } else {
    to.FromPrimary(*this, message);
  }
}

void SimLink::LoseFin(int side) {
  auto& queue = queues_.at(static_cast<std::size_t>(side));
  if (!queue.empty() && queue.back().what == SimMessage::What::kFin) queue.pop_back();
}

// The other end is gone, and a RST says so.
void SimLink::Reset(int side) {
  if (world_.IsBlocked(end(1 - side).index, end(side).index)) {
    world_.At(60, [self = shared_from_this(), side] { self->Reset(side); });
    return;
  }
  RoleServer& to = end(side);
  if (!is_open(side) || to.life != lives_.at(static_cast<std::size_t>(side)) || !to.alive) return;
  open_.at(static_cast<std::size_t>(side)) = false;
  to.Closed(*this, side);
}

}  // namespace weir
