// The rows of the options of replicas, Sentinel and edges, sorted by name; options.h says what a
// row holds.
#pragma once

#include <array>
#include <cstdint>

#include "server/config/option_checks.h"
#include "server/config/options.h"

namespace weir {

inline constexpr auto kRedisFlag = std::to_array<RedisWord>({{"yes", "true"}, {"no", "false"}});

inline constexpr auto kReplicaOptionRows = std::to_array<OptionSpec>({
    {.name = "ack-replicas",
     .group = OptionGroup::kReplicas,
     .field = &Options::ack_replicas,
     .fallback = "0",
     .min = 0,
     .max = 16,
     .live = true,
     .summary = "The number of replicas that must acknowledge a change before it is answered; see "
                "docs/high-availability.md. Each admission then waits for the network."},
    {.name = "ack-timeout",
     .group = OptionGroup::kReplicas,
     .field = &Options::ack_timeout,
     .fallback = "200ms",
     .min = 1,
     .max = 60'000,
     .live = true,
     .summary = "The longest wait for ack-replicas; after it the answer is NOACK."},
    {.name = "edge-away",
     .group = OptionGroup::kReplicas,
     .field = &Options::edge_away,
     .fallback = "error",
     .live = true,
     .summary = "The answer of an edge to a request that its absent primary would have to decide. "
                "`error`: NOPRIMARY; `closed`: RL.ALLOW is denied; `open`: RL.ALLOW is admitted. "
                "All other commands get NOPRIMARY."},
    {.name = "edge-of",
     .group = OptionGroup::kReplicas,
     .field = &Options::edge_of,
     .fallback = "",
     .summary = "Makes the server an edge of these servers, which decides what is asked often on "
                "tokens that they have charged in advance, and passes on the rest; see "
                "docs/edge.md. HOST:PORT, separated by commas; the first one is used."},
    {.name = "min-replicas-max-lag",
     .group = OptionGroup::kReplicas,
     .field = &Options::min_replicas_max_lag,
     .fallback = "2s",
     .min = 100,
     .max = 3'600'000,
     .redis_seconds = true,
     .live = true,
     .summary = "A replica counts for min-replicas-to-write or ack-replicas only if it was heard "
                "within this time. A promotion waits for this time after the replica's last "
                "acknowledgement."},
    {.name = "min-replicas-to-write",
     .group = OptionGroup::kReplicas,
     .field = &Options::min_replicas_to_write,
     .fallback = "0",
     .min = 0,
     .max = 16,
     .live = true,
     .summary = "The number of replicas without which a primary admits nothing, and answers "
                "NOREPLICAS. If it is the number of all replicas, an old primary stops before a "
                "replica is promoted; see docs/high-availability.md."},
    {.name = "primary-password",
     .group = OptionGroup::kReplicas,
     .field = &Options::primary_password,
     .fallback = "",
     .redis_alias = "masterauth",
     .live = true,
     .secret = true,
     .check = CheckNoPrimaryPasswordFile,
     .summary = "The password with which a replica logs in to its primary. Never shown. Safer in "
                "a file than on a command line, which other users can read."},
    {.name = "primary-password-file",
     .group = OptionGroup::kReplicas,
     .field = &Options::primary_password_file,
     .fallback = "",
     .summary = "A file whose first line is primary-password; read at the start and at SIGHUP."},
    {.name = "primary-user",
     .group = OptionGroup::kReplicas,
     .field = &Options::primary_user,
     .fallback = "",
     .redis_alias = "masteruser",
     .live = true,
     .summary =
         "The user that a replica or an edge logs in as to its primary; by default `default`."},
    {.name = "repl-backlog-size",
     .group = OptionGroup::kReplicas,
     .field = &Options::repl_backlog_size,
     .fallback = "16777216",
     .min = std::int64_t{1} << 20,
     .max = std::int64_t{1} << 32,
     .live = true,
     .summary = "The memory for the latest changes, kept for replicas once there is one. A replica "
                "that was away for longer gets the changed parts of the table as a whole."},
    {.name = "repl-timeout",
     .group = OptionGroup::kReplicas,
     .field = &Options::repl_timeout,
     .fallback = "5s",
     .min = 100,
     .max = 3'600'000,
     .redis_seconds = true,
     .live = true,
     .summary = "The silence after which a replica and its primary take the link between them for "
                "broken."},
    {.name = "replica-announce-ip",
     .group = OptionGroup::kReplicas,
     .field = &Options::replica_announce_ip,
     .fallback = "",
     .live = true,
     .summary = "The address under which a replica is listed by its primary, and found by Sentinel "
                "and clients; by default that of its connection."},
    {.name = "replica-announce-port",
     .group = OptionGroup::kReplicas,
     .field = &Options::replica_announce_port,
     .fallback = "0",
     .min = 0,
     .max = 65'535,
     .live = true,
     .summary = "The port under which a replica is listed; 0: `port`, or `tls-port` with "
                "replication-tls."},
    {.name = "replica-announced",
     .group = OptionGroup::kReplicas,
     .field = &Options::replica_announced,
     .fallback = "true",
     .redis_words = kRedisFlag,
     .live = true,
     .summary = "Whether Sentinel tells clients about this replica."},
    {.name = "replica-priority",
     .group = OptionGroup::kReplicas,
     .field = &Options::replica_priority,
     .fallback = "100",
     .min = 0,
     .max = INT32_MAX,
     .live = true,
     .summary = "Sentinel promotes the replica with the lowest number; one with 0 never."},
    {.name = "replica-serve-stale-data",
     .group = OptionGroup::kReplicas,
     .field = &Options::replica_serve_stale_data,
     .fallback = "true",
     .redis_words = kRedisFlag,
     .live = true,
     .summary = "Whether a replica that has lost its primary answers RL.PEEK and other commands "
                "that look at buckets. Off: they get MASTERDOWN."},
    {.name = "replicaof",
     .group = OptionGroup::kReplicas,
     .rank = 1,
     .field = &Options::replicaof,
     .fallback = "",
     .summary = "The primary that the server follows as a replica, as \"HOST PORT\". REPLICAOF "
                "changes it while the server runs."},
    {.name = "replication-tls",
     .group = OptionGroup::kReplicas,
     .field = &Options::replication_tls,
     .fallback = "false",
     .redis_alias = "tls-replication",
     .redis_words = kRedisFlag,
     .summary = "Whether a replica connects to its primary by TLS. The primary's certificate must "
                "be signed by tls-ca; its name is not checked. The replica shows tls-cert, if that "
                "is set."},
    {.name = "sentinel",
     .group = OptionGroup::kReplicas,
     .rank = 2,
     .field = &Options::sentinel,
     .fallback = "",
     .summary = "The name by which Redis Sentinel monitors this group of servers. The server then "
                "obeys Sentinel's messages: an old primary follows the new one, and a primary that "
                "starts waits until Sentinel has confirmed it."},
    {.name = "sentinel-wait",
     .group = OptionGroup::kReplicas,
     .field = &Options::sentinel_wait,
     .fallback = "10s",
     .min = 0,
     .max = 3'600'000,
     .summary = "The time for which a starting server waits for Sentinel before it serves as a "
                "primary; 0 waits without end."},
});

}  // namespace weir
