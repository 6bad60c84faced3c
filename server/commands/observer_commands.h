// The rows of the commands that observe the server: SLOWLOG, LATENCY, MEMORY, MONITOR. Part of
// command_table.cc.
#pragma once

#include <array>

#include "core/commands/command_spec.h"
#include "server/commands/command_examples.h"
#include "server/commands/connection_commands.h"
#include "server/commands/handlers.h"

namespace weir::rows {

inline constexpr KeyPositions kSecond = {.first = 2, .last = 2, .step = 1};

inline constexpr std::array kObserverCommands = {
    CommandSpec{.name = "LATENCY",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "server",
                .summary = "Commands about events that took long."},
    CommandSpec{.name = "LATENCY|DOCTOR",
                .arity = Exactly(2),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Explains slow events in words, with advice.",
                .handler = LatencyDoctor},
    CommandSpec{.name = "LATENCY|GRAPH",
                .arity = Exactly(3),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Draws an event's history.",
                .syntax = "event",
                .handler = LatencyGraph},
    HelpRow("LATENCY|HELP", "server"),
    CommandSpec{.name = "LATENCY|HISTOGRAM",
                .arity = AtLeast(2),
                .flags = kAboutOthers,
                .group = "server",
                .complexity = "O(commands)",
                .summary = "Returns a cumulative histogram of latencies, in microseconds, for each "
                           "of the given commands, or for all.",
                .syntax = "[command ...]",
                .handler = LatencyHistograms},
    CommandSpec{.name = "LATENCY|HISTORY",
                .arity = Exactly(3),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Returns the Unix seconds in which an event was slow, each with its "
                           "longest duration in milliseconds.",
                .syntax = "event",
                .handler = LatencyHistory},
    CommandSpec{.name = "LATENCY|LATEST",
                .arity = Exactly(2),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Returns the events that reached latency-monitor-threshold: for each, "
                           "the Unix second and the milliseconds of the latest, and the maximum.",
                .handler = LatencyLatest},
    CommandSpec{.name = "LATENCY|RESET",
                .arity = AtLeast(2),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Deletes the given events, or all. Returns how many there were.",
                .syntax = "[event ...]",
                .handler = LatencyReset},
    CommandSpec{.name = "MEMORY",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "server",
                .summary = "Commands about the server's memory."},
    HelpRow("MEMORY|HELP", "server"),
    CommandSpec{.name = "MEMORY|PURGE",
                .arity = Exactly(2),
                .group = "server",
                .complexity = "O(free chunks of the heap)",
                .summary = "Gives free memory back to the system.",
                .handler = MemoryPurge},
    CommandSpec{.name = "MEMORY|STATS",
                .arity = Exactly(2),
                .flags = kWholeTable,
                .group = "server",
                .complexity = "O(partitions), O(free chunks of the heap)",
                .summary = "Returns figures of the server's memory, in bytes.",
                .handler = MemoryStats},
    CommandSpec{.name = "MEMORY|USAGE",
                .arity = AtLeast(3),
                .flags = kReadOnly,
                .keys = kSecond,
                .group = "server",
                .complexity = "O(limits in use), at most a scan of 1/4096 of the table",
                .summary = "Returns the bytes that the key's buckets take; nil if all are full.",
                .syntax = "key [SAMPLES count]",
                .examples = examples::kMemoryUsage,
                .handler = MemoryUsage},
    CommandSpec{.name = "MONITOR",
                .arity = Exactly(1),
                .flags = kAboutOthers | kOwnConnection,
                .group = "server",
                .summary =
                    "Shows every command that is executed, except administrative ones, until "
                    "RESET or QUIT.",
                .handler = MonitorCommands},
    CommandSpec{.name = "SLOWLOG",
                .arity = AtLeast(2),
                .flags = kContainer,
                .group = "server",
                .summary = "Commands about the log of slow commands."},
    CommandSpec{.name = "SLOWLOG|GET",
                .arity = Between(2, 3),
                .flags = kAboutOthers,
                .group = "server",
                .complexity = "O(entries)",
                .summary =
                    "Returns the latest 10 commands, or the given number, that took at least "
                    "slowlog-log-slower-than: ID, Unix time, microseconds, words, and the client's "
                    "address and name.",
                .syntax = "[count]",
                .handler = SlowlogGet},
    HelpRow("SLOWLOG|HELP", "server"),
    CommandSpec{.name = "SLOWLOG|LEN",
                .arity = Exactly(2),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Returns the number of commands in the log.",
                .handler = SlowlogLen},
    CommandSpec{.name = "SLOWLOG|RESET",
                .arity = Exactly(2),
                .flags = kAboutOthers,
                .group = "server",
                .summary = "Empties the log.",
                .handler = SlowlogReset},
};

}  // namespace weir::rows
