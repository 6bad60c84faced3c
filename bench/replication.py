"""The cost of replicas to their primary, their lag, and their first sync.

    replication.py [SECTION ...] [--server PATH]          or: ./dev bench replication [SECTION ...]

    cpu        CPU of a primary without replicas, with one and with two, and of a replica, at
               pipeline 64, 16 and 1; beside it Redis without and with one replica
    lag        the time from an answer of the primary to its replica's knowing it, at half load
    acks       the requests a second that a replica has acknowledged: ack-replicas 1, and INCR with
               WAIT 1 0 on Redis, one at a time on each connection
    sync       the first sync of all keys, idle and at half load, with the latency of decisions
    switch     the longest that a request waits in a FAILOVER, with and without a data directory

Requests are RL.ALLOW (Redis: INCR) over WEIR_BENCH_KEYS keys (1,000,000) from 50 connections. A
primary has the first core; its replicas share the second with the load, which in `lag` yields it to
them: a replica stands for another host. Figures are medians of RUNS. The servers of `cpu` take
turns, and a load ends when the replicas have all of it. subject.py runs and measures the servers;
the load of `lag` and `sync` is open_loop's, over a million keys, which does not wait for replies.
"""

import contextlib
import itertools
import os
import random
import socket
import statistics
import threading
import time

import subject
from resp import Client, encode
from scale import CONNECTIONS, closed_loop, open_loop

RUNS = 5
KEYS = int(os.environ.get("WEIR_BENCH_KEYS", "1000000"))
LIMIT = "1M/3285d"  # no bucket becomes full again during a run
REQUESTS = {64: 2_000_000, 16: 1_000_000, 1: 200_000}  # by pipeline
MARK_INTERVAL = 0.003
LOOK_INTERVAL = 0.0001  # the replica's threads have the core meanwhile
RARE_INTERVAL = 0.15  # the replicator has no frequent ticks by then
SYNC_SECONDS_MAX = 300
AT_ONCE = 1000
ASKERS = 4
SWITCHES = 20


def info(server):
    with Client(server.port) as client:
        lines = client.ask("INFO", "replication").split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def await_true(probe, what):
    end = time.monotonic() + SYNC_SECONDS_MAX
    while not probe():
        if time.monotonic() > end:
            raise SystemExit(f"never: {what}")
        time.sleep(0.005)


def is_in_sync(replica):
    shown = info(replica)
    return shown.get("master_link_status") == "up" and shown["master_sync_in_progress"] == "0"


def has_all_of(primary, replica):
    head = info(primary)["master_repl_offset"]
    return is_in_sync(replica) and info(replica)["slave_repl_offset"] == head


def follow(primary, command):
    """A replica of a running primary; it need not be in sync yet."""
    # A replica that loads its state has answered, too.
    ready = (b"PING\r\n", (b"+", b"-LOADING", b"-MASTERDOWN"))
    words = [*command, "--replicaof", f"127.0.0.1 {primary.port}"]
    return subject.Subject(words, ready=ready, core=subject.LOAD_CORE)


def follow_redis(primary):
    command = subject.redis("--replicaof", "127.0.0.1", str(primary.port))
    return subject.Subject(
        command, ready=(b"PING\r\n", (b"+", b"-LOADING", b"-MASTERDOWN")), core=subject.LOAD_CORE
    )


class Group:
    """A primary and its replicas, with the request that they are asked."""

    def __init__(self, stack, name, path, replicas):
        self.name = f"{name}, {replicas} replica{'' if replicas == 1 else 's'}"
        is_redis = name == "Redis"
        command = subject.redis() if is_redis else subject.weir(server=path)
        self.request = ["INCR", "key:__rand_int__"]
        if not is_redis:
            self.request = ["RL.ALLOW", "key:__rand_int__", LIMIT]
        self.primary = stack.enter_context(subject.Subject(command))
        self.replicas = []
        for _ in range(replicas):
            replica = follow_redis(self.primary) if is_redis else follow(self.primary, command)
            self.replicas.append(stack.enter_context(replica))

    def await_replicas(self):
        for replica in self.replicas:
            await_true(lambda one=replica: has_all_of(self.primary, one), "a replica that has all")

    def load(self, pipeline):
        """CPU seconds a million requests: of the primary, and of the first replica."""
        servers = [self.primary, *self.replicas[:1]]
        before = [server.cpu_seconds() for server in servers]
        self.primary.load(REQUESTS[pipeline], CONNECTIONS, pipeline, self.request, KEYS)
        self.await_replicas()
        return [
            (server.cpu_seconds() - then) * 1e6 / REQUESTS[pipeline]
            for server, then in zip(servers, before)
        ]


