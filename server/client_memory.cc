#include "server/client_memory.h"

#include <memory>

#include <spdlog/spdlog.h>

namespace weir {

// Sums wrap around: what is taken off by one thread may have been added by another a little later.
void ClientMemory::Change(ClientRecord& record, std::size_t bytes) {
  const std::size_t before = record.held_bytes.exchange(bytes, std::memory_order_relaxed);
  held_bytes_.fetch_add(bytes - before, std::memory_order_relaxed);
  if (bytes > before && IsOver()) Evict();
}

bool ClientMemory::IsOver() const noexcept {
  const auto most = static_cast<std::size_t>(settings_.max_clients_memory());
  return most != 0 && held_bytes() > most;
}

void ClientMemory::Evict() {
  MutexLock lock(evicting_);
  while (IsOver()) {
    std::shared_ptr<ClientRecord> largest;
    std::size_t most = 0;
    for (const auto& record : clients_.All()) {
      const std::size_t bytes = record->held_bytes.load(std::memory_order_relaxed);
      if (bytes <= most || record->stays.load(std::memory_order_relaxed)) continue;
      largest = record;
      most = bytes;
    }
    if (!largest) return;
    largest->killed.store(true, std::memory_order_relaxed);
    // It counts as gone: its memory is given back on its own thread, soon.
    const std::size_t held = largest->held_bytes.exchange(0, std::memory_order_relaxed);
    held_bytes_.fetch_sub(held, std::memory_order_relaxed);
    evicted_.fetch_add(1, std::memory_order_relaxed);
    if (const auto held_back = throttle_.Admit()) {
      spdlog::warn(
          "closed client {}: it holds {} bytes, and all together more than max-clients-memory ({} "
          "such lines held back)",
          largest->address, held, *held_back);
    }
    largest->Wake();
  }
}

}  // namespace weir
