"""The cost of a decision in weir and in Redis, measured in one run.

    compare.py [ROW ...] [OPTION ...]          or: ./dev bench compare [ROW ...] [OPTION ...]

    --runs N              runs of each row; the tables show their medians (5)
    --requests N          requests of a run at pipeline 64; half at 16, a tenth at 1 (3,000,000)
    --server PATH         weir-server (build/release/weir-server)
    --redis-module PATH   redis-cell: adds a row for it
    --peer-server PATH    a server with Redis's options and commands, such as Valkey: adds its rows
    --throttlecrab PATH   a throttlecrab-server: adds a row for it
    --results DIRECTORY   the folder of the page of the day, which gets the tables (bench/results)

Without a ROW, all rows of compare_rows.py are measured. Each row has its own server, which holds
all keys at the start; redis-benchmark sends requests for a million keys from 50 connections. A run
measures all rows at each pipeline in turn. Then the system calls are counted in separate runs.
subject.py runs and measures the servers.
"""

import argparse
import contextlib
import itertools
import sys

import compare_page
import compare_rows
import resp
import subject
import system_calls

CONNECTIONS = 50
PIPELINES = {1: 0.1, 16: 0.5, 64: 1.0}  # each with its share of the requests
COUNTED = 0.1  # the share of these whose system calls are counted
FILLED_AT_ONCE = 1_000
# All of them hold nothing yet, so that one which answers this serves.
READY = (b"*1\r\n$4\r\nPING\r\n", (b"+PONG",))


def progress(*words):
    print("compare:", *words, file=sys.stderr)


def with_key(request, key):
    return [word.replace("__rand_int__", f"{key:012}") for word in request]


def check(row, server):
    """Ends the program unless the reply for a key is as the row says."""
    request = with_key(row.request, 0)
    with resp.Client(server.port) as client:
        reply = client.ask(*request)
    first = reply[0] if isinstance(reply, list) else reply
    if row.first not in (None, first):
        raise SystemExit(f"{row.title}: {' '.join(request)} was answered by {reply}")


def fill(row, server):
    """Creates all keys, and reads every reply."""
    request = row.fill or row.request
    with resp.Client(server.port) as client:
        if row.script:
            client.ask("SCRIPT", "LOAD", row.script)
        if any("__rand_int__" in word for word in request):
            for begin in range(0, subject.KEYS, FILLED_AT_ONCE):
                keys = range(begin, begin + FILLED_AT_ONCE)
                client.ask_all([with_key(request, key) for key in keys])
    check(row, server)


class Comparison:
    """The rows, each on a running server that has its keys."""

    def __init__(self, rows, servers, runs, requests):
        self._rows = rows
        self._servers = servers
        self._runs = runs
        self._requests = requests

    def _load(self, name, pipeline):
        row = self._rows[name]
        return {
            "requests": int(self._requests * PIPELINES[pipeline] * row.share),
            "connections": CONNECTIONS,
            "pipeline": pipeline,
            "command": row.request,
        }

    def _spent(self):
        """CPU seconds of the servers, and the seconds in which they waited for their core."""
        servers = self._servers.values()
        return (
            sum(server.cpu_seconds() for server in servers),
            sum(server.waited_seconds() for server in servers),
        )

    def loads(self):
        """Returns (row, pipeline) -> medians of runs, and the CPU seconds used and waited for."""
        before = self._spent()
        measured = {turn: [] for turn in itertools.product(self._rows, PIPELINES)}
        for run, pipeline in itertools.product(range(self._runs), PIPELINES):
            progress(f"run {run + 1} of {self._runs}, pipeline {pipeline}")
            for name, server in self._servers.items():
                measured[name, pipeline].append(server.load(**self._load(name, pipeline)))
                check(self._rows[name], server)
        medians = {turn: subject.median(loads) for turn, loads in measured.items()}
        return medians, [after - then for after, then in zip(self._spent(), before)]

    def system_calls(self):
        """Returns (row, pipeline) -> system calls per request, and how they were counted."""
        server = next(iter(self._servers.values()))
        ping = server.benchmark(requests=1, connections=1, pipeline=1, command=["PING"])
        count = system_calls.way(server.process.pid, ping)
        if count is None:
            return {}, "not counted, as neither perf nor strace works here"
        how = count.__name__.replace("_", " ")
        progress("system calls", how)
        counted = {}
        for (name, server), pipeline in itertools.product(self._servers.items(), PIPELINES):
            load = self._load(name, pipeline)
            load["requests"] = max(CONNECTIONS * pipeline, int(load["requests"] * COUNTED))
            calls = count(server.process.pid, server.benchmark(**load))
            counted[name, pipeline] = calls / load["requests"]
        return counted, f"counted {how}"


def compared(rows, runs, requests):
    """Measures all figures of a page."""
    with contextlib.ExitStack() as running:
        servers = {}
        for name, row in rows.items():
            progress("fill", name)
            servers[name] = running.enter_context(subject.Subject(row.server, READY))
            fill(row, servers[name])
        comparison = Comparison(rows, servers, runs, requests)
        loads, (cpu, waited) = comparison.loads()
        calls, how = comparison.system_calls()
    titles = {name: row.title for name, row in rows.items()}
    return compare_page.Figures(titles, loads, cpu, waited, calls, how)


def chosen(asked):
    rows = compare_rows.redis("redis", "Redis", subject.redis())
    if asked.peer_server:
        peer = subject.redis(server=asked.peer_server)
        rows |= compare_rows.redis("peer", "peer", peer)
    if asked.redis_module:
        rows |= compare_rows.redis_cell(asked.redis_module)
    if asked.throttlecrab:
        rows |= compare_rows.throttlecrab(asked.throttlecrab)
    rows |= compare_rows.weir(asked.server)
    if unknown := set(asked.rows) - set(rows):
        raise SystemExit(f"no row {', '.join(sorted(unknown))}; there are {', '.join(rows)}")
    return {name: row for name, row in rows.items() if name in (asked.rows or rows)}


def positive(word):
    if (number := int(word)) <= 0:
        raise ValueError(word)
    return number


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW")
    parser.add_argument("--runs", type=positive, default=5)
    parser.add_argument("--requests", type=positive, default=3_000_000)
    parser.add_argument("--server", default=subject.SERVER)
    parser.add_argument("--redis-module")
    parser.add_argument("--peer-server")
    parser.add_argument("--throttlecrab")
    parser.add_argument("--results", default="bench/results")
    asked = parser.parse_args()
    figures = compared(chosen(asked), asked.runs, asked.requests)
    section = compare_page.section(figures, asked.runs, asked.requests)
    print(section)
    compare_page.add(section, asked.results)


if __name__ == "__main__":
    main()
