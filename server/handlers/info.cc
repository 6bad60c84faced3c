#include "server/handlers/info.h"

#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <gnu/libc-version.h>

#include "core/base/status.h"
#include "server/config/version.h"
#include "server/os/ignore_case.h"
#include "server/os/log.h"
#include "server/os/memory.h"
#include "server/session/call.h"

namespace weir {
namespace {

// Writes one section.
class Lines {
 public:
  explicit Lines(std::string& text) : text_(text) {}
  template <typename Value>
  void Add(std::string_view field, const Value& value) {
    absl::StrAppend(&text_, AbslView(field), ":", value, "\r\n");
  }

 private:
  std::string& text_;
};

std::uint64_t Sum(const Services& services, Counter Tally::*counter) {
  std::uint64_t sum = 0;
  for (const Worker* worker : services.workers) sum += (worker->tally.*counter).value();
  return sum;
}

void AddServer(Lines& lines, Services& services, Instant now) {
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(now - services.started);
  utsname system{};
  uname(&system);
  lines.Add("redis_version", AbslView(kRedisVersion));
  lines.Add("redis_mode", "standalone");
  lines.Add("weir_version", AbslView(kVersion));
  lines.Add("os", absl::StrCat(system.sysname, " ", system.release, " ", system.machine));
  lines.Add("arch_bits", 64);
  lines.Add("multiplexing_api", "epoll");
  lines.Add("process_id", getpid());
  lines.Add("run_id", services.run_id);
  lines.Add("tcp_port", services.port);
  lines.Add("io_threads_active", services.workers.size());
  lines.Add("server_time_usec",
            std::chrono::floor<std::chrono::microseconds>(now.time_since_epoch()).count());
  lines.Add("uptime_in_seconds", uptime.count());
  lines.Add("uptime_in_days", uptime.count() / 86'400);
}

void AddClients(Lines& lines, Services& services, Instant) {
  lines.Add("connected_clients", services.clients.size());
  lines.Add("blocked_clients", services.waiters.load());
  lines.Add("maxclients", services.settings.Get(&Options::max_clients));
}

// As Redis prints it: "1.50M".
std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "BKMGTP";
  if (bytes < 1024) return absl::StrCat(bytes, "B");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.2f%c", value, kUnits[unit]);
}

std::string Ratio(std::uint64_t a, std::uint64_t b) {
  return absl::StrFormat(
      "%.2f", static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1)));
}

std::uint64_t SystemMemory() {
  struct sysinfo system {};
  sysinfo(&system);
  return std::uint64_t{system.totalram} * system.mem_unit;
}

// The peak is the process's: the most that it had in memory, by the kernel's count.
void AddMemory(Lines& lines, Services& services, Instant) {
  const MemoryUse memory = MeasureMemory();
  const auto add = [&lines](std::string_view field, std::uint64_t bytes) {
    lines.Add(field, bytes);
    lines.Add(absl::StrCat(AbslView(field), "_human"), HumanBytes(bytes));
  };
  add("used_memory", memory.heap);
  add("used_memory_rss", memory.resident);
  add("used_memory_peak", memory.resident_peak);
  add("total_system_memory", SystemMemory());
  const ByteCount memory_max = services.settings.Get(&Options::max_memory);
  add("maxmemory", static_cast<std::uint64_t>(memory_max.bytes));
  lines.Add("maxmemory_policy", AbslView(EvictionPolicy(memory_max)));
  lines.Add("mem_clients_normal", services.client_memory.held_bytes());
  lines.Add("mem_fragmentation_ratio", Ratio(memory.resident, memory.heap));
  lines.Add("mem_allocator", absl::StrCat("glibc-", gnu_get_libc_version()));
}

// How much of what was admitted a crash just now would forget: what came since the last save began,
// if anything did.
Nanos LossBound(const Services& services, const Saver::Status& status, std::size_t changes,
                Instant now) {
  const bool never = services.state->always() && status.error.empty();
  if (never || (changes == 0 && !services.state->saving())) return Nanos{0};
  return std::max(now - status.last_save.value_or(services.started), Nanos{0});
}

