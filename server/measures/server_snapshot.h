// The state of the server, as one INFO, one scrape or one answer of the page shows it. What several
// numbers need is read once, when the first of them asks for it.
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
#include "persistence/saver.h"
#include "server/config/options.h"
#include "server/observe/client_registry.h"
#include "server/os/memory.h"
#include "server/session/services.h"
#include "server/session/worker.h"
#include "server/state/state_on_disk.h"

namespace weir {

class ServerSnapshot {
 public:
  ServerSnapshot(Services& of_services, Instant of_now)
      : services(of_services), now(of_now), host_now(of_services.clock.HostNow()) {}
  ServerSnapshot(const ServerSnapshot&) = delete;
  ServerSnapshot& operator=(const ServerSnapshot&) = delete;

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
    return WordOf(services.state ? services.options.durability : Durability::kNone);
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

  // A counter, since the start or the last CONFIG RESETSTAT.
  [[nodiscard]] std::uint64_t Count(StatsRow<false> row) {
    if (!counters_) counters_ = services.totals.CountersOf(services);
    return (*counters_)[row.index()];
  }
  [[nodiscard]] std::uint64_t InLastSecond(StatsRow<true> row) const {
    std::uint64_t sum = 0;
    for (const Worker* worker : services.workers)
      sum += worker->counters.InLastSecond(row, host_now);
    return sum;
  }
  [[nodiscard]] const CommandRows& Commands() {
    if (!commands_) commands_ = services.totals.CommandsOf(services);
    return *commands_;
  }

  [[nodiscard]] const ReplicationStatus& Replication() {
    if (!replication_) replication_ = services.replication_status();
    return *replication_;
  }
  // The link of a replica; on a primary, one that is down.
  [[nodiscard]] const LinkStatus& Link() {
    static const LinkStatus kNone;
    return Replication().link ? *Replication().link : kNone;
  }
  // The time for which a primary with min-replicas-to-write may still admit if it hears no replica.
  [[nodiscard]] Nanos LeaseLeft() const {
    if (!services.replication) return Nanos{0};
    return std::max(services.replication->admits_until() - now, Nanos{0});
  }

  // Requires: the state is kept.
  [[nodiscard]] const StateOnDisk& state() const { return *services.state; }
  // The functions below require: it is loaded, too.
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

  // The Unix time of a time of this host, by the wall clock, which other hosts share.
  [[nodiscard]] Nanos UnixTime(HostInstant time) const {
    return time.time_since_epoch() + services.host_clock_offset();
  }

  Services& services;
  const Instant now;  // of decisions
  const HostInstant host_now;

 private:
  std::optional<LimiterUpkeep::Size> size_;
  std::optional<MemoryUse> memory_;
  std::optional<StatsNumbers> counters_;
  std::optional<CommandRows> commands_;
  std::optional<ReplicationStatus> replication_;
  std::optional<Saver::Status> saves_;
};

}  // namespace weir
