#include "server/info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include <malloc.h>

#include "core/status.h"
#include "server/ignore_case.h"
#include "server/log.h"
#include "server/version.h"

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

std::uint64_t Sum(const Services& services, Counter Counters::*counter) {
  std::uint64_t sum = 0;
  for (const Worker* worker : services.workers) sum += (worker->counters.*counter).value();
  return sum;
}

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
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
  lines.Add("process_id", getpid());
  lines.Add("run_id", services.run_id);
  lines.Add("tcp_port", services.port);
  lines.Add("io_threads_active", services.workers.size());
  lines.Add("uptime_in_seconds", uptime.count());
  lines.Add("uptime_in_days", uptime.count() / 86'400);
}

void AddClients(Lines& lines, Services& services, Instant) {
  lines.Add("connected_clients", services.clients.size());
  lines.Add("blocked_clients", services.waiters.load());
  lines.Add("maxclients", services.settings.max_clients());
}

void AddMemory(Lines& lines, Services& services, Instant) {
  const struct mallinfo2 heap = mallinfo2();
  lines.Add("used_memory", heap.uordblks + heap.hblkhd);
  lines.Add("used_memory_rss", ResidentBytes());
  const std::int64_t memory_max = services.settings.max_memory();
  lines.Add("maxmemory", memory_max);
  // What is nearest to full goes first, and a key is gone when its buckets are full.
  lines.Add("maxmemory_policy", memory_max == 0 ? "noeviction" : "volatile-ttl");
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
  lines.Add("durability", services.state ? services.options.durability : "none");
  if (!services.state) return lines.Add("rdb_bgsave_in_progress", 0);
  const LoadReport& report = services.state->load_report();
  lines.Add("unclean_restart", services.state->was_cut_short() ? 1 : 0);
  lines.Add("loaded_buckets", report.loaded.load());
  lines.Add("dropped_buckets", report.dropped.load());
  lines.Add("bad_records", report.bad.load());
  lines.Add("load_duration_ms", CeilMillis(services.state->load_time()));
  if (!services.loading()) AddSaves(lines, services, now);
}

void AddStats(Lines& lines, Services& services, Instant) {
  lines.Add("total_connections_received", services.connections_received.load());
  lines.Add("total_commands_processed", Sum(services, &Counters::commands));
  lines.Add("total_net_input_bytes", Sum(services, &Counters::input_bytes));
  lines.Add("total_net_output_bytes", Sum(services, &Counters::output_bytes));
  lines.Add("rejected_connections", services.connections_rejected.load());
  lines.Add("expired_keys", services.sweeper.dropped());
  lines.Add("evicted_keys", services.limiter.evicted());
  lines.Add("total_error_replies", Sum(services, &Counters::errors));
  lines.Add("protocol_errors", Sum(services, &Counters::protocol_errors));
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
  lines.Add("allowed", Sum(services, &Counters::allowed));
  lines.Add("denied", Sum(services, &Counters::denied));
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
};

constexpr std::array<Section, 10> kSections = {{{"Server", AddServer},
                                                {"Clients", AddClients},
                                                {"Memory", AddMemory},
                                                {"Persistence", AddPersistence},
                                                {"Stats", AddStats},
                                                {"Replication", AddReplication},
                                                {"CPU", AddCpu},
                                                {"Cluster", AddCluster},
                                                {"Keyspace", AddKeyspace},
                                                {"Weir", AddWeir}}};

bool IsWanted(std::string_view section, std::span<const std::string_view> wanted) {
  constexpr std::array<std::string_view, 3> kAll = {"all", "everything", "default"};
  return wanted.empty() || std::ranges::any_of(wanted, [&](std::string_view name) {
           return EqualsIgnoreCase(name, section) ||
                  std::ranges::any_of(
                      kAll, [&](std::string_view all) { return EqualsIgnoreCase(name, all); });
         });
}

}  // namespace

std::string InfoText(Services& services, Instant now, std::span<const std::string_view> sections) {
  std::string text;
  for (const Section& section : kSections) {
    if (!IsWanted(section.name, sections)) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\r\n", "# ", AbslView(section.name), "\r\n");
    Lines lines(text);
    section.add(lines, services, now);
  }
  return text;
}

}  // namespace weir
