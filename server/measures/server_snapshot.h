// Reads the state of the server for one INFO or one scrape. A value that several fields need is
// measured once, when the first of them asks for it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/counter.h"
#include "core/base/instant.h"
#include "core/commands/request_counters.h"
#include "core/limiter/limiter.h"
#include "core/limiter/limiter_upkeep.h"
#include "persistence/saver.h"
#include "server/config/options.h"
#include "server/observe/client_registry.h"
#include "server/os/memory.h"
#include "server/session/services.h"
#include "server/session/worker.h"
#include "server/state/state_on_disk.h"

namespace weir {

[[nodiscard]] inline bool IsKept(const Services& services) { return services.state != nullptr; }
[[nodiscard]] inline bool IsLoaded(const Services& services) {
  return IsKept(services) && !services.admission().loading();
}

class ServerSnapshot {
 public:
  ServerSnapshot(Services& of_services, Instant of_now)
      : services(of_services), now(of_now), host_now(of_services.clock.HostNow()) {}
  ServerSnapshot(const ServerSnapshot&) = delete;
  ServerSnapshot& operator=(const ServerSnapshot&) = delete;

  [[nodiscard]] std::int64_t UptimeSeconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(host_now - services.started).count();
  }
  [[nodiscard]] std::int64_t TimeOffsetMillis() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(services.wall_clock_offset())
        .count();
  }
  [[nodiscard]] const LimiterUpkeep::Size& Size() {
    if (!size_) size_ = services.upkeep.size();
    return *size_;
  }
  [[nodiscard]] const MemoryUse& Memory() {
    if (!memory_) memory_ = MeasureMemory();
    return *memory_;
  }
  [[nodiscard]] ByteCount MaxMemory() const { return services.settings.Get(&Options::max_memory); }
  [[nodiscard]] std::string_view DurabilityWord() const {
    return WordOf(IsKept(services) ? services.options.durability : Durability::kNone);
  }
  // Clients of the ports for HTTP, the admin port among them.
  [[nodiscard]] std::size_t HttpConnections() const {
    return services.clients.size(Face::kHttp) + services.clients.size(Face::kAdmin);
  }
  // Requests to /check of all threads since the start.
  [[nodiscard]] std::uint64_t Checks() const {
    std::uint64_t sum = 0;
    for (const Worker* worker : services.workers) sum += worker->checks.value();
    return sum;
  }
  // Requests of all threads since the start.
  [[nodiscard]] std::uint64_t Requests(Counter RequestCounters::*counter) const {
    std::uint64_t sum = 0;
    for (const Worker* worker : services.workers)
      sum += (worker->request_counters.*counter).value();
    return sum;
  }

  [[nodiscard]] const ReplicationStatus& Replication() {
    if (!replication_) replication_ = services.replication_status();
    return *replication_;
  }
  // The time for which a primary with min-replicas-to-write may still admit if it hears no replica.
  [[nodiscard]] Nanos LeaseLeft() const {
    if (!services.replication) return Nanos{0};
    return std::max(services.replication->admits_until() - now, Nanos{0});
  }

  // The groups of replies, and clients in WAIT, that wait for replicas.
  [[nodiscard]] std::uint64_t AcksWaiting() const {
    return services.replication ? services.replication->acks().size() : 0;
  }

  // Requires: IsKept.
  [[nodiscard]] const StateOnDisk& state() const { return *services.state; }
  // The functions below require: IsLoaded.
  [[nodiscard]] const Saver::Status& Saves() {
    if (!saves_) saves_ = state().status();
    return *saves_;
  }
  // The changes of buckets that wait to be saved.
  [[nodiscard]] std::uint64_t UnsavedChanges() { return Size().changes + Saves().unsaved; }
  [[nodiscard]] HostInstant LastSave() { return Saves().last_save.value_or(services.started); }
  [[nodiscard]] Nanos SinceLastSave() { return std::max(host_now - LastSave(), Nanos{0}); }
  // The time whose admissions a crash now would lose: the time since the last save began, or 0 if
  // nothing has changed since.
  [[nodiscard]] Nanos LossBound() {
    const bool never = state().always() && Saves().error.empty();
    if (never || (UnsavedChanges() == 0 && !state().saving())) return Nanos{0};
    return SinceLastSave();
  }

  Services& services;
  const Instant now;  // of decisions
  const HostInstant host_now;

 private:
  std::optional<LimiterUpkeep::Size> size_;
  std::optional<MemoryUse> memory_;
  std::optional<ReplicationStatus> replication_;
  std::optional<Saver::Status> saves_;
};

}  // namespace weir
