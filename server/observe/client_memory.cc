#include "server/observe/client_memory.h"

#include <memory>

#include <spdlog/spdlog.h>

namespace weir {

std::size_t ClientMemory::held_bytes() const {
  MutexLock lock(mutex_);
  return held_bytes_;
}

std::uint64_t ClientMemory::evicted() const {
  MutexLock lock(mutex_);
  return evicted_;
}

void ClientMemory::Enforce() {
  MutexLock lock(mutex_);
  Evict();
}

void ClientMemory::Change(ClientRecord& record, std::size_t bytes) {
  MutexLock lock(mutex_);
  // Who is closed gives all of it back, on his own thread; nobody else is to go for it.
  if (record.killed.load(std::memory_order_relaxed)) bytes = 0;
  const bool grows = bytes > record.held_bytes.load(std::memory_order_relaxed);
  Hold(record, bytes);
  if (grows) Evict();
}

void ClientMemory::Hold(ClientRecord& record, std::size_t bytes) {
  held_bytes_ -= record.held_bytes.load(std::memory_order_relaxed);
  held_bytes_ += bytes;
  record.held_bytes.store(bytes, std::memory_order_relaxed);
}

void ClientMemory::Evict() {
  const auto most = static_cast<std::size_t>(settings_.max_clients_memory());
  while (most != 0 && held_bytes_ > most) {
    std::shared_ptr<ClientRecord> largest;
    for (const auto& record : clients_.All()) {
      const std::size_t bytes = record->held_bytes.load(std::memory_order_relaxed);
      if (bytes == 0 || record->stays.load(std::memory_order_relaxed)) continue;
      if (!largest || bytes > largest->held_bytes.load(std::memory_order_relaxed)) largest = record;
    }
    if (!largest) return;
    const std::size_t held = largest->held_bytes.load(std::memory_order_relaxed);
    largest->killed.store(true, std::memory_order_relaxed);
    Hold(*largest, 0);
    ++evicted_;
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
