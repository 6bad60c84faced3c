"""The cost of durability in a running server, and in Redis, measured in one run.

    durability.py [SERVER]          or: ./dev bench durability

Two tables, each of the medians of RUNS runs; the rows take turns:

    snapshots    RL.ALLOW at pipeline 64 over a million keys, with and without saving every second
    always       50 connections without pipelining: RL.ALLOW with --durability always, INCR with
                 Redis's `appendfsync always`

subject.py runs and measures the servers.
"""

import sys

import subject

RUNS = 5
SERVER = sys.argv[1] if len(sys.argv) > 1 else subject.SERVER
LIMIT = "1M/d"


def weir(*options):
    return subject.weir(*options, server=SERVER)


def table(title, rows, load):
    """Prints a table. rows: name -> (command of the server, command to send)."""
    results = {name: [] for name in rows}
    for _ in range(RUNS):
        for name, (command, request) in rows.items():
            with subject.Subject(command) as server:
                results[name].append(server.load(**load, command=request))
    print(f"\n{title}: {load}, median of {RUNS}")
    for name, measured in results.items():
        typical = subject.median(measured)
        print(
            f"  {name:36} {typical.rate:12,.0f} requests/s"
            f"   {typical.cpu_seconds:6.2f} CPU s a million"
        )


def main():
    allow = ["RL.ALLOW", "key:__rand_int__", LIMIT]
    table(
        "snapshots",
        {
            "weir, --durability none": (weir("--durability", "none"), allow),
            "weir, saving every second": (weir("--data-dir", "data"), allow),
        },
        {"requests": 5_000_000, "connections": 50, "pipeline": 64},
    )
    table(
        "always",
        {
            "weir, --durability always": (
                weir("--data-dir", "data", "--durability", "always"),
                allow,
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