def cpu(path):
    with contextlib.ExitStack() as stack:
        groups = [Group(stack, "weir", path, replicas) for replicas in (0, 1, 2)]
        groups += [Group(stack, "Redis", path, replicas) for replicas in (0, 1)]
        for group in groups:  # so that the tables have grown
            group.load(64)
        results = {(group.name, pipeline): [] for pipeline in REQUESTS for group in groups}
        for _ in range(RUNS):
            for pipeline in REQUESTS:
                for group in groups:
                    results[group.name, pipeline].append(group.load(pipeline))
    for pipeline in REQUESTS:
        print(f"\nCPU s a million requests, pipeline {pipeline}, {KEYS:,} keys")
        for group in groups:
            typical = [statistics.median(c) for c in zip(*results[group.name, pipeline])]
            alone = "weir, 0 replicas" if group.name.startswith("weir") else "Redis, 0 replicas"
            first = statistics.median(run[0] for run in results[alone, pipeline])
            replica = f"   its replica {typical[1]:6.3f}" if len(typical) > 1 else ""
            print(
                f"  {group.name:18} {typical[0]:6.3f}   {typical[0] / first:5.2f} x{replica}"
                f"   runs {' '.join(f'{run[0]:.3f}' for run in results[group.name, pipeline])}"
            )


def acks(path):
    with contextlib.ExitStack() as stack:
        weir = Group(stack, "weir", path, 1)
        redis = Group(stack, "Redis", path, 1)
        for group in (weir, redis):
            group.await_replicas()
        with Client(weir.primary.port) as client:
            client.ask("CONFIG", "SET", "ack-replicas", "1")
        words = {weir: weir.request, redis: [*redis.request, ";", "WAIT", "1", "0"]}
        runs = {group: [] for group in words}
        for _ in range(RUNS):
            for group, request in words.items():
                runs[group].append(closed_loop(group.primary, request))
    print(f"\nacknowledged by one replica, {CONNECTIONS} connections")
    for group, name in {weir: "RL.ALLOW", redis: "INCR, WAIT 1 0"}.items():
        rate, p50, p99 = (statistics.median(column) for column in zip(*runs[group]))
        print(f"  {name:16} {rate:9,.0f} requests/s   p50 {p50:7.1f} us   p99 {p99:7.1f} us")


def idle_ticks(primary):
    """The part of a core that a primary takes while no client asks."""
    before, begin = primary.cpu_seconds(), time.monotonic()
    time.sleep(5)
    return (primary.cpu_seconds() - before) / (time.monotonic() - begin)


def half_load(server):
    """Half of the rate that the server reaches without pipelines."""
    load = server.load(300_000, CONNECTIONS, 1, ["RL.ALLOW", "key:__rand_int__", LIMIT], KEYS)
    return int(load.rate / 2)


class Marks:
    """Changes a key on the primary and waits for it on the replica, again and again."""

    def __init__(self, primary, replica, interval=MARK_INTERVAL):
        self.lags_ms = []
        self._interval = interval
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(primary.port, replica.port))
        self._thread.start()

    def end(self):
        self._ended.set()
        self._thread.join()
        return self.lags_ms

    def _run(self, primary_port, replica_port):
        with Client(primary_port) as primary, Client(replica_port) as replica:
            first = time.monotonic_ns()
            while not self._ended.wait(self._interval):
                words = (f"mark:{first}:{len(self.lags_ms)}", "1/9w")
                primary.ask("RL.ALLOW", *words)
                answered = time.perf_counter()
                while replica.ask("RL.PEEK", *words)[0] == 1:
                    time.sleep(LOOK_INTERVAL)
                self.lags_ms.append((time.perf_counter() - answered) * 1e3)


def quiet_lag(primary, replica, interval):
    marks = Marks(primary, replica, interval)
    time.sleep(10)
    return statistics.quantiles(marks.end(), n=1000)


def lag(path):
    command = subject.weir(server=path)
    with subject.Subject(command) as primary, follow(primary, command) as replica:
        await_true(lambda: is_in_sync(replica), "a replica in sync")
        idle = idle_ticks(primary)
        rate = half_load(primary)
        runs, late = [], []
        for _ in range(RUNS):
            marks = Marks(primary, replica)
            late.append(open_loop(primary, rate, LIMIT, yields=True)[-1])
            runs.append(statistics.quantiles(marks.end(), n=1000))
        alone, rare = (quiet_lag(primary, replica, one) for one in (MARK_INTERVAL, RARE_INTERVAL))
    print(f"\nlag: from the primary's answer until the replica answers by it, {rate:,} requests/s")
    for name, permilles in {
        "half load": [statistics.median(column) for column in zip(*runs)],
        "marks alone": alone,
        "rare marks": rare,
    }.items():
        print(
            f"  {name:12} p50 {permilles[499]:6.2f} ms   p99 {permilles[989]:6.2f} ms"
            f"   p99.9 {permilles[998]:6.2f} ms"
        )
    print(f"  p99.9 of the half load was sent {statistics.median(late) / 1e3:.2f} ms late")
    print(f"  an idle primary takes {100 * idle:.2f} % of a core")


