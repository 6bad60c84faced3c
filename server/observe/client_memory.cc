#include "server/observe/client_memory.h"

#include <algorithm>

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
  // A killed client frees its memory on its own thread, so it no longer counts here.
  if (record.killed.load(std::memory_order_relaxed)) bytes = 0;
  const bool grows = bytes > record.held_bytes.load(std::memory_order_relaxed);
  Store(record, bytes);
  if (grows) Evict();
}

void ClientMemory::Store(ClientRecord& record, std::size_t bytes) {
  const std::size_t before = record.held_bytes.load(std::memory_order_relaxed);
  if (before != 0) holders_.erase({before, &record});
  if (bytes != 0) holders_.insert({bytes, &record});
  held_bytes_ = held_bytes_ - before + bytes;
  record.held_bytes.store(bytes, std::memory_order_relaxed);
}

void ClientMemory::Evict() {
  const auto most = static_cast<std::size_t>(settings_.Get(&Options::max_clients_memory).bytes);
  while (most != 0 && held_bytes_ > most) {
    const auto largest = std::find_if(holders_.rbegin(), holders_.rend(), [](const auto& holder) {
      return !holder.second->stays.load(std::memory_order_relaxed);
    });
    if (largest == holders_.rend()) return;
    const auto [held, record] = *largest;
    record->killed.store(true, std::memory_order_relaxed);
    Store(*record, 0);
    ++evicted_;
    if (const auto suppressed = throttle_.Admit()) {
      spdlog::warn(
          "closed client {}: it used the most memory, {} bytes, when all clients used more than "
          "max-clients-memory ({} similar lines suppressed)",
          record->address, held, *suppressed);
    }
    record->Wake();
  }
}

}  // namespace weir
