#include "server/handlers/info.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gnu/libc-version.h>

#include "core/base/ignore_case.h"
#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "core/limiter/limiter_upkeep.h"
#include "server/config/version.h"
#include "server/health/health_watch.h"
#include "server/measures/server_snapshot.h"
#include "server/os/log.h"
#include "server/session/worker.h"

namespace weir {

namespace {

void AddLine(std::string& text, std::string_view name, std::string_view value) {
  absl::StrAppend(&text, AbslView(name), ":", AbslView(value), "\r\n");
}

// A size as Redis prints it: "1.50M".
std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "BKMGTP";
  if (bytes < 1024) return absl::StrCat(bytes, "B");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.2f%c", value, kUnits[unit]);
}

std::string Ratio(std::uint64_t dividend, std::uint64_t divisor) {
  return absl::StrFormat("%.2f", static_cast<double>(dividend) /
                                     static_cast<double>(std::max<std::uint64_t>(divisor, 1)));
}

std::string SystemName() {
  utsname system{};
  uname(&system);
  return absl::StrCat(system.sysname, " ", system.release, " ", system.machine);
}

std::uint64_t SystemMemory() {
  struct sysinfo system {};
  sysinfo(&system);
  return std::uint64_t{system.totalram} * system.mem_unit;
}

std::string ProcessorSeconds(timeval rusage::*time) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return absl::StrFormat("%d.%06d", (usage.*time).tv_sec, (usage.*time).tv_usec);
}

template <typename Duration>
std::int64_t Since1970(auto time) {
  return std::chrono::floor<Duration>(time.time_since_epoch()).count();
}

// The text of a number, a bool ("0" or "1") or a string.
template <typename Value>
std::string InfoValue(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "1" : "0";
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return absl::StrCat(value);
  } else {
    return std::string(value);
  }
}

// A row for one field; `Read` is a lambda without captures.
template <typename Read>
constexpr InfoField FieldIf(bool (*exists)(const Services&), std::string_view name, Read /*read*/) {
  return {.name = name,
          .read = [](ServerSnapshot& info) { return InfoValue(Read{}(info)); },
          .exists = exists};
}
template <typename Read>
constexpr InfoField Field(std::string_view name, Read read) {
  return FieldIf(nullptr, name, read);
}
// A row for two fields: the bytes, and `name_human`, the size for people.
template <typename Read>
constexpr InfoField BytesField(std::string_view name, Read read) {
  InfoField field = Field(name, read);
  field.read_human = [](ServerSnapshot& info) {
    return HumanBytes(static_cast<std::uint64_t>(Read{}(info)));
  };
  return field;
}

bool IsNotLoading(const Services& services) { return !services.admission().loading(); }

