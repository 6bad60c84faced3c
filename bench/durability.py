"""What durability costs a running server, beside Redis, in one run.

    durability.py [SERVER]          or: ./dev bench durability

Two tables, each the median of RUNS runs that alternate between the rows:

    snapshots    RL.ALLOW at pipeline 64 over a million keys, with and without saving every second
    always       50 connections without pipelining: RL.ALLOW with --durability always, INCR with
                 Redis's `appendfsync always`

The load comes from redis-benchmark, on the second core where there is one, the server is pinned to
the first. CPU seconds are the server's, of all its threads.
"""

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 5
SERVER = sys.argv[1] if len(sys.argv) > 1 else "build/release/weir-server"
LIMIT = "1M/d"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(core, command):
    return ["taskset", "-c", str(core), *command] if os.cpu_count() > 1 else command


class Subject:
    """A server's process on a free port, in a directory of its own."""

    def __init__(self, command):
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="weir_bench_")
        self.process = subprocess.Popen(
            pinned(0, [word.format(port=self.port) for word in command]),
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port)) as client:
                    client.sendall(b"DBSIZE\r\n")
                    if client.recv(64).startswith(b":"):
                        return
            except ConnectionRefusedError:
                time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.directory)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def load(self, requests, connections, pipeline, command):
        """Requests a second, and CPU seconds of the server a million requests."""
        before = self.cpu_seconds()
        run = subprocess.run(
            pinned(
                1,
                ["redis-benchmark", "-p", str(self.port), "-n", str(requests), "--csv"]
                + ["-c", str(connections), "-P", str(pipeline), "-r", "1000000", *command],
            ),
            check=True,
            stdout=subprocess.PIPE,
        )
        rate = float(re.findall(r'","([\d.]+)"', run.stdout.decode())[0])
        return rate, (self.cpu_seconds() - before) * 1e6 / requests


def weir(*options):
    return [os.path.abspath(SERVER), "--port", "{port}", "--threads", "1", *options]


def redis(*options):
    return ["redis-server", "--port", "{port}", "--save", "", *options]


def table(title, rows, load):
    """rows: name -> (command of the server, command to send)."""
    results = {name: [] for name in rows}
    for _ in range(RUNS):
        for name, (command, request) in rows.items():
            with Subject(command) as subject:
                results[name].append(subject.load(**load, command=request))
    print(f"\n{title}: {load}, median of {RUNS}")
    for name, measured in results.items():
        rate = statistics.median(rate for rate, _ in measured)
        cpu = statistics.median(cpu for _, cpu in measured)
        print(f"  {name:36} {rate:12,.0f} requests/s   {cpu:6.2f} CPU s a million")


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
                redis("--appendonly", "yes", "--appendfsync", "always"),
                ["INCR", "key:__rand_int__"],
            ),
        },
        {"requests": 100_000, "connections": 50, "pipeline": 1},
    )


if __name__ == "__main__":
    main()