void AddSaves(Lines& lines, Services& services, Instant now) {
  const Saver::Status status = services.state->status();
  const std::size_t changes = services.limiter.size().changes;
  const Instant last = status.last_save.value_or(services.started);
  lines.Add("rdb_changes_since_last_save", changes);
  lines.Add("rdb_bgsave_in_progress", services.state->saving() ? 1 : 0);
  lines.Add("rdb_last_save_time",
            std::chrono::floor<std::chrono::seconds>(last.time_since_epoch()).count());
  lines.Add("rdb_last_bgsave_status", status.error.empty() ? "ok" : "err");
  lines.Add("rdb_saves", status.saves);
  lines.Add("persist_status", status.error.empty() ? "ok" : "failing");
  lines.Add("persist_error", EscapedForLog(status.error));
  lines.Add("persist_failures", status.failures);
  lines.Add("last_save_age_ms", CeilMillis(std::max(now - last, Nanos{0})));
  lines.Add("last_save_duration_ms", CeilMillis(status.last_save_duration));
  lines.Add("last_save_buckets", status.last_save_records);
  lines.Add("loss_bound_ms", CeilMillis(LossBound(services, status, changes, now)));
  lines.Add("dirty_buckets", changes);
}

void AddPersistence(Lines& lines, Services& services, Instant now) {
  lines.Add("loading", services.loading() ? 1 : 0);
  lines.Add("aof_enabled", 0);
  lines.Add("aof_rewrite_in_progress", 0);
  const Durability durability = services.state ? services.options.durability : Durability::kNone;
  lines.Add("durability", AbslView(WordOf(durability)));
  if (!services.state) return lines.Add("rdb_bgsave_in_progress", 0);
  const LoadReport& report = services.state->load_report();
  lines.Add("unclean_restart", services.state->unclean_restart() ? 1 : 0);
  lines.Add("loaded_buckets", report.loaded.load());
  lines.Add("dropped_buckets", report.dropped.load());
  lines.Add("bad_records", report.bad.load());
  lines.Add("load_duration_ms", CeilMillis(services.state->load_time()));
  if (!services.loading()) AddSaves(lines, services, now);
}

void AddStats(Lines& lines, Services& services, Instant now) {
  const StatsNumbers counts = services.stats_report.CountersOf(services);
  StatsNumbers rates{};
  for (const Worker* worker : services.workers) {
    AddTotals(rates, worker->counters.InLastSecond(now));
  }
  for (std::size_t i = 0; i < kStatsFieldCount; ++i) {
    switch (kStatsFields[i].kind) {
      case StatsField::Kind::kCounter:
        lines.Add(kStatsFields[i].name, absl::StrCat(counts[i]));
        break;
      case StatsField::Kind::kRate:
        lines.Add(kStatsFields[i].name, absl::StrCat(rates[i]));
        break;
      case StatsField::Kind::kKilobytesRate:
        lines.Add(kStatsFields[i].name, Ratio(rates[i], 1024));
        break;
    }
  }
}

void AddReplication(Lines& lines, Services&, Instant) {
  lines.Add("role", "master");
  lines.Add("connected_slaves", 0);
}

void AddCpu(Lines& lines, Services&, Instant) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return absl::StrFormat("%d.%06d", time.tv_sec, time.tv_usec);
  };
  lines.Add("used_cpu_sys", seconds(usage.ru_stime));
  lines.Add("used_cpu_user", seconds(usage.ru_utime));
}

// There are none.
void AddModules(Lines&, Services&, Instant) {}

std::string Lower(std::string_view name) { return absl::AsciiStrToLower(AbslView(name)); }

void AddCommandStats(Lines& lines, Services& services, Instant) {
  for (const auto& [spec, row] : services.stats_report.CommandsOf(services)) {
    const std::uint64_t calls = TotalOf(row.times);
    const double micros = static_cast<double>(row.nanos) / 1000;
    const double mean = calls == 0 ? 0 : micros / static_cast<double>(calls);
    lines.Add(
        absl::StrCat("cmdstat_", Lower(spec->name)),
        absl::StrFormat("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
                        calls, row.nanos / 1000, mean, row.rejected, row.failed));
  }
}

