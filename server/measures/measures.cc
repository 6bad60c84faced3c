#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include <gnu/libc-version.h>

#include "core/base/check.h"
#include "server/config/version.h"
#include "server/health/health_watch.h"
#include "server/measures/info_texts.h"
#include "server/measures/measure.h"
#include "server/measures/server_snapshot.h"
#include "server/os/log.h"
#include "server/os/process.h"
#include "server/session/worker.h"

namespace weir {
namespace {

template <typename Duration>
std::int64_t Since1970(auto time) {
  return std::chrono::floor<Duration>(time.time_since_epoch()).count();
}

std::int64_t WholeMillis(Nanos span) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(span).count();
}

bool IsKept(ServerSnapshot& server) { return server.services.state != nullptr; }
bool IsNotLoading(ServerSnapshot& server) { return !server.services.admission().loading(); }
bool IsLoaded(ServerSnapshot& server) { return IsKept(server) && IsNotLoading(server); }

bool HasLink(ServerSnapshot& server) { return server.Replication().link.has_value(); }
bool HasNoLink(ServerSnapshot& server) { return !HasLink(server); }
bool IsLinkDown(ServerSnapshot& server) { return HasLink(server) && !server.Link().up; }
bool HasLease(ServerSnapshot& server) {
  return HasNoLink(server) && server.services.settings.Get(&Options::min_replicas_to_write) > 0;
}
bool HasAcks(ServerSnapshot& server) {
  return HasNoLink(server) && server.services.settings.Get(&Options::ack_replicas) > 0;
}
bool IsEdge(ServerSnapshot& server) { return server.services.options.is_edge(); }
bool HasRls(ServerSnapshot& server) { return server.services.options.serves_rls(); }
bool HasXds(ServerSnapshot& server) { return !server.services.options.rls_xds.servers.empty(); }
bool HasSentinel(ServerSnapshot& server) { return !server.services.options.sentinel.empty(); }

// In the order of INFO.
constexpr Measure kMeasures[] = {
    Measure("Server"),
    Measure({"redis_version"}, "The version of Redis whose commands it has.",
            [](auto&) { return kRedisVersion; }),
    Measure({"redis_mode"}, [](auto&) { return "standalone"; }),
    Measure({"weir_version", "", "version"}, "The version of weir.",
            [](auto&) { return kVersion; }),
    Measure({"os"}, [](auto&) { return SystemName(); }),
    Measure({"arch_bits"}, [](auto&) { return 64; }),
    Measure({"multiplexing_api"}, [](auto&) { return "epoll"; }),
    Measure({"process_id"}, [](auto&) { return getpid(); }),
    Measure({"run_id"}, [](auto& s) { return s.services.run_id; }),
    Measure({"tcp_port", "", "port"}, [](auto& s) { return s.services.port; }),
    Measure({"io_threads_active"}, "Threads that serve clients.",
            [](auto& s) { return s.services.workers.size(); }),
    Measure({"server_time_usec"},
            [](auto& s) { return Since1970<std::chrono::microseconds>(s.now); }),
    Measure({"uptime_in_seconds", "", "uptime_s"},
            [](auto& s) { return WholeSeconds(s.host_now - s.services.started); }),
    Measure({"uptime_in_days"},
            [](auto& s) { return WholeSeconds(s.host_now - s.services.started) / 86'400; }),
    Measure({"", "process_start_time_seconds"}, "The start of the server, in Unix time.",
            [](auto& s) { return s.UnixTime(s.services.started); }),
    Measure({"", "process_open_fds"}, "Open file descriptors.",
            [](auto&) { return OpenDescriptors(); }),
    Measure({"", "process_max_fds"}, "The limit on open file descriptors.",
            [](auto&) { return DescriptorsMax(); }),
    Measure("Clients"),
    Measure({"connected_clients", "", "connections"},
            "Clients that speak the Redis protocol; `maxclients` bounds them and "
            "`http_connections` together.",
            [](auto& s) { return s.services.clients.size(Face::kResp); }),
    Measure({"pubsub_clients"},
            [](auto& s) {
              return std::ranges::count_if(s.services.clients.All(), [](const auto& record) {
                return record->is_subscribed();
              });
            }),
    Measure({"blocked_clients", "weir_waiters"},
            "Clients that wait for an answer: in RL.WAIT, WAIT, ACL LOAD, RL.POLICY DEL and "
            "others.",
            [](auto& s) { return s.services.waiters.load(); }),
    Measure({"maxclients", "weir_connections_max"},
            "The most clients that may be connected: --max-clients.",
            [](auto& s) { return s.services.settings.Get(&Options::max_clients); }),
    Measure("Memory"),
    Measure({"used_memory"}, "Bytes that malloc has handed out.",
            [](auto& s) { return BothSizes(s.Memory().heap); }),
    Measure({"used_memory_rss"}, "The resident memory of the process, as the kernel counts it.",
            [](auto& s) { return BothSizes(s.Memory().resident); }),
    Measure({"used_memory_peak"}, "The peak of `used_memory_rss`.",
            [](auto& s) { return BothSizes(s.Memory().resident_peak); }),
    Measure({"total_system_memory"}, [](auto&) { return BothSizes(SystemMemory()); }),
    Measure({"maxmemory", "", "max_memory_bytes"}, [](auto& s) { return s.MaxMemory().bytes; }),
    Measure({"maxmemory_human"},
            [](auto& s) { return HumanBytes(static_cast<std::uint64_t>(s.MaxMemory().bytes)); }),
    Measure({"maxmemory_policy"}, [](auto& s) { return EvictionPolicy(s.MaxMemory()); }),
    Measure({"", "", "memory_permille"}, "The part of --max-memory that is in use, in thousandths.",
            [](auto& s) { return MemoryPermille(s.services); }),
    Measure({"mem_clients_normal", "weir_clients_memory_bytes"},
            "Memory of unfinished requests and of replies that wait.",
            [](auto& s) { return s.services.client_memory.held_bytes(); }),
    Measure({"mem_fragmentation_ratio"}, "`used_memory_rss` / `used_memory`.",
            [](auto& s) { return Ratio(s.Memory().resident, s.Memory().heap); }),
    Measure({"mem_allocator"},
            [](auto&) { return absl::StrCat("glibc-", gnu_get_libc_version()); }),
    Measure({"", "process_resident_memory_bytes", "process_memory_bytes"}, "Resident memory.",
            [](auto&) { return ResidentBytes(); }),
    Measure("Persistence"),
    Measure({"loading", "weir_loading"},
            "1 while the state is loaded from disk or from the primary, or the start waits for "
            "Sentinel.",
            [](auto& s) { return s.services.admission().is_preparing(); }),
    Measure({"aof_enabled"}, [](auto&) { return 0; }),
    Measure({"aof_rewrite_in_progress"}, [](auto&) { return 0; }),
    Measure({"durability", "", "durability"}, "--durability, or `none` without --data-dir.",
            [](auto& s) { return s.DurabilityWord(); }),
    Measure({"unclean_restart"}, IsKept, "1: the last run has not stopped cleanly.",
            [](auto& s) { return s.state().unclean_restart(); }),
    Measure({"loaded_buckets"}, IsKept, "Buckets that the start has loaded.",
            [](auto& s) { return s.state().load_report().loaded.load(); }),
    Measure({"dropped_buckets"}, IsKept,
            "Buckets that it has dropped: they were full, or their limit or policy is gone.",
            [](auto& s) { return s.state().load_report().dropped.load(); }),
    Measure({"bad_records"}, IsKept, "Records on disk that no server has written.",
            [](auto& s) { return s.state().load_report().bad.load(); }),
    Measure({"load_duration_ms"}, IsKept, "The time that loading took.",
            [](auto& s) { return s.state().load_time(); }),
    Measure({"rdb_changes_since_last_save"}, IsLoaded, [](auto& s) { return s.UnsavedChanges(); }),
    Measure({"rdb_bgsave_in_progress"}, IsNotLoading,
            [](auto& s) { return IsKept(s) && s.state().saving(); }),
    Measure({"rdb_last_save_time"}, IsLoaded,
            [](auto& s) {
              return std::chrono::floor<std::chrono::seconds>(s.UnixTime(s.LastSave())).count();
            }),
    Measure({"", "weir_last_save_timestamp_seconds"}, IsLoaded,
            "The beginning of the last save that succeeded, in Unix time.",
            [](auto& s) { return s.UnixTime(s.LastSave()); }),
    Measure({"rdb_last_bgsave_status"}, IsLoaded,
            [](auto& s) { return s.Saves().error.empty() ? "ok" : "err"; }),
    Measure({"rdb_saves", "weir_saves_total"}, IsLoaded, "Saves that have written changes.",
            [](auto& s) { return s.Saves().saves; }),
    Measure({"persist_status"}, IsLoaded, "`ok`, or `failing`: the last save has failed.",
            [](auto& s) { return s.Saves().error.empty() ? "ok" : "failing"; }),
    Measure({"", "", "last_save_ok"}, "Whether the last save, if there was one, has succeeded.",
            [](auto& s) { return !IsLoaded(s) || s.Saves().error.empty(); }),
    Measure({"persist_error"}, IsLoaded, "Why it has failed.",
            [](auto& s) { return EscapedForLog(s.Saves().error); }),
    Measure({"persist_failures", "weir_save_failures_total"}, IsLoaded, "Saves that have failed.",
            [](auto& s) { return s.Saves().failures; }),
    Measure({"last_save_age_ms", "", "last_save_age_ms"}, IsLoaded,
            "The time since the beginning of the last save that succeeded.",
            [](auto& s) { return s.SinceLastSave(); }),
    Measure({"last_save_duration_ms", "weir_last_save_duration_seconds"}, IsLoaded,
            "The duration of that save.", [](auto& s) { return s.Saves().last_save_duration; }),
    Measure({"last_save_buckets"}, IsLoaded, "Buckets that it has written.",
            [](auto& s) { return s.Saves().last_save_records; }),
    Measure({"loss_bound_ms", "weir_loss_bound_seconds", "loss_bound_ms"}, IsLoaded,
            "The time whose admissions a crash now would lose.",
            [](auto& s) { return s.LossBound(); }),
    Measure({"dirty_buckets", "weir_unsaved_changes"}, IsLoaded,
            "Changes of buckets that wait to be saved: one or more for each changed bucket.",
            [](auto& s) { return s.UnsavedChanges(); }),
    Measure("Stats"),
    Measure({"total_connections_received", "weir_connections_total"},
            "Connections that were accepted.",
            [](auto& s) { return s.Count("total_connections_received"); }),
    Measure({"total_commands_processed", "", "commands"},
            [](auto& s) { return s.Count("total_commands_processed"); }),
    Measure({"instantaneous_ops_per_sec"}, "Commands of the last whole second.",
            [](auto& s) { return s.InLastSecond("instantaneous_ops_per_sec"); }),
    Measure({"total_net_input_bytes"}, [](auto& s) { return s.Count("total_net_input_bytes"); }),
    Measure({"total_net_output_bytes"}, [](auto& s) { return s.Count("total_net_output_bytes"); }),
    Measure({"instantaneous_input_kbps"},
            "Kilobytes (1,024 bytes) that were read in the last whole second.",
            [](auto& s) { return Ratio(s.InLastSecond("instantaneous_input_kbps"), 1024); }),
    Measure({"instantaneous_output_kbps"}, "Kilobytes that were written in it.",
            [](auto& s) { return Ratio(s.InLastSecond("instantaneous_output_kbps"), 1024); }),
    Measure({"rejected_connections", "weir_rejected_connections_total"},
            "Connections that were closed because too many were open.",
            [](auto& s) { return s.Count("rejected_connections"); }),
    Measure({"expired_keys"}, "As `sweeper_dropped`.",
            [](auto& s) { return s.Count("expired_keys"); }),
    Measure({"evicted_keys"}, "As `evicted`.", [](auto& s) { return s.Count("evicted_keys"); }),
    Measure({"evicted_clients"}, [](auto& s) { return s.Count("evicted_clients"); }),
    Measure({"events_dropped", "weir_events_dropped_total"},
            "Messages of weir:denied and weir:used that a subscriber has missed, as it was behind.",
            [](auto& s) { return s.Count("events_dropped"); }),
    Measure({"monitor_lines_dropped"}, "Lines that clients in MONITOR have missed.",
            [](auto& s) { return s.Count("monitor_lines_dropped"); }),
    Measure({"total_error_replies"}, [](auto& s) { return s.Count("total_error_replies"); }),
    Measure({"protocol_errors"}, "Connections that were ended for what they sent.",
            [](auto& s) { return s.Count("protocol_errors"); }),
    Measure({"pubsub_channels"},
            [](auto& s) { return s.services.channels.Count(SubscriptionKind::kChannel); }),
    Measure({"pubsub_patterns"},
            [](auto& s) { return s.services.channels.Count(SubscriptionKind::kPattern); }),
    Measure("Edge", IsEdge),
    Measure({"edge_state"}, IsEdge, "On an edge: `connected` to its primary, or `away` from it.",
            [](auto& s) { return IsEdgeConnected(s.services) ? "connected" : "away"; }),
    Measure({"edge_primary"}, IsEdge, "The primary that an edge asks.",
            [](auto& s) { return AddressText(s.services.options.edge_of.servers.front()); }),
    Measure({"edge_term"}, IsEdge, "The term of that primary, as it has said.",
            [](auto& s) { return EdgeMax(s.services, &EdgeNumbers::term); }),
    Measure({"edge_rtt_us"}, IsEdge,
            "The time until the primary answers, smoothed, on the slowest link; 0: none is up.",
            [](auto& s) { return EdgeMax(s.services, &EdgeNumbers::rtt_us); }),
    Measure({"edge_forms", "weir_edge_forms"}, IsEdge,
            "Keys with their limits that are asked often, of which an edge knows more.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::forms); }),
    Measure({"edge_in_hand", "weir_edge_in_hand"}, IsEdge,
            "Requests that an edge may still admit on what it has in hand.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::in_hand); }),
    Measure({"edge_decided_locally_allowed"}, IsEdge, "Requests that an edge has admitted itself.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::decided_locally_allowed); }),
    Measure({"edge_decided_locally_denied"}, IsEdge, "Requests that an edge has denied itself.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::decided_locally_denied); }),
    Measure({"edge_passed_on"}, IsEdge, "Commands that an edge has passed on to its primary.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::passed_on); }),
    Measure({"edge_away_error"}, IsEdge, "Commands that were answered NOPRIMARY.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::away_error); }),
    Measure({"edge_away_closed"}, IsEdge,
            "Requests that were denied for an absent primary: --edge-away closed.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::away_closed); }),
    Measure({"edge_away_open"}, IsEdge,
            "Requests that were admitted for an absent primary: --edge-away open.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::away_open); }),
    Measure({"edge_asks", "weir_edge_asks_total"}, IsEdge, "Requests for slices (RL.SLICE).",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::asks); }),
    Measure({"edge_granted"}, IsEdge, "Requests that the primary has charged in advance.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::granted); }),
    Measure({"edge_spent"}, IsEdge, "Those that were spent.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::spent); }),
    Measure({"edge_settled"}, IsEdge, "Those that were given back to the primary.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::settled); }),
    Measure({"edge_wasted"}, IsEdge, "Those that have lapsed unspent.",
            [](auto& s) { return EdgeSum(s.services, &EdgeNumbers::wasted); }),
    Measure("Replication"),
    Measure({"role"}, [](auto& s) { return HasLink(s) ? "slave" : "master"; }),
    Measure({"", "", "role"},
            "`primary`, `replica`, `edge`, `deposed`, or `gated`: it waits for Sentinel.",
            [](auto& s) { return RoleWord(s.services); }),
    Measure({"", "weir_replica"}, "1 on a replica, else 0.",
            [](auto& s) { return s.services.is_replica(); }),
    Measure({"master_host"}, HasLink, [](auto& s) { return s.Link().primary.host; }),
    Measure({"master_port"}, HasLink, [](auto& s) { return s.Link().primary.port; }),
    Measure({"master_link_status"}, HasLink,
            "On a replica: `up` while it hears from its primary, else `down`.",
            [](auto& s) { return s.Link().up ? "up" : "down"; }),
    Measure({"", "weir_replication_link_up", "replication.link.up"}, HasLink,
            "1 while a replica hears from its primary.", [](auto& s) { return s.Link().up; }),
    Measure({"master_last_io_seconds_ago"}, HasLink,
            [](auto& s) {
              const std::optional<Nanos> span = s.Link().since_last_io;
              return span ? WholeSeconds(*span) : -1;
            }),
    Measure({"master_sync_in_progress"}, HasLink,
            [](auto& s) { return s.Link().state == LinkState::kSync; }),
    Measure({"slave_read_repl_offset"}, HasLink, [](auto& s) { return s.Link().read_offset; }),
    Measure({"slave_repl_offset"}, HasLink, [](auto& s) { return s.Replication().offset; }),
    Measure({"master_link_down_since_seconds"}, IsLinkDown,
            [](auto& s) { return WholeSeconds(s.Link().down_for); }),
    Measure({"slave_priority"}, HasLink,
            "--replica-priority; 0 while Sentinel is not to promote the replica: it has no whole "
            "state, cannot save to its disk, or, with --ack-replicas above 0, may lack what it has "
            "acknowledged, as it was not in sync since a crash without --durability always.",
            [](auto& s) { return Priority(s); }),
    Measure({"slave_read_only"}, HasLink, [](auto&) { return true; }),
    Measure({"replica_announced"}, HasLink,
            [](auto& s) { return s.services.settings.Get(&Options::replica_announced); }),
    Measure({"connected_slaves"}, [](auto& s) { return s.Replication().replicas.size(); }),
    Measure({"", "weir_replicas"}, HasNoLink, "Replicas that are connected and in sync.",
            [](auto& s) {
              return std::ranges::count(s.Replication().replicas, true, &ReplicaStatus::online);
            }),
    Measure({"min_slaves_good_slaves"}, HasLease,
            "With min-replicas-to-write: the replicas that are in sync and were heard within "
            "min-replicas-max-lag.",
            [](auto& s) { return s.Replication().good_replicas; }),
    Measure({"slave"},
            "For each replica: its address, `online` once it was in sync, the bytes that it has "
            "applied, and the seconds since it said so.",
            [](auto& s) { return Replicas(s); }),
    Measure({"master_failover_state"}, [](auto& s) { return WordOf(s.Replication().failover); }),
    Measure({"master_replid"}, [](auto& s) { return s.Replication().replid; }),
    Measure({"master_replid2"}, [](auto& s) { return s.Replication().replid2; }),
    Measure({"master_repl_offset", "weir_replication_offset_bytes", "replication.offset"},
            "The bytes of the history: written by a primary, applied by a replica.",
            [](auto& s) { return s.Replication().offset; }),
    Measure({"second_repl_offset"}, [](auto& s) { return s.Replication().until; }),
    Measure({"repl_backlog_active"}, [](auto& s) { return s.Replication().backlog.active; }),
    Measure({"repl_backlog_size"},
            [](auto& s) { return s.services.settings.Get(&Options::repl_backlog_size).bytes; }),
    Measure({"repl_backlog_first_byte_offset"},
            [](auto& s) { return s.Replication().backlog.first_offset; }),
    Measure({"repl_backlog_histlen"}, [](auto& s) { return s.Replication().backlog.bytes; }),
    Measure({"term", "weir_replication_term", "replication.term"},
            "The number of the history: 0 without a replica so far, one more at each promotion.",
            [](auto& s) { return s.Replication().term; }),
    Measure({"deposed", "weir_deposed"}, "1 on a primary that has heard of one of a later term.",
            [](auto& s) { return s.Replication().deposed; }),
    Measure({"sentinel_epoch"}, HasSentinel,
            "With --sentinel: the epoch of the last failover that this server knows of. Messages "
            "about earlier ones change nothing; -1: it knows of none.",
            [](auto& s) { return s.Replication().sentinel_epoch; }),
    Measure({"complete", "", "replication.link.complete"}, HasLink,
            "On a replica: whether it has a whole state.",
            [](auto& s) { return s.Link().complete; }),
    Measure(
        {"data_age_ms", "weir_replication_data_age_seconds", "replication.link.data_age_ms"},
        HasLink,
        "The age of what a replica has, once it was in sync: the time since the last frame that "
        "it applied.",
        [](auto& s) { return s.Link().data_age; }),
    Measure({"sync_partitions_left", "weir_replication_partitions_left"}, HasLink,
            "Partitions of 4,096 that a replica still waits for.",
            [](auto& s) { return s.Link().partitions_left; }),
    Measure({"time_shift_ms"}, HasLink,
            "How far a replica's clock of decisions, which is its primary's, is ahead of the "
            "host's.",
            [](auto& s) { return WholeMillis(s.Link().time_shift); }),
    Measure({"failover_loss_bound_ms", "weir_replication_loss_bound_seconds",
             "replication.loss_bound_ms"},
            HasNoLink,
            "The time whose admissions a failover now would lose, once a replica was in sync.",
            [](auto& s) { return s.Replication().loss_bound; }),
    Measure({"lease_ms", "weir_replication_lease_seconds"}, HasLease,
            "The time for which a primary may still admit if it hears no replica.",
            [](auto& s) { return s.LeaseLeft(); }),
    Measure({"ack_replicas"}, HasAcks,
            "How many replicas must have a change before it is answered.",
            [](auto& s) { return s.services.settings.Get(&Options::ack_replicas); }),
    Measure(
        {"acks_waiting", "weir_replication_acks_waiting"}, HasAcks,
        "Groups of replies, and clients in WAIT, that wait for replicas to acknowledge.",
        [](auto& s) { return s.services.replication ? s.services.replication->acks().size() : 0; }),
    Measure({"sync_partitions_sent"}, HasNoLink,
            "Parts of the table, of 4,096, that were sent whole, to all replicas.",
            [](auto& s) { return s.Replication().partitions_sent; }),
    Measure("CPU"),
    Measure({"used_cpu_sys"}, [](auto&) { return ProcessorSeconds(&rusage::ru_stime); }),
    Measure({"used_cpu_user"}, [](auto&) { return ProcessorSeconds(&rusage::ru_utime); }),
    Measure({"", "process_cpu_seconds_total"}, "Time on processors, of all threads.",
            [](auto&) { return ProcessorTime(); }),
    Measure("Modules"),  // empty: the server has none
    Measure("Commandstats"),
    Measure({"cmdstat_"},
            "For each command: calls, the microseconds of all of them, the mean, calls that were "
            "rejected before they ran (number of words, permission, still loading), and calls that "
            "answered an error. A denial is an answer, not an error.",
            [](auto& s) { return CommandStats(s); }),
    Measure("Errorstats"),
    Measure({"errorstat_"}, "Error replies by their first word.",
            [](auto& s) { return ErrorStats(s); }),
    Measure("Latencystats"),
    Measure({"latency_percentiles_usec_"},
            "Microseconds within which half, 99 % and 99.9 % of the calls ended; up to an eighth "
            "too high.",
            [](auto& s) { return LatencyStats(s); }),
    Measure("Cluster"),
    Measure({"cluster_enabled"}, [](auto&) { return 0; }),
    Measure("Keyspace"),
    Measure({"db"}, "Buckets, as `DBSIZE` counts them.", [](auto& s) { return Databases(s); }),
    Measure("Weir"),
    Measure({"health"}, "`ok`, `warn` or `bad`, as of the last second.",
            [](auto& s) { return WordOf(HealthOf(s.services)->state); }),
    Measure({"", "weir_health"}, "0: the server is well, 1: a warning, 2: something is wrong.",
            [](auto& s) { return static_cast<int>(HealthOf(s.services)->state); }),
    Measure({"health_reasons"},
            "The codes of the reasons, separated by commas: "
            "[The verdict](operations.md#the-verdict) says what each means.",
            [](auto& s) { return CodesOf(*HealthOf(s.services)); }),
    Measure({"buckets", "weir_buckets", "buckets"},
            "Buckets in memory, with full ones that are not swept yet.",
            [](auto& s) { return s.Size().buckets; }),
    Measure({"limits", "weir_limits", "limits"}, "Distinct limits in use.",
            [](auto& s) { return s.Size().limits; }),
    Measure({"", "weir_policies", "policies"}, "Policies, with those that are retired.",
            [](auto& s) { return s.services.policies.size().policies; }),
    Measure({"", "weir_overrides"}, "Overrides of all policies.",
            [](auto& s) { return s.services.policies.size().overrides; }),
    Measure({"table_bytes", "weir_table_bytes", "memory_bytes"}, "Memory of the table of buckets.",
            [](auto& s) { return s.Size().table_bytes; }),
    Measure({"allowed"}, "Requests that were admitted, of all ways to ask.",
            [](auto& s) { return s.Requests(&RequestCounters::allowed); }),
    Measure({"denied"}, "Requests that were denied.",
            [](auto& s) { return s.Requests(&RequestCounters::denied); }),
    Measure({"bans"}, "Denials that have shut a limit (ban=).",
            [](auto& s) { return s.Requests(&RequestCounters::bans); }),
    Measure({"checks"}, "Requests to `/check`.", [](auto& s) { return s.Checks(); }),
    Measure({"http_connections", "", "http_connections"},
            "Clients that speak HTTP, on the admin port, too; `connected_clients` does not count "
            "them.",
            [](auto& s) {
              return s.services.clients.size(Face::kHttp) + s.services.clients.size(Face::kAdmin);
            }),
    Measure({"h2_connections"}, "Clients that speak HTTP/2; `http_connections` counts them, too.",
            [](auto& s) { return s.services.http2.open(); }),
    Measure({"rls_calls"}, HasRls, "Calls of Envoy's rate limit service that were decided.",
            [](auto& s) { return s.services.rls.calls.load(); }),
    Measure({"rls_over_limit"}, HasRls, "Those of them that were over a limit.",
            [](auto& s) { return s.services.rls.over_limit.load(); }),
    Measure({"rls_errors"}, HasRls,
            "Calls that were answered an error, which Envoy lets pass by default; and messages "
            "that are too long, which are over the limit.",
            [](auto& s) { return s.services.rls.errors(); }),
    Measure({"rls_domains"}, HasRls, "Domains of the rules in force.",
            [](auto& s) { return s.services.rls.domains.load(); }),
    Measure({"rls_rules"}, HasRls, "Rules in force: their descriptors.",
            [](auto& s) { return s.services.rls.rules.load(); }),
    Measure({"rls_config_loads"}, HasRls,
            "Loads of the rules that have succeeded, the first one included.",
            [](auto& s) { return s.services.rls.loads.load(); }),
    Measure({"rls_config_load_errors"}, HasRls,
            "Loads that have failed; the rules then stay as they were.",
            [](auto& s) { return s.services.rls.load_errors.load(); }),
    Measure({"rls_config_error"}, HasRls,
            "Why the last load has failed, or else why its rules are not in force; or empty.",
            [](auto& s) { return EscapedForLog(s.services.rls.load_error()); }),
    Measure(
        {"rls_config_failing", "weir_rls_config_failing"}, HasRls,
        "1 while the rules are not in force as they are now, for the reason in rls_config_error.",
        [](auto& s) { return !s.services.rls.load_error().empty(); }),
    Measure(
        {"rls_config_source"}, HasRls,
        "Where the rules are from: `files`, `xds`, `xds-saved` (the last response of the control "
        "plane to an earlier run) or `none`.",
        [](auto& s) {
          return kRulesFromNames[static_cast<std::size_t>(s.services.rls.from.load())];
        }),
    Measure({"rls_xds_connected", "weir_rls_xds_connected"}, HasXds,
            "1 while this server is connected to the control plane of rls-xds.",
            [](auto& s) { return s.services.xds.connected.load(); }),
    Measure({"rls_xds_version"}, HasXds, "The version of its response that is in force; or empty.",
            [](auto& s) { return EscapedForLog(s.services.xds.version()); }),
    Measure({"rls_xds_error"}, HasXds,
            "Why there is no connection, or else why its last response was refused; or empty.",
            [](auto& s) { return EscapedForLog(s.services.xds.error()); }),
    Measure({"evicted"}, "Buckets dropped because of --max-memory.",
            [](auto& s) { return s.services.upkeep.counts().evicted; }),
    Measure({"holds", "weir_holds", "holds"},
            "Open holds (RL.RESERVE), one for each key of a request.",
            [](auto& s) { return s.services.upkeep.counts().open_holds; }),
    Measure({"", "weir_hold_bytes"}, "Memory of holds, with the marks of settled ones.",
            [](auto& s) { return s.services.upkeep.counts().hold_bytes; }),
    Measure({"holds_expired"}, "Holds whose time has ended, without slices.",
            [](auto& s) { return s.services.upkeep.counts().expired_holds; }),
    Measure({"holds_committed"}, "Holds that were settled (RL.COMMIT).",
            [](auto& s) {
              const std::uint64_t cancelled = s.services.upkeep.counts().cancelled_holds;
              return s.services.upkeep.counts().settled_holds - cancelled;  // read after those
            }),
    Measure({"holds_cancelled"}, "Holds that were cancelled (RL.CANCEL).",
            [](auto& s) { return s.services.upkeep.counts().cancelled_holds; }),
    Measure({"slices_open", "weir_slices"}, "Open slices (RL.SLICE); `holds` counts them, too.",
            [](auto& s) { return s.services.upkeep.counts().open_slices; }),
    Measure({"slices_tokens_out", "weir_slice_tokens"},
            "The units of open slices, of each at most 10^11: what clients may still spend.",
            [](auto& s) { return s.services.upkeep.counts().slice_units; }),
    Measure({"slices_granted", "weir_slices_granted_total"}, "Slices that were granted.",
            [](auto& s) { return s.services.upkeep.counts().granted_slices; }),
    Measure({"slices_lapsed", "weir_slices_lapsed_total"},
            "Slices that were not settled before the end of their lives.",
            [](auto& s) { return s.services.upkeep.counts().lapsed_slices; }),
    Measure({"sweeper_laps"}, "How often all buckets were swept.",
            [](auto& s) { return s.services.sweeper.laps(); }),
    Measure({"sweeper_dropped", "weir_swept_total"}, "Full buckets that were dropped.",
            [](auto& s) { return s.services.sweeper.dropped(); }),
    Measure({"explicit_time"}, "1 with --allow-explicit-time.",
            [](auto& s) { return s.services.explicit_time.allowed(); }),
    Measure({"time_offset_ms"}, "How far the wall clock is ahead of the clock of decisions.",
            [](auto& s) { return WholeMillis(s.services.wall_clock_offset()); }),
};

}  // namespace

std::span<const Measure> Measures() { return kMeasures; }

const Measure& FindMeasure(std::string_view MeasureNames::*face, std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kMeasures, [&](const Measure& measure) { return measure.names.*face == name; });
  WEIR_CHECK(found != std::end(kMeasures));
  return *found;
}

}  // namespace weir
