#include "server/measures/info_texts.h"

#include <sys/sysinfo.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/commands/command_spec.h"
#include "server/measures/server_snapshot.h"

namespace weir {

std::int64_t WholeSeconds(Nanos span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::string_view kUnits = "BKMGTP";
  if (bytes < 1024) return absl::StrCat(bytes, "B");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.2f%c", value, kUnits[unit]);
}

MeasureFields BothSizes(std::uint64_t bytes) {
  return {{"", absl::StrCat(bytes)}, {"_human", HumanBytes(bytes)}};
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

MeasureFields CommandStats(ServerSnapshot& server) {
  MeasureFields fields;
  for (const auto& [spec, row] : server.Commands()) {
    const std::uint64_t calls = TotalOf(row.times);
    const double micros = static_cast<double>(row.nanos) / 1000;
    const double mean = calls == 0 ? 0 : micros / static_cast<double>(calls);
    fields.emplace_back(
        LowerName(*spec),
        absl::StrFormat("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
                        calls, row.nanos / 1000, mean, row.rejected, row.failed));
  }
  return fields;
}

MeasureFields ErrorStats(ServerSnapshot& server) {
  MeasureFields fields;
  for (const auto& [prefix, count] : server.services.totals.ErrorsOf(server.services)) {
    fields.emplace_back(prefix, absl::StrCat("count=", count));
  }
  return fields;
}

MeasureFields LatencyStats(ServerSnapshot& server) {
  MeasureFields fields;
  for (const auto& [spec, row] : server.Commands()) {
    if (TotalOf(row.times) == 0) continue;
    const auto micros = [&times = row.times](std::uint64_t permille) {
      return static_cast<double>(Percentile(times, permille).count()) / 1000;
    };
    fields.emplace_back(LowerName(*spec), absl::StrFormat("p50=%.3f,p99=%.3f,p99.9=%.3f",
                                                          micros(500), micros(990), micros(999)));
  }
  return fields;
}

MeasureFields Databases(ServerSnapshot& server) {
  const std::size_t buckets = server.services.CountBuckets(server.now);
  if (buckets == 0) return {};
  return {{"0", absl::StrCat("keys=", buckets, ",expires=", buckets, ",avg_ttl=0")}};
}

std::string_view RoleWord(const Services& services) {
  if (services.is_replica()) return "replica";
  if (services.options.is_edge()) return "edge";
  if (services.admission().gated()) return "gated";
  return services.is_primary() ? "primary" : "deposed";
}

std::int64_t Priority(ServerSnapshot& server) {
  const Services& services = server.services;
  const LinkStatus& link = server.Link();
  const bool is_heir = link.complete && !server.Replication().distrusted &&
                       !services.admission().cannot_save() &&
                       !(link.up && services.is_save_failing());
  return is_heir ? services.settings.Get(&Options::replica_priority) : 0;
}

MeasureFields Replicas(ServerSnapshot& server) {
  MeasureFields fields;
  for (const ReplicaStatus& replica : server.Replication().replicas) {
    fields.emplace_back(absl::StrCat(fields.size()),
                        absl::StrCat("ip=", replica.ip, ",port=", replica.port,
                                     ",state=", replica.online ? "online" : "send_bulk", ",offset=",
                                     replica.offset, ",lag=", WholeSeconds(replica.lag)));
  }
  return fields;
}

}  // namespace weir
