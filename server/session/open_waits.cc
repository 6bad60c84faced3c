#include "server/session/open_waits.h"

#include <iterator>

#include "core/base/check.h"
#include "server/observe/client_registry.h"

namespace weir {

OpenWaits::~OpenWaits() {
  const MutexLock lock(mutex_);
  WEIR_CHECK(waits_.empty());
}

void OpenWaits::Add(const Reservation& reservation, const ClientRecord& client) {
  const MutexLock lock(mutex_);
  const bool is_new = waits_.try_emplace(reservation.number, Wait{&reservation, &client}).second;
  WEIR_CHECK(is_new);
}

bool OpenWaits::Remove(const Reservation& reservation) {
  const MutexLock lock(mutex_);
  return waits_.erase(reservation.number) > 0;
}

void OpenWaits::GiveBackAll() {
  GiveBackIf([](const ClientRecord&) { return true; });
}

void OpenWaits::GiveBackKilled() {
  GiveBackIf(
      [](const ClientRecord& client) { return client.killed.load(std::memory_order_relaxed); });
}

void OpenWaits::GiveBackIf(absl::FunctionRef<bool(const ClientRecord&)> ends) {
  const MutexLock lock(mutex_);
  for (auto next = waits_.end(); next != waits_.begin();) {
    const auto wait = std::prev(next);
    if (!ends(*wait->second.client)) {
      next = wait;
      continue;
    }
    limiter_.ReturnTokens(*wait->second.reservation);
    next = waits_.erase(wait);
  }
}

}  // namespace weir