constexpr InfoField kServerFields[] = {
    Field("redis_version", [](auto&) { return kRedisVersion; }),
    Field("redis_mode", [](auto&) { return "standalone"; }),
    Field("weir_version", [](auto&) { return kVersion; }),
    Field("os", [](auto&) { return SystemName(); }),
    Field("arch_bits", [](auto&) { return 64; }),
    Field("multiplexing_api", [](auto&) { return "epoll"; }),
    Field("process_id", [](auto&) { return getpid(); }),
    Field("run_id", [](auto& info) { return info.services.run_id; }),
    Field("tcp_port", [](auto& info) { return info.services.port; }),
    Field("io_threads_active", [](auto& info) { return info.services.workers.size(); }),
    Field("server_time_usec",
          [](auto& info) { return Since1970<std::chrono::microseconds>(info.now); }),
    Field("uptime_in_seconds", [](auto& info) { return info.UptimeSeconds(); }),
    Field("uptime_in_days", [](auto& info) { return info.UptimeSeconds() / 86'400; }),
};

constexpr InfoField kClientsFields[] = {
    Field("connected_clients", [](auto& info) { return info.services.clients.size(Face::kResp); }),
    Field("pubsub_clients",
          [](auto& info) {
            return std::ranges::count_if(info.services.clients.All(), [](const auto& record) {
              return record->is_subscribed();
            });
          }),
    Field("blocked_clients", [](auto& info) { return info.services.waiters.load(); }),
    Field("maxclients",
          [](auto& info) { return info.services.settings.Get(&Options::max_clients); }),
};

constexpr InfoField kMemoryFields[] = {
    BytesField("used_memory", [](auto& info) { return info.Memory().heap; }),
    BytesField("used_memory_rss", [](auto& info) { return info.Memory().resident; }),
    BytesField("used_memory_peak", [](auto& info) { return info.Memory().resident_peak; }),
    BytesField("total_system_memory", [](auto&) { return SystemMemory(); }),
    BytesField("maxmemory", [](auto& info) { return info.MaxMemory().bytes; }),
    Field("maxmemory_policy", [](auto& info) { return EvictionPolicy(info.MaxMemory()); }),
    Field("mem_clients_normal",
          [](auto& info) { return info.services.client_memory.held_bytes(); }),
    Field("mem_fragmentation_ratio",
          [](auto& info) { return Ratio(info.Memory().resident, info.Memory().heap); }),
    Field("mem_allocator", [](auto&) { return absl::StrCat("glibc-", gnu_get_libc_version()); }),
};

constexpr InfoField kPersistenceFields[] = {
    Field("loading", [](auto& info) { return info.services.admission().is_preparing(); }),
    Field("aof_enabled", [](auto&) { return 0; }),
    Field("aof_rewrite_in_progress", [](auto&) { return 0; }),
    Field("durability", [](auto& info) { return info.DurabilityWord(); }),
    FieldIf(IsKept, "unclean_restart", [](auto& info) { return info.state().unclean_restart(); }),
    FieldIf(IsKept, "loaded_buckets",
            [](auto& info) { return info.state().load_report().loaded.load(); }),
    FieldIf(IsKept, "dropped_buckets",
            [](auto& info) { return info.state().load_report().dropped.load(); }),
    FieldIf(IsKept, "bad_records",
            [](auto& info) { return info.state().load_report().bad.load(); }),
    FieldIf(IsKept, "load_duration_ms",
            [](auto& info) { return CeilMillis(info.state().load_time()); }),
    FieldIf(IsLoaded, "rdb_changes_since_last_save",
            [](auto& info) { return info.UnsavedChanges(); }),
    FieldIf(IsNotLoading, "rdb_bgsave_in_progress",
            [](auto& info) { return IsKept(info.services) && info.state().saving(); }),
    FieldIf(IsLoaded, "rdb_last_save_time",
            [](auto& info) { return Since1970<std::chrono::seconds>(info.LastSave()); }),
    FieldIf(IsLoaded, "rdb_last_bgsave_status",
            [](auto& info) { return info.Saves().error.empty() ? "ok" : "err"; }),
    FieldIf(IsLoaded, "rdb_saves", [](auto& info) { return info.Saves().saves; }),
    FieldIf(IsLoaded, "persist_status",
            [](auto& info) { return info.Saves().error.empty() ? "ok" : "failing"; }),
    FieldIf(IsLoaded, "persist_error",
            [](auto& info) { return EscapedForLog(info.Saves().error); }),
    FieldIf(IsLoaded, "persist_failures", [](auto& info) { return info.Saves().failures; }),
    FieldIf(IsLoaded, "last_save_age_ms",
            [](auto& info) { return CeilMillis(info.SinceLastSave()); }),
    FieldIf(IsLoaded, "last_save_duration_ms",
            [](auto& info) { return CeilMillis(info.Saves().last_save_duration); }),
    FieldIf(IsLoaded, "last_save_buckets",
            [](auto& info) { return info.Saves().last_save_records; }),
    FieldIf(IsLoaded, "loss_bound_ms", [](auto& info) { return CeilMillis(info.LossBound()); }),
    FieldIf(IsLoaded, "dirty_buckets", [](auto& info) { return info.UnsavedChanges(); }),
};

constexpr InfoField kCpuFields[] = {
    Field("used_cpu_sys", [](auto&) { return ProcessorSeconds(&rusage::ru_stime); }),
    Field("used_cpu_user", [](auto&) { return ProcessorSeconds(&rusage::ru_utime); }),
};

constexpr InfoField kClusterFields[] = {
    Field("cluster_enabled", [](auto&) { return 0; }),
};

constexpr InfoField kWeirFields[] = {
    Field("health", [](auto& info) { return WordOf(HealthOf(info.services)->state); }),
    Field("health_reasons", [](auto& info) { return CodesOf(*HealthOf(info.services)); }),
    Field("buckets", [](auto& info) { return info.Size().buckets; }),
    Field("limits", [](auto& info) { return info.Size().limits; }),
    Field("table_bytes", [](auto& info) { return info.Size().table_bytes; }),
    Field("allowed", [](auto& info) { return info.Requests(&RequestCounters::allowed); }),
    Field("denied", [](auto& info) { return info.Requests(&RequestCounters::denied); }),
    Field("bans", [](auto& info) { return info.Requests(&RequestCounters::bans); }),
    Field("checks", [](auto& info) { return info.Checks(); }),
    Field("http_connections", [](auto& info) { return info.HttpConnections(); }),
    Field("evicted", [](auto& info) { return info.services.upkeep.counts().evicted; }),
    Field("holds", [](auto& info) { return info.services.upkeep.counts().open_holds; }),
    Field("holds_expired", [](auto& info) { return info.services.upkeep.counts().expired_holds; }),
    Field("holds_committed",
          [](auto& info) {
            const LimiterUpkeep::Counts counts = info.services.upkeep.counts();
            return counts.settled_holds - counts.cancelled_holds;
          }),
    Field("holds_cancelled",
          [](auto& info) { return info.services.upkeep.counts().cancelled_holds; }),
    Field("sweeper_laps", [](auto& info) { return info.services.sweeper.laps(); }),
    Field("sweeper_dropped", [](auto& info) { return info.services.sweeper.dropped(); }),
    Field("explicit_time", [](auto& info) { return info.services.explicit_time.allowed(); }),
    Field("time_offset_ms", [](auto& info) { return info.TimeOffsetMillis(); }),
};

void ListCounters(ServerSnapshot& info, std::string& text) {
  const StatsNumbers counts = info.services.totals.CountersOf(info.services);
  StatsNumbers rates{};
  for (const Worker* worker : info.services.workers) {
    AddTotals(rates, worker->counters.InLastSecond(info.host_now));
  }
  for (std::size_t i = 0; i < kStatsFieldCount; ++i) {
    switch (kStatsFields[i].kind) {
      case StatsField::Kind::kCounter:
        AddLine(text, kStatsFields[i].name, absl::StrCat(counts[i]));
        break;
      case StatsField::Kind::kRate:
        AddLine(text, kStatsFields[i].name, absl::StrCat(rates[i]));
        break;
      case StatsField::Kind::kKilobytesRate:
        AddLine(text, kStatsFields[i].name, Ratio(rates[i], 1024));
        break;
    }
  }
  const Channels& channels = info.services.channels;
  AddLine(text, "pubsub_channels", absl::StrCat(channels.Count(SubscriptionKind::kChannel)));
  AddLine(text, "pubsub_patterns", absl::StrCat(channels.Count(SubscriptionKind::kPattern)));
}

void ListCommands(ServerSnapshot& info, std::string& text) {
  for (const auto& [spec, row] : info.services.totals.CommandsOf(info.services)) {
    const std::uint64_t calls = TotalOf(row.times);
    const double micros = static_cast<double>(row.nanos) / 1000;
    const double mean = calls == 0 ? 0 : micros / static_cast<double>(calls);
    AddLine(text, absl::StrCat("cmdstat_", LowerName(*spec)),
            absl::StrFormat("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
                            calls, row.nanos / 1000, mean, row.rejected, row.failed));
  }
}

void ListErrors(ServerSnapshot& info, std::string& text) {
  for (const auto& [prefix, count] : info.services.totals.ErrorsOf(info.services)) {
    AddLine(text, absl::StrCat("errorstat_", prefix), absl::StrCat("count=", count));
  }
}

void ListLatencies(ServerSnapshot& info, std::string& text) {
  for (const auto& [spec, row] : info.services.totals.CommandsOf(info.services)) {
    if (TotalOf(row.times) == 0) continue;
    const auto micros = [&times = row.times](std::uint64_t permille) {
      return static_cast<double>(Percentile(times, permille).count()) / 1000;
    };
    AddLine(text, absl::StrCat("latency_percentiles_usec_", LowerName(*spec)),
            absl::StrFormat("p50=%.3f,p99=%.3f,p99.9=%.3f", micros(500), micros(990), micros(999)));
  }
}

template <typename Value>
void AddField(std::string& text, std::string_view name, const Value& value) {
  AddLine(text, name, InfoValue(value));
}

std::int64_t WholeSeconds(Nanos span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

// Of a replica. Sentinel never promotes one with priority 0.
void ListLink(ServerSnapshot& info, const LinkStatus& link, std::string& text) {
  const Settings& settings = info.services.settings;
  const ReplicationStatus& status = info.Replication();
  AddField(text, "master_host", link.primary.host);
  AddField(text, "master_port", link.primary.port);
  AddField(text, "master_link_status", link.up ? "up" : "down");
  AddField(text, "master_last_io_seconds_ago",
           link.since_last_io ? WholeSeconds(*link.since_last_io) : -1);
  AddField(text, "master_sync_in_progress", link.state == LinkState::kSync);
  AddField(text, "slave_read_repl_offset", link.read_offset);
  AddField(text, "slave_repl_offset", status.offset);
  if (!link.up) AddField(text, "master_link_down_since_seconds", WholeSeconds(link.down_for));
  const bool is_heir = link.complete && !status.distrusted &&
                       !info.services.admission().cannot_save() &&
                       !(link.up && info.services.is_save_failing());
  AddField(text, "slave_priority",
           is_heir ? settings.Get(&Options::replica_priority) : std::int64_t{0});
  AddField(text, "slave_read_only", true);
  AddField(text, "replica_announced", settings.Get(&Options::replica_announced));
}

// The fields of Redis, in its order, then weir's own.
void ListReplication(ServerSnapshot& info, std::string& text) {
  const ReplicationStatus& status = info.Replication();
  AddField(text, "role", status.link ? "slave" : "master");
  if (status.link) ListLink(info, *status.link, text);
  AddField(text, "connected_slaves", status.replicas.size());
  const bool leases =
      !status.link && info.services.settings.Get(&Options::min_replicas_to_write) > 0;
  if (leases) AddField(text, "min_slaves_good_slaves", status.good_replicas);
  for (std::size_t i = 0; i < status.replicas.size(); ++i) {
    const ReplicaStatus& replica = status.replicas[i];
    AddLine(text, absl::StrCat("slave", i),
            absl::StrCat("ip=", replica.ip, ",port=", replica.port,
                         ",state=", replica.online ? "online" : "send_bulk",
                         ",offset=", replica.offset, ",lag=", WholeSeconds(replica.lag)));
  }
  AddField(text, "master_failover_state", WordOf(status.failover));
  AddField(text, "master_replid", status.replid);
  AddField(text, "master_replid2", status.replid2);
  AddField(text, "master_repl_offset", status.offset);
  AddField(text, "second_repl_offset",
           status.until ? static_cast<std::int64_t>(*status.until) : std::int64_t{-1});
  AddField(text, "repl_backlog_active", status.backlog.active);
  AddField(text, "repl_backlog_size",
           info.services.settings.Get(&Options::repl_backlog_size).bytes);
  AddField(text, "repl_backlog_first_byte_offset", status.backlog.first_offset);
  AddField(text, "repl_backlog_histlen", status.backlog.bytes);
  AddField(text, "term", status.term);
  AddField(text, "deposed", status.deposed);
  if (!info.services.options.sentinel.empty()) {
    AddField(text, "sentinel_epoch",
             status.sentinel_epoch ? static_cast<std::int64_t>(*status.sentinel_epoch)
                                   : std::int64_t{-1});
  }
  if (status.link) {
    AddField(text, "complete", status.link->complete);
    const std::optional<Nanos> age = status.link->data_age;
    AddField(text, "data_age_ms", age ? CeilMillis(*age) : std::int64_t{-1});
    AddField(text, "sync_partitions_left", status.link->partitions_left);
    AddField(
        text, "time_shift_ms",
        std::chrono::duration_cast<std::chrono::milliseconds>(status.link->time_shift).count());
  } else {
    AddField(text, "failover_loss_bound_ms",
             status.loss_bound ? CeilMillis(*status.loss_bound) : std::int64_t{-1});
    if (leases) AddField(text, "lease_ms", CeilMillis(info.LeaseLeft()));
    if (const auto acks = info.services.settings.Get(&Options::ack_replicas); acks > 0) {
      AddField(text, "ack_replicas", acks);
      AddField(text, "acks_waiting", info.AcksWaiting());
    }
    AddField(text, "sync_partitions_sent", status.partitions_sent);
  }
}

void ListKeyspace(ServerSnapshot& info, std::string& text) {
  const std::size_t buckets = info.services.CountBuckets(info.now);
  if (buckets == 0) return;
  AddLine(text, "db0", absl::StrCat("keys=", buckets, ",expires=", buckets, ",avg_ttl=0"));
}

// The sections in the order of the text.
constexpr InfoSection kSections[] = {
    {.name = "Server", .fields = kServerFields},
    {.name = "Clients", .fields = kClientsFields},
    {.name = "Memory", .fields = kMemoryFields},
    {.name = "Persistence", .fields = kPersistenceFields},
    {.name = "Stats", .list = ListCounters},
    {.name = "Replication", .list = ListReplication},
    {.name = "CPU", .fields = kCpuFields},
    {.name = "Modules"},  // empty: the server has none
    {.name = "Commandstats", .list = ListCommands, .is_default = false},
    {.name = "Errorstats", .list = ListErrors},
    {.name = "Latencystats", .list = ListLatencies, .is_default = false},
    {.name = "Cluster", .fields = kClusterFields},
    {.name = "Keyspace", .list = ListKeyspace},
    {.name = "Weir", .fields = kWeirFields},
};

bool IsWanted(const InfoSection& section, std::span<const std::string_view> wanted) {
  if (wanted.empty()) return section.is_default;
  return std::ranges::any_of(wanted, [&](std::string_view name) {
    return EqualsIgnoreCase(name, section.name) || EqualsIgnoreCase(name, "all") ||
           EqualsIgnoreCase(name, "everything") ||
           (section.is_default && EqualsIgnoreCase(name, "default"));
  });
}

}  // namespace

std::span<const InfoSection> InfoSections() { return kSections; }

std::string InfoText(Services& services, Instant now, std::span<const std::string_view> sections) {
  ServerSnapshot info(services, now);
  std::string text;
  for (const InfoSection& section : kSections) {
    if (!IsWanted(section, sections)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\r\n", "# ", AbslView(section.name), "\r\n");
    if (section.list != nullptr) section.list(info, text);
    for (const InfoField& field : section.fields) {
      if (field.exists != nullptr && !field.exists(services)) continue;
      AddLine(text, field.name, field.read(info));
      if (field.read_human == nullptr) continue;
      AddLine(text, absl::StrCat(AbslView(field.name), "_human"), field.read_human(info));
    }
  }
  return text;
}

}  // namespace weir
