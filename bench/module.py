"""The cost of the module inside Debian's redis-server, compared with INCR on such a server.

    module.py [MODULE [SERVER]]      or: ./dev bench module

Each row has its own server, which holds a million keys at the start. The rows take turns, and a
server is stopped outside of its turn; figures are medians of RUNS. A second table shows the memory
that a key takes in a server that was empty before. subject.py runs and measures the servers.
"""

import contextlib
import os
import statistics
import sys

import subject
from resp import Client

RUNS = 5
MODULE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release/weir.so")
SERVER = sys.argv[2] if len(sys.argv) > 2 else "redis-server"
REQUESTS = {1: 100_000, 16: 500_000, 64: 1_000_000}
KEY = "key:__rand_int__"
ROWS = {
    "INCR": ["INCR", KEY],
    "RL.ALLOW, 1 limit": ["RL.ALLOW", KEY, "1M/3285d"],
    "RL.ALLOW, 3 limits": ["RL.ALLOW", KEY, "1M/3285d", "2M/3285d", "4M/3285d"],
    "RL.ALLOW, denied": ["RL.ALLOW", KEY, "1/3285d"],
}
FILLED = 6_000_000  # random requests, which miss 1 in 400 of a million keys


def measure(stack):
    """Starts the server of each row; the stack ends them."""
    servers = {}
    for name, command in ROWS.items():
        module = [] if name == "INCR" else ["--loadmodule", MODULE]
        server = subject.Subject(subject.redis(*module, server=SERVER))
        servers[name] = stack.enter_context(server)
        empty = used_bytes(servers[name])
        servers[name].load(FILLED, 50, 64, command)
        bytes_a_key = (used_bytes(servers[name]) - empty) / count_keys(servers[name])
        print(f"{name:20} {bytes_a_key:6.1f} bytes a key", flush=True)
        servers[name].pause()
    for pipeline, requests in REQUESTS.items():
        results = {name: [] for name in ROWS}
        for _ in range(RUNS):
            for name, command in ROWS.items():
                servers[name].resume()
                results[name].append(servers[name].load(requests, 50, pipeline, command))
                servers[name].pause()
        print(f"\npipeline {pipeline}, median of {RUNS}")
        base = statistics.median(load.cpu_seconds for load in results["INCR"])
        for name, loads in results.items():
            typical = subject.median(loads)
            print(
                f"  {name:20} {typical.rate:12,.0f} requests/s   {typical.cpu_seconds:6.3f} CPU s "
                f"a million   {typical.cpu_seconds / base:5.2f} x",
                flush=True,
            )


def used_bytes(server):
    with Client(server.port) as client:
        lines = client.ask("INFO", "memory").splitlines()
    return int(next(line for line in lines if line.startswith("used_memory:")).partition(":")[2])


def count_keys(server):
    with Client(server.port) as client:
        return client.ask("DBSIZE")


if __name__ == "__main__":
    with contextlib.ExitStack() as servers_live:
        measure(servers_live)