void AddErrorStats(Lines& lines, Services& services, Instant) {
  for (const auto& [prefix, count] : services.stats_report.ErrorsOf(services)) {
    lines.Add(absl::StrCat("errorstat_", prefix), absl::StrCat("count=", count));
  }
}

void AddLatencyStats(Lines& lines, Services& services, Instant) {
  for (const auto& [spec, row] : services.stats_report.CommandsOf(services)) {
    if (TotalOf(row.times) == 0) continue;
    const auto micros = [&times = row.times](std::uint64_t permille) {
      return static_cast<double>(Percentile(times, permille).count()) / 1000;
    };
    lines.Add(
        absl::StrCat("latency_percentiles_usec_", Lower(spec->name)),
        absl::StrFormat("p50=%.3f,p99=%.3f,p99.9=%.3f", micros(500), micros(990), micros(999)));
  }
}

void AddCluster(Lines& lines, Services&, Instant) { lines.Add("cluster_enabled", 0); }

void AddKeyspace(Lines& lines, Services& services, Instant now) {
  const std::size_t buckets = services.CountBuckets(now);
  if (buckets == 0) return;
  lines.Add("db0", absl::StrCat("keys=", buckets, ",expires=", buckets, ",avg_ttl=0"));
}

void AddWeir(Lines& lines, Services& services, Instant) {
  const Limiter::Size size = services.limiter.size();
  lines.Add("buckets", size.buckets);
  lines.Add("limits", size.limits);
  lines.Add("table_bytes", size.table_bytes);
  lines.Add("allowed", Sum(services, &Tally::allowed));
  lines.Add("denied", Sum(services, &Tally::denied));
  lines.Add("evicted", services.limiter.evicted());
  lines.Add("sweeper_laps", services.sweeper.laps());
  lines.Add("sweeper_dropped", services.sweeper.dropped());
  lines.Add("explicit_time", services.explicit_time.allowed() ? 1 : 0);
  lines.Add(
      "time_offset_ms",
      std::chrono::duration_cast<std::chrono::milliseconds>(services.wall_clock_offset()).count());
}

struct Section {
  std::string_view name;
  void (*add)(Lines&, Services&, Instant);
  bool is_default = true;
};

constexpr std::array kSections = {Section{"Server", AddServer},
                                  Section{"Clients", AddClients},
                                  Section{"Memory", AddMemory},
                                  Section{"Persistence", AddPersistence},
                                  Section{"Stats", AddStats},
                                  Section{"Replication", AddReplication},
                                  Section{"CPU", AddCpu},
                                  Section{"Modules", AddModules},
                                  Section{"Commandstats", AddCommandStats, false},
                                  Section{"Errorstats", AddErrorStats},
                                  Section{"Latencystats", AddLatencyStats, false},
                                  Section{"Cluster", AddCluster},
                                  Section{"Keyspace", AddKeyspace},
                                  Section{"Weir", AddWeir}};

bool IsWanted(const Section& section, std::span<const std::string_view> wanted) {
  if (wanted.empty()) return section.is_default;
  return std::ranges::any_of(wanted, [&](std::string_view name) {
    return EqualsIgnoreCase(name, section.name) || EqualsIgnoreCase(name, "all") ||
           EqualsIgnoreCase(name, "everything") ||
           (section.is_default && EqualsIgnoreCase(name, "default"));
  });
}

}  // namespace

std::string InfoText(Services& services, Instant now, std::span<const std::string_view> sections) {
  std::string text;
  for (const Section& section : kSections) {
    if (!IsWanted(section, sections)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\r\n", "# ", AbslView(section.name), "\r\n");
    Lines lines(text);
    section.add(lines, services, now);
  }
  return text;
}

}  // namespace weir
