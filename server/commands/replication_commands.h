// The rows of the commands about replication. Part of command_table.cc.
#pragma once

#include <array>

#include "core/commands/command_spec.h"
#include "server/commands/command_examples.h"
#include "server/commands/handlers.h"

namespace weir::rows {

inline constexpr std::array kReplicationCommands = {
    CommandSpec{.name = "FAILOVER",
                .arity = AtLeast(1),
                .flags = kAdmin,
                .group = "server",
                .since = "0.2.0",
                .summary = "Makes a replica the primary, and this server its replica, so that "
                           "nothing is forgotten. Answers at once; the switch begins when the "
                           "replica can save to its disk and lags by less than 256 KiB, and pauses "
                           "changes for some milliseconds. It is given up after the timeout, or "
                           "after 10 s if there is none; with FORCE it begins then, although the "
                           "replica lags or cannot save.",
                .syntax = "[TO (host port [FORCE])] [ABORT] [TIMEOUT milliseconds]",
                .handler = Failover},
    CommandSpec{.name = "PSYNC",
                .arity = AtLeast(3),
                .flags = kAdmin | kNotInTransaction,
                .group = "server",
                .since = "0.2.0",
                .summary = "Answers an error: weir replicates by RL.SYNC.",
                .syntax = "replicationid offset",
                .handler = NoRedisReplica},
    CommandSpec{.name = "REPLCONF",
                .arity = AtLeast(1),
                .flags = kAdmin | kLoading,
                .group = "server",
                .since = "0.2.0",
                .summary = "Answers an error, as PSYNC.",
                .handler = NoRedisReplica},
    CommandSpec{.name = "REPLICAOF",
                .arity = Exactly(3),
                .flags = kAdmin | kLoading,
                .group = "server",
                .since = "0.2.0",
                .summary = "Makes the server a replica of another weir server, or with NO ONE a "
                           "primary, which keeps the state that it has. Answers at once.",
                .syntax = "args=(host-port=(host port)|no-one=(NO ONE))",
                .handler = ReplicaOf},
    CommandSpec{.name = "RL.SYNC",
                .arity = Between(12, 16),
                .flags = kAdmin | kLoading | kNotInTransaction | kOwnConnection,
                .group = "server",
                .since = "0.2.0",
                .summary = "Makes the connection a replica's link, for other weir servers: after "
                           "the reply both sides speak frames (docs/replication-format.md).",
                .syntax = "oldest-version newest-version ID run-id ADDR ip port TERM term "
                          "KEY fingerprint [FROM (replid offset)] [TOLD]",
                .handler = Sync},
    CommandSpec{.name = "ROLE",
                .arity = Exactly(1),
                .flags = kFast | kLoading | kAdmin | kEdgeRuns,
                .group = "server",
                .summary = "Returns `master`, the offset and the replicas that are in sync, each "
                           "as its address, port and offset; or `slave`, the primary's address "
                           "and port, the state of the link and the offset.",
                .examples = examples::kRole,
                .handler = ShowRole},
    CommandSpec{.name = "SLAVEOF",
                .arity = Exactly(3),
                .flags = kAdmin | kLoading,
                .group = "server",
                .since = "0.2.0",
                .summary = "The same as REPLICAOF.",
                .syntax = "args=(host-port=(host port)|no-one=(NO ONE))",
                .handler = ReplicaOf},
    CommandSpec{.name = "SYNC",
                .arity = Exactly(1),
                .flags = kAdmin | kNotInTransaction,
                .group = "server",
                .since = "0.2.0",
                .summary = "Answers an error, as PSYNC.",
                .handler = NoRedisReplica},
    CommandSpec{.name = "WAIT",
                .arity = Exactly(3),
                .flags = kBlocking,
                .group = "connection",
                .since = "0.2.0",
                .summary = "Waits until that many replicas have acknowledged the client's last "
                           "change, or for that many milliseconds; 0: for as long as it takes. "
                           "Returns the number that have. In a transaction it does not wait.",
                .syntax = "numreplicas timeout",
                .examples = examples::kWaitForReplicas,
                .handler = AwaitReplicas},
};

}  // namespace weir::rows
