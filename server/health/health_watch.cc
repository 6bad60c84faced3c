#include "server/health/health_watch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/host_and_port.h"
#include "core/base/status.h"
#include "core/commands/command_spec.h"
#include "core/table/table_bound.h"
#include "server/commands/command_table.h"
#include "server/config/version.h"
#include "server/health/add_event.h"
#include "server/os/process.h"
#include "server/session/services.h"
#include "server/session/worker.h"

namespace weir {
namespace {

// The counts since the start, whatever CONFIG RESETSTAT has set to zero since.
Activity ReadActivity(const Services& services) {
  StatsNumbers numbers = services.main_counters.totals();
  Activity counts{.evicted = services.upkeep.counts().evicted,
                  .evicted_full = services.upkeep.counts().evicted_full};
  for (const Worker* worker : services.workers) {
    AddTotals(numbers, worker->counters.totals());
    for (const CommandSpec& spec : CommandTable()) {
      if (!spec.Is(kDenyOom)) continue;
      const CommandCounters* const calls = worker->command_counters.Find(spec);
      if (calls) AddTotals(counts.times, calls->times.counts());
    }
  }
  const auto number = [&](StatsRow<false> row) { return numbers[row.index()]; };
  counts.rejected = number("rejected_connections");
  counts.commands = number("total_commands_processed");
  counts.errors = number("total_error_replies");
  return counts;
}

constexpr std::uint64_t kPermille = 1'000;

// One of the addresses that the server listens on.
struct Door {
  const AddressList& addresses;
  std::int64_t port;  // 0: closed
  bool asks_for_certificate;
};

std::string TextOfStart(const StateOnDisk* state) {
  const bool was_unclean = state && state->unclean_restart();
  return absl::StrCat("weir ", AbslView(kVersion), " has started",
                      was_unclean ? "; the last run has not stopped cleanly" : "");
}

std::string TextOfRole(const HealthFacts& facts) {
  switch (facts.role) {
    case ServerRole::kReplica:
      return facts.primary.empty() ? "is a replica" : absl::StrCat("follows ", facts.primary);
    case ServerRole::kDeposed:
      return "is deposed";
    case ServerRole::kGated:
      return "waits for Sentinel";
    case ServerRole::kEdge:
      return "is an edge";
    case ServerRole::kPrimary:
      break;
  }
  return "is the primary";
}

constexpr std::string_view kLoadingCode = "loading";  // at each start

bool Has(const Health& health, std::string_view code) {
  return std::ranges::find(health.reasons, code, &HealthReason::code) != health.reasons.end();
}

bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace

HealthWatch::HealthWatch(Services& services)
    : services_(services), health_(std::make_shared<const Health>()) {
  services.health_watch = this;
}

HealthWatch::~HealthWatch() { services_.health_watch = nullptr; }

void HealthWatch::Look() {
  const HealthFacts facts = ReadFacts();
  const std::shared_ptr<const Health> before = health();
  auto judged = std::make_shared<const Health>(Judge(facts, *before));
  AddEventsOfChanges(facts, *before, *judged);
  const MutexLock lock(mutex_);
  health_ = std::move(judged);
  minute_ = facts.minute;
}

void HealthWatch::AddEventsOfChanges(const HealthFacts& facts, const Health& before,
                                     const Health& after) {
  if (role_.empty()) AddEvent(services_, ServerEventKind::kStart, "", TextOfStart(services_.state));
  if (std::string role = TextOfRole(facts); role != role_) {
    AddEvent(services_, ServerEventKind::kRole, "", role);
    role_ = std::move(role);
  }
  for (const HealthReason& reason : after.reasons) {
    if (reason.code == kLoadingCode || Has(before, reason.code)) continue;
    AddEvent(services_, ServerEventKind::kHealth, "", reason.text);
  }
  for (const HealthReason& reason : before.reasons) {
    if (reason.code == kLoadingCode || Has(after, reason.code)) continue;
    AddEvent(services_, ServerEventKind::kHealth, "", absl::StrCat("over: ", reason.text));
  }
}

std::shared_ptr<const Health> HealthWatch::health() const {
  const MutexLock lock(mutex_);
  return health_;
}

MinuteFacts HealthWatch::minute() const {
  const MutexLock lock(mutex_);
  return minute_;
}

HealthFacts HealthWatch::ReadFacts() {
  HealthFacts facts;
  facts.now = services_.clock.HostNow();
  facts.loading = services_.admission().loading();
  if (services_.state && !facts.loading) facts.save_error = services_.state->status().error;
  facts.cannot_save = services_.admission().cannot_save() && !facts.save_error.empty();
  ReadReplication(facts);
  facts.memory_permille = MemoryPermille(services_);
  ReadMinute(facts);
  ReadRules(facts);
  // The time of a replica is its primary's, and means nothing before that has told it.
  if (facts.role != ServerRole::kReplica) facts.clock_offset = services_.wall_clock_offset();
  facts.open_place = OpenPlace(services_);
  return facts;
}

void HealthWatch::ReadReplication(HealthFacts& facts) {
  if (!services_.replication) return;
  facts.role = services_.replication->role();
  facts.complete = services_.replication->is_complete();
  facts.link_up = services_.replication->is_link_up();
  // Before the status, so that replicas that are enough are on the roll.
  facts.lacks_replicas = !facts.loading && services_.admission().lacks_replicas();
  const ReplicationStatus status = services_.replication->status();
  if (status.link) {
    facts.primary = absl::StrCat(status.link->primary.host, ":", status.link->primary.port);
  }
  if (facts.role != ServerRole::kPrimary) return roll_.Clear();
  facts.away = roll_.Call(facts.now, status.replicas);
  facts.replicas_good = status.good_replicas;
  facts.replicas_needed =
      static_cast<std::uint64_t>(std::max(services_.settings.Get(&Options::min_replicas_to_write),
                                          services_.settings.Get(&Options::ack_replicas)));
}

void HealthWatch::ReadMinute(HealthFacts& facts) {
  const Activity added = last_minute_.Add(facts.now, ReadActivity(services_));
  facts.minute = {.evicted = added.evicted,
                  .evicted_full = added.evicted_full,
                  .rejected = added.rejected,
                  .commands = added.commands,
                  .errors = added.errors,
                  .calls = TotalOf(added.times),
                  .length = facts.now - last_minute_.begin()};
  if (facts.minute.calls == 0) return;
  facts.minute.p50 = Percentile(added.times, 500);
  facts.minute.p99 = Percentile(added.times, 990);
}

void HealthWatch::ReadRules(HealthFacts& facts) {
  const Options& options = services_.options;
  if (options.serves_rls()) facts.rules_error = services_.rls.load_error();
  if (options.rls_xds.servers.empty()) return;
  if (services_.xds.connected.load()) return plane_lost_.reset();
  if (!plane_lost_) plane_lost_ = facts.now;
  if (facts.now - *plane_lost_ < kPlaneAway) return;
  facts.plane_away = AddressText(options.rls_xds.servers.front());
}

std::shared_ptr<const Health> HealthOf(const Services& services) {
  return services.health_watch ? services.health_watch->health() : std::make_shared<const Health>();
}

MinuteFacts MinuteOf(const Services& services) {
  return services.health_watch ? services.health_watch->minute() : MinuteFacts();
}

std::optional<std::uint64_t> MemoryPermille(const Services& services) {
  const auto bytes = static_cast<std::size_t>(services.settings.Get(&Options::max_memory).bytes);
  if (bytes == 0) return std::nullopt;
  const std::size_t hold_bytes = services.upkeep.counts().hold_bytes;
  const TableBound bound = TableBound::Beside(hold_bytes, bytes, services.state != nullptr);
  // The last partitions have the least room, and are the first to drop buckets.
  const std::uint64_t room = kPartitionCount * bound.SlotsMax(kPartitionCount - 1);
  const std::uint64_t of_buckets = kPermille * services.upkeep.size().buckets / room;
  const std::uint64_t of_holds = kPermille * hold_bytes / TableBound::HoldBytesMax(bytes);
  return std::min(std::max(of_buckets, of_holds), kPermille);
}

std::string OpenPlace(const Services& services) {
  const Options& options = services.options;
  const bool asks_for_password = services.access.ForNewConnection() == nullptr;
  if (asks_for_password || services.settings.Get(&Options::protected_mode)) return "";
  const bool by_tls = options.tls_auth_clients == TlsAuthClients::kYes;
  std::vector<Door> doors = {
      {options.bind, options.tls_only ? 0 : services.port, false},
      {options.bind, options.tls_port, by_tls},
      {options.http_bind, options.http_tls_port, by_tls},
      {options.admin_bind, options.admin_port, false},
  };
  for (const std::uint16_t port : options.http_port.ports) {
    doors.push_back({options.http_bind, port, false});
  }
  for (const Door& door : doors) {
    if (door.port == 0 || door.asks_for_certificate) continue;
    const auto open = std::ranges::find_if_not(door.addresses, IsLoopback);
    if (open == door.addresses.end()) continue;
    const bool is_v6 = open->find(':') != std::string::npos;
    return absl::StrCat(is_v6 ? "[" : "", *open, is_v6 ? "]:" : ":", door.port);
  }
  return "";
}

std::string ServerName(const Services& services) {
  const std::string& named = services.options.server_name.name;
  const std::int64_t port = services.options.tls_only ? services.options.tls_port : services.port;
  return absl::StrCat(named.empty() ? NameOfHost() : named, ":", port);
}

}  // namespace weir