def fill(server):
    """Creates all keys, of the names that redis-benchmark and open_loop ask for."""
    with Client(server.port) as client:
        for begin in range(0, KEYS, AT_ONCE):
            keys = range(begin, min(begin + AT_ONCE, KEYS))
            client.ask_all([["RL.ALLOW", f"key:{key:012}", LIMIT] for key in keys])


def first_sync(primary, command):
    """Seconds of a first sync, the primary's growth in bytes, and the CPU seconds of both."""
    primary.forget_peak()
    resident, before, begin = primary.resident_bytes(), primary.cpu_seconds(), time.monotonic()
    with follow(primary, command) as replica:
        await_true(lambda: info(replica)["complete"] == "1", "a complete replica")
        seconds = time.monotonic() - begin
        grown = primary.resident_bytes("VmHWM") - resident
        return seconds, grown, primary.cpu_seconds() - before, replica.cpu_seconds()


def sync(path):
    command = subject.weir(server=path)
    idle, loaded, without, beside = [], [], [], []
    with subject.Subject(command) as primary:
        fill(primary)
        rate = half_load(primary)
        for _ in range(RUNS):
            idle.append(first_sync(primary, command))
            without.append(open_loop(primary, rate, LIMIT))
            results = []
            syncing = threading.Thread(
                target=lambda: results.append(first_sync(primary, command))
            )
            syncing.start()
            beside.append(open_loop(primary, rate, LIMIT))
            syncing.join()
            loaded += results
    print(f"\nfirst sync of {KEYS:,} buckets, half load {rate:,} requests/s")
    for name, runs in {"idle": idle, "half load": loaded}.items():
        seconds, grown, cpu_primary, cpu_replica = (statistics.median(c) for c in zip(*runs))
        print(
            f"  {name:12} {seconds:6.2f} s   primary {cpu_primary:5.2f} CPU s,"
            f" {grown / 2**20:+6.1f} MiB at most   replica {cpu_replica:5.2f} CPU s"
        )
    for name, runs in {"no sync": without, "in a sync": beside}.items():
        p50, p99, p999, longest, late = (statistics.median(column) for column in zip(*runs))
        print(
            f"  decisions, {name:10} p50 {p50:7.1f} us   p99 {p99:7.1f} us   p99.9 {p999:7.1f} us"
            f"   longest {longest:9.1f} us   of which sent late, p99.9 {late:7.1f} us"
        )


class Asker(threading.Thread):
    """A client that asks again and again, and turns to the other server when one is read-only."""

    def __init__(self, ports, seed):
        super().__init__()
        self.waits = []  # (the end, the seconds)
        self.ended = threading.Event()
        self._ports = ports
        self._random = random.Random(seed)
        self.start()

    def run(self):
        for port in itertools.cycle(self._ports):
            with socket.create_connection(("127.0.0.1", port)) as server:
                replies = server.makefile("rb")
                while not self.ended.is_set():
                    key = f"key:{self._random.randrange(KEYS):012}"
                    begin = time.perf_counter()
                    server.sendall(encode("RL.ALLOW", key, LIMIT))
                    head = replies.readline()
                    end = time.perf_counter()
                    self.waits.append((end, end - begin))
                    if head[:1] != b"*":
                        break
                    for _ in range(int(head[1:])):
                        replies.readline()
                if self.ended.is_set():
                    return


def longest_waits(one, two):
    """The seconds that the longest request of each FAILOVER has waited."""
    askers = [Asker([one.port, two.port], seed) for seed in range(ASKERS)]
    longest = []
    try:
        pairs = itertools.cycle([(one, two), (two, one)])
        for primary, replica in itertools.islice(pairs, SWITCHES):
            time.sleep(0.3)
            begin = time.perf_counter()
            with Client(primary.port) as client:
                client.ask("FAILOVER")
            await_true(lambda: has_all_of(replica, primary), "a former primary that follows")
            time.sleep(0.1)
            longest.append(max(w for asker in askers for end, w in asker.waits if end > begin))
    finally:
        for asker in askers:
            asker.ended.set()
            asker.join()
    return longest


def switch(path):
    print(f"\nthe longest wait of a request, {ASKERS} clients, {SWITCHES} times FAILOVER")
    for name, options in {"no data directory": (), "snapshots": ("--data-dir", "state")}.items():
        command = subject.weir(*options, server=path)
        with subject.Subject(command) as one, follow(one, command) as two:
            await_true(lambda: is_in_sync(two), "a replica in sync")
            longest = longest_waits(one, two)
        print(
            f"  {name:18} median {1e3 * statistics.median(longest):6.1f} ms"
            f"   longest {1e3 * max(longest):6.1f} ms"
        )


if __name__ == "__main__":
    subject.become_load()
    subject.measure_sections(
        __doc__, {"cpu": cpu, "acks": acks, "lag": lag, "sync": sync, "switch": switch}
    )
