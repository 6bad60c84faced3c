"""The cost of durability in a running server, and in Redis, measured in one run.

    durability.py [SERVER]          or: ./dev bench durability

Two tables, each of the medians of RUNS runs; the rows take turns:

    snapshots    RL.ALLOW at pipeline 64 over a million keys, with and without saving every second:
                 with a limit that refills in 86 ms, and with one that does not, whose buckets must
                 all be written; and the CPU of each kind of thread
    always       50 connections without pipelining: RL.ALLOW with --durability always, INCR with
                 Redis's `appendfsync always`

subject.py runs and measures the servers.
"""

import statistics
import sys

import subject

RUNS = 5
SERVER = sys.argv[1] if len(sys.argv) > 1 else subject.SERVER
LIMIT = "1M/d"
NEVER_REFILLS = "1M/3285d"


def weir(*options):
    return subject.weir(*options, server=SERVER)


def table(title, rows, load):
    """Prints a table. rows: name -> (command of the server, command to send)."""
    results = {name: [] for name in rows}
    threads = {}
    for _ in range(RUNS):
        for name, (command, request) in rows.items():
            with subject.Subject(command) as server:
                results[name].append(server.load(**load, command=request))
                threads.setdefault(name, []).append(server.cpu_by_thread())
    print(f"\n{title}: {load}, median of {RUNS}")
    for name, measured in results.items():
        typical = subject.median(measured)
        print(
            f"  {name:42} {typical.rate:12,.0f} requests/s"
            f"   {typical.cpu_seconds:6.2f} CPU s a million{parts(threads[name], load)}"
        )


def parts(runs, load):
    """The CPU of each thread that uses some: ", weir-io-0 0.55, ..."."""
    names = sorted({name for run in runs for name in run})
    of_thread = {
        name: statistics.median(run.get(name, 0) for run in runs) * 1e6 / load["requests"]
        for name in names
    }
    return "".join(f", {name} {cpu:.2f}" for name, cpu in of_thread.items() if cpu >= 0.01)


def main():
    allow = {limit: ["RL.ALLOW", "key:__rand_int__", limit] for limit in (LIMIT, NEVER_REFILLS)}
    savings = {
        "--durability none": weir("--durability", "none"),
        "saving every second": weir("--data-dir", "data"),
    }
    table(
        "snapshots",
        {
            f"weir, {saving}, {limit}": (command, request)
            for limit, request in allow.items()
            for saving, command in savings.items()
        },
        {"requests": 15_000_000, "connections": 50, "pipeline": 64},
    )
    table(
        "always",
        {
            "weir, --durability always": (
                weir("--data-dir", "data", "--durability", "always"),
                allow[LIMIT],
            ),
            "Redis INCR, appendfsync always": (
                subject.redis("--appendonly", "yes", "--appendfsync", "always"),
                ["INCR", "key:__rand_int__"],
            ),
        },
        {"requests": 100_000, "connections": 50, "pipeline": 1},
    )


if __name__ == "__main__":
    main()
