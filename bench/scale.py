"""The effect of size, age and housekeeping: the same requests under different circumstances.

    scale.py [SECTION ...] [--server PATH]          or: ./dev bench scale [SECTION ...]

    start      the time from the process' start to the first answer, with nothing to load
    buckets    a thousand buckets, and ten million, at pipeline 64
    churn      buckets that stay, and buckets that are full again after 10 ms, at pipeline 16
    tail       latency at half of the server's maximal rate, with buckets that stay, and with
               buckets that are swept and, every second, saved

The requests are RL.ALLOW. The servers of a section take turns, and a server is stopped outside of
its turn; figures are medians of RUNS. The load of `tail` is open_loop's, which does not wait for
replies; that of the others is redis-benchmark's. subject.py runs and measures the servers.
"""

import statistics
import subprocess
import time

import subject
from resp import Client

RUNS = 5
CONNECTIONS = 50
FEW, MANY = 1_000, 10_000_000  # buckets
LONG = "1M/3285d"  # a bucket is full again 284 s after one token is taken
SHORT = "100/s"  # 10 ms after it: gone before a snapshot sees it
KEPT = "10/50s"  # 5 s after it: saved, and then swept
OPEN_LOOP = "build/release/bench/open_loop"
TAIL_SECONDS = 10


def allow(limit):
    return ["RL.ALLOW", "key:__rand_int__", limit]


def start(path):
    taken = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        with subject.Subject(subject.weir(server=path)) as server:
            with Client(server.port) as client:
                client.ask(*allow(LONG))
            taken.append((time.perf_counter() - begin) * 1e3)
    print(f"\nstart to first answer: {statistics.median(taken):.1f} ms, asked every 10 ms")


def in_turn(rows, measure):
    """rows: name -> (server, load). Returns name -> the RUNS results of measure(server, load)."""
    results = {name: [] for name in rows}
    for server, _ in rows.values():
        server.pause()
    for _ in range(RUNS):
        for name, (server, load) in rows.items():
            server.resume()
            results[name].append(measure(server, load))
            server.pause()
    return results


def table(title, rows):
    """Prints the medians of each row, and the last row compared with the first."""
    results = in_turn(rows, lambda server, load: server.load(connections=CONNECTIONS, **load))
    print(f"\n{title}")
    typical = {name: subject.median(loads) for name, loads in results.items()}
    for name, row in typical.items():
        print(
            f"  {name:24} {row.rate:12,.0f} requests/s   p99 {row.p99_ms:6.3f} ms"
            f"   p99.9 {row.p999_ms:6.3f} ms   {row.cpu_seconds:6.3f} CPU s a million"
        )
    first, *_, last = typical.values()
    cpu, p99 = last.cpu_seconds / first.cpu_seconds, last.p99_ms / first.p99_ms
    print(f"  {'ratio':24} p99 {p99:.2f}   CPU {cpu:.2f}")


def buckets(path):
    load = {"requests": 2_000_000, "pipeline": 64, "command": allow(LONG)}
    with subject.Subject(subject.weir(server=path)) as few:
        with subject.Subject(subject.weir(server=path)) as many:
            few_load, many_load = load | {"keys": FEW}, load | {"keys": MANY}
            few.load(connections=CONNECTIONS, **few_load)
            many.load(connections=CONNECTIONS, **many_load | {"requests": 4 * MANY})
            table(
                "the number of buckets, pipeline 64",
                {f"{FEW:,}": (few, few_load), f"{MANY:,}, 98 % of them": (many, many_load)},
            )


def churn(path):
    # A run takes several laps of the sweeper.
    load = {"requests": 15_000_000, "pipeline": 16}
    with subject.Subject(subject.weir(server=path)) as old:
        with subject.Subject(subject.weir(server=path)) as young:
            table(
                f"how long buckets live, {subject.KEYS:,} keys, pipeline 16",
                {
                    "minutes": (old, load | {"command": allow(LONG)}),
                    "10 ms": (young, load | {"command": allow(SHORT)}),
                },
            )


def open_loop(server, rate, limit, yields=False):
    """Returns p50, p99, p99.9 and maximum of the latency, and p99.9 of `late`; microseconds.

    `yields`: what else has the load's core comes first.
    """
    command = [OPEN_LOOP, server.port, rate, TAIL_SECONDS, CONNECTIONS, *allow(limit)]
    run = subprocess.run(
        subject.pinned(subject.LOAD_CORE, [str(word) for word in command], yields),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return [float(word) for word in run.stdout.split()[2:]]


def closed_loop(server, request):
    """Returns the rate, and p50 and p99 of the latency in microseconds."""
    command = [OPEN_LOOP, server.port, 0, TAIL_SECONDS, CONNECTIONS, *request]
    run = subprocess.run(
        subject.pinned(subject.LOAD_CORE, [str(word) for word in command]),
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return [float(word) for word in run.stdout.split()[1:4]]


def tail(path):
    load = {"requests": 500_000, "connections": CONNECTIONS, "pipeline": 1}
    with subject.Subject(subject.weir(server=path)) as plain:
        with subject.Subject(subject.weir("--data-dir", "data", server=path)) as busy:
            rate = plain.load(command=allow(LONG), **load).rate / 2
            rows = {"buckets stay": (plain, LONG), "swept and saved": (busy, KEPT)}
            results = in_turn(rows, lambda server, limit: open_loop(server, rate, limit))
    print(f"\nhousekeeping, {rate:,.0f} requests/s whatever the server does, {TAIL_SECONDS} s each")
    typical = {name: [statistics.median(c) for c in zip(*runs)] for name, runs in results.items()}
    for name, (p50, p99, p999, longest, late) in typical.items():
        print(
            f"  {name:24} p50 {p50:7.1f} us   p99 {p99:7.1f} us   p99.9 {p999:7.1f} us"
            f"   longest {longest:9.1f} us   of which sent late, p99.9 {late:7.1f} us"
        )
    (_, p99, p999, *_), (_, busy_p99, busy_p999, *_) = typical.values()
    print(f"  {'ratio':24} p99 {busy_p99 / p99:.2f}   p99.9 {busy_p999 / p999:.2f}")


def main():
    sections = {"start": start, "buckets": buckets, "churn": churn, "tail": tail}
    subject.measure_sections(__doc__, sections)


if __name__ == "__main__":
    main()
