"""The costs and gains of an edge, beside direct use and beside local counters that sync.

    edge.py [SECTION ...] [--server PATH]                 or: ./dev bench edge [SECTION ...]

    hot        one key, asked directly and at an edge, over TCP and over a Unix socket, at pipeline
               1, 16 and 64; PING beside it
    cold       each key rarely, directly and at an edge, which passes all on
    used       a bucket of 10,000/s behind links with delays, asked three times as often in random
               bursts: what edges admit of what one bucket without a delay admits, and at which rate
               they ask for slices
    overshoot  the same load on windows of 2 s with a count of 20,000: what edges admit of the
               count, and what local counters that sync each 100 ms admit

A primary and its edges have the first core, the load and the links have the second. The delay is
that of a proxy of this program, one way. Figures are medians of RUNS. More cores and the links of a
real network are not measured here.
"""

import asyncio
import contextlib
import itertools
import random
import re
import statistics
import subprocess
import time
from collections import deque

import subject
from resp import Client, encode
from scale import OPEN_LOOP

RUNS = 5
CONNECTIONS = 50
REQUESTS = {1: 200_000, 16: 1_000_000, 64: 2_000_000}  # by pipeline
LONE_SECONDS = 5  # of one client that waits for each reply
WITHOUT_END = "1G/s"  # a limit that admits all of the load

RATE = 10_000
WINDOW_SECONDS = 2
DEMAND = 3  # times the rate
BURST = 25  # mean requests
DELAYS = (0.001, 0.02, 0.1)  # seconds, one way
EDGES = (1, 4, 16)
POOL = 100  # connections of an application to its edge
SYNC_SECONDS = 0.1  # of local counters
WARM_SECONDS, PLAY_SECONDS = 3, 4


class Edge(subject.Subject):
    """An edge of the server at a port, connected; member `path` is its Unix socket."""

    def __init__(self, primary_port, server):
        options = ["--edge-of", f"127.0.0.1:{primary_port}", "--unix-socket", "edge.sock"]
        ready = (b"PING\r\n", (b"+",))
        super().__init__(subject.weir(*options, server=server), ready=ready)
        self.path = f"{self.directory}/edge.sock"
        end = time.monotonic() + 10
        while self.info()["state"] != "connected":
            if time.monotonic() > end:
                raise SystemExit(f"an edge is not connected\n{self.last_words()}")
            time.sleep(0.01)

    def info(self):
        with Client(self.port) as client:
            lines = client.ask("INFO", "edge").split("\r\n")
        return dict(line.removeprefix("edge_").split(":", 1) for line in lines if ":" in line)


def output_of(*words):
    words = subject.pinned(subject.LOAD_CORE, [str(word) for word in words])
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout


def loaded(servers, at, connections, pipeline, command):
    """Loads the first server at a port or path; p50 and p99 in us, and CPU s a million of each."""
    before = [server.cpu_seconds() for server in servers]
    if connections == 1:  # redis-benchmark tells times in steps of 8 us
        words = output_of(OPEN_LOOP, at, 0, LONE_SECONDS, connections, *command).split()
        requests, p50, p99 = int(words[0]), float(words[2]), float(words[3])
    else:
        requests = REQUESTS[pipeline]
        where = ["-s" if isinstance(at, str) else "-p", at]
        options = ["-n", requests, "-c", connections, "-P", pipeline, "-r", subject.KEYS]
        report = output_of("redis-benchmark", *where, *options, *command)
        p50, p99 = (1e3 * ms for ms in subject.read_report(report)[1:3])
    spent = [server.cpu_seconds() - then for server, then in zip(servers, before)]
    return [p50, p99, *(1e6 * seconds / requests for seconds in spent)]


def compare(title, rows, shapes):
    """rows: name -> (servers, port or path, command). Prints each row's medians for each shape."""
    runs = {(name, shape): [] for shape in shapes for name in rows}
    for _ in range(RUNS):
        for shape in shapes:
            for name, (servers, at, command) in rows.items():
                runs[name, shape].append(loaded(servers, at, *shape, command))
    for connections, pipeline in shapes:
        print(f"\n{title}, pipeline {pipeline}, connections: {connections}")
        for name in rows:
            columns = zip(*runs[name, (connections, pipeline)])
            p50, p99, *cpu = (statistics.median(column) for column in columns)
            others = "".join(f"   its primary {seconds:6.3f}" for seconds in cpu[1:])
            print(
                f"  {name:30} p50 {p50:8.1f} us   p99 {p99:8.1f} us"
                f"   {cpu[0]:6.3f} CPU s a million{others}"
            )


def shapes_of(pipelines):
    return [(CONNECTIONS, pipeline) for pipeline in pipelines] + [(1, 1)]


def hot(path):
    allow = ["RL.ALLOW", "k", WITHOUT_END]
    with subject.Subject(subject.weir(server=path)) as primary, Edge(primary.port, path) as edge:
        before, begin = int(edge.info()["asks"]), time.monotonic()
        compare(
            "a hot key",
            {
                "direct": ([primary], primary.port, allow),
                "edge": ([edge, primary], edge.port, allow),
                "edge, Unix socket": ([edge, primary], edge.path, allow),
                "PING, edge, Unix socket": ([edge], edge.path, ["PING"]),
            },
            shapes_of(REQUESTS),
        )
        asks = (int(edge.info()["asks"]) - before) / (time.monotonic() - begin)
        print(f"  {asks:.1f} requests for slices a second, on an average of the section")


def cold(path):
    allow = ["RL.ALLOW", "key:__rand_int__", "1M/3285d"]
    with subject.Subject(subject.weir(server=path)) as primary, Edge(primary.port, path) as edge:
        rows = {
            "direct": ([primary], primary.port, allow),
            "edge": ([edge, primary], edge.port, allow),
        }
        loaded([primary], primary.port, CONNECTIONS, 64, allow)  # so that the table has grown
        compare(f"{subject.KEYS:,} cold keys", rows, shapes_of(REQUESTS))


# --- Links with a delay ---


async def passed_on(reader, writer, delay):
    """Passes on what comes, after the delay, in order."""
    loop = asyncio.get_running_loop()
    while data := await reader.read(1 << 16):
        loop.call_later(delay, writer.write, data)
    loop.call_later(delay, writer.close)


class DelayingProxy:
    """Links to a server, with a delay each way; `port` is where to connect."""

    def __init__(self, port, delay):
        self._target, self._delay = port, delay
        self._server = None
        self._tasks = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader, writer):
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
        for one, other in ((reader, server_writer), (server_reader, writer)):
            self._tasks.append(asyncio.ensure_future(passed_on(one, other, self._delay)))


# --- Nodes: what decides the requests of one application ---


VERDICT = re.compile(rb"\*5\r\n:([01])\r\n(?::-?\d+\r\n){4}")


class Asker:
    """A connection to a server or an edge, which asks for one key."""

    def __init__(self, limit):
        self._request = encode("RL.ALLOW", "k", limit)
        self._waiting = deque()  # of the time and size of each burst
        self.admitted = 0  # of bursts that count
        self.waits = []  # seconds until the last reply of each burst that counts

    async def connect(self, port):
        reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._reading = asyncio.ensure_future(self._read(reader))

    async def _read(self, reader):
        replies, rest = 0, b""
        while data := await reader.read(1 << 16):
            rest += data
            end = 0
            for reply in VERDICT.finditer(rest):
                end = reply.end()
                counts, begin, size = self._waiting[0]
                self.admitted += counts and reply[1] == b"1"
                replies += 1
                if replies == size:
                    replies = 0
                    self._waiting.popleft()
                    if counts:
                        self.waits.append(time.monotonic() - begin)
            rest = rest[end:]
            if b"-" in rest[:1]:
                raise SystemExit(f"a request was answered by {rest!r}")

    def ask(self, requests, counts):
        self._waiting.append((counts, time.monotonic(), requests))
        self._writer.write(self._request * requests)

    async def close(self):
        end = time.monotonic() + 10
        while self._waiting and time.monotonic() < end:
            await asyncio.sleep(0.01)
        if self._waiting:
            raise SystemExit("a request was not answered within 10 s")
        self._writer.close()
        await self._reading


class WeirNode:
    """An application's pool of connections, which take turns with its bursts."""

    def __init__(self, limit):
        self._askers = [Asker(limit) for _ in range(POOL)]
        self._turns = itertools.cycle(self._askers)

    async def connect(self, port):
        for asker in self._askers:
            await asker.connect(port)
        return self

    def ask(self, requests, counts):
        next(self._turns).ask(requests, counts)

    async def close(self):
        for asker in self._askers:
            await asker.close()

    @property
    def admitted(self):
        return sum(asker.admitted for asker in self._askers)

    @property
    def waits(self):
        return [wait for asker in self._askers for wait in asker.waits]


class SyncedCounter:
    """A counter of the present window on each node, which all add to a sum each SYNC_SECONDS."""

    def __init__(self, sums, count, delay):
        self._sums, self._count, self._delay = sums, count, delay
        self._window, self._known, self._unsynced = 0, 0, 0
        self.admitted = 0
        self.waits = [0.0]
        self._syncing = asyncio.ensure_future(self._sync())

    def ask(self, requests, counts):
        window = int(time.time() // WINDOW_SECONDS)
        if window != self._window:
            self._window, self._known, self._unsynced = window, 0, 0
        admitted = max(0, min(requests, self._count - self._known - self._unsynced))
        self._unsynced += admitted
        self.admitted += counts * admitted

    async def _sync(self):
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            window, added, self._unsynced = self._window, self._unsynced, 0
            self._known += added
            loop.call_later(self._delay, self._add, window, added)

    def _add(self, window, added):
        self._sums[window] = self._sums.get(window, 0) + added
        asyncio.get_running_loop().call_later(self._delay, self._learn, window, self._sums[window])

    def _learn(self, window, total):
        if window == self._window:
            self._known = max(self._known, total)

    async def close(self):
        self._syncing.cancel()


# --- The load ---


def bursts(nodes, seconds, seed):
    """Bursts of requests at random times: (second, node, requests), in the order of time."""
    source = random.Random(seed)
    at, all_bursts = 0.0, []
    while (at := at + source.expovariate(DEMAND * RATE / BURST)) < seconds:
        requests = 1 + min(int(source.expovariate(1 / (BURST - 0.5))), 20 * BURST)
        all_bursts.append((at, source.randrange(nodes), requests))
    return all_bursts


async def play(nodes, load, counts_from):
    """Plays the load; what is asked from a second on counts."""
    begin = time.monotonic()
    for at, node, requests in load:
        if (ahead := begin + at - time.monotonic()) > 0.0005:
            await asyncio.sleep(ahead)
        nodes[node].ask(requests, at >= counts_from)
    for node in nodes:
        await node.close()


def of_one_bucket(load, counts_from):
    """What one bucket without a delay admits of the load."""
    tokens, last, admitted = float(RATE), 0.0, 0
    for at, _, requests in load:
        tokens, last = min(RATE, tokens + (at - last) * RATE), at
        taken = min(requests, int(tokens))
        tokens -= taken
        admitted += taken if at >= counts_from else 0
    return admitted


async def play_weir(path, limit, delay, count, load, counts_from):
    """Plays the load on edges.

    Returns what was admitted, the median wait, the asks for slices a second and edge, and whether
    all was answered in the windows of the load.
    """
    async with contextlib.AsyncExitStack() as stack:
        primary = stack.enter_context(subject.Subject(subject.weir(server=path)))
        proxy = await stack.enter_async_context(DelayingProxy(primary.port, delay))
        # In threads, since an edge connects through the proxy of this loop.
        loop = asyncio.get_running_loop()
        starts = [loop.run_in_executor(None, Edge, proxy.port, path) for _ in range(count)]
        edges = [stack.enter_context(edge) for edge in await asyncio.gather(*starts)]
        nodes = [await WeirNode(limit).connect(edge.port) for edge in edges]
        end = await window_began() + (load[-1][0] // WINDOW_SECONDS + 1) * WINDOW_SECONDS
        await play(nodes, load, counts_from)
        is_in_time = time.time() < end
        infos = [await loop.run_in_executor(None, edge.info) for edge in edges]
        asks = sum(int(info["asks"]) for info in infos) / load[-1][0] / count
        waits = [wait for node in nodes for wait in node.waits]
        return sum(node.admitted for node in nodes), statistics.median(waits), asks, is_in_time


async def window_began():
    """Waits for the next window, and returns its beginning."""
    begin = (time.time() // WINDOW_SECONDS + 1) * WINDOW_SECONDS
    await asyncio.sleep(begin - time.time())
    return begin


def used(path):
    print(f"\n{RATE:,}/s, asked {DEMAND} times as often: admitted of what one bucket admits")
    for delay in DELAYS:
        for count in EDGES:
            shares, waits, asks = [], [], []
            for run in range(RUNS):
                load = bursts(count, WARM_SECONDS + PLAY_SECONDS, run)
                setting = (path, f"{RATE}/s", delay, count, load, WARM_SECONDS)
                admitted, wait, rate, _ = asyncio.run(play_weir(*setting))
                shares.append(admitted / of_one_bucket(load, WARM_SECONDS))
                waits.append(wait)
                asks.append(rate)
            print(
                f"  {1e3 * delay:4.0f} ms, edges: {count:2}"
                f"   {statistics.median(shares):6.1%} ({min(shares):.1%} to {max(shares):.1%})"
                f"   {statistics.median(asks):5.1f} asks/s an edge"
                f"   p50 of a burst {1e3 * statistics.median(waits):6.1f} ms"
            )


async def play_counters(count, delay, load):
    sums = {}
    nodes = [SyncedCounter(sums, RATE * WINDOW_SECONDS, delay) for _ in range(count)]
    await window_began()
    await play(nodes, load, 0)
    return sum(node.admitted for node in nodes)


def overshoot(path):
    limit = f"{RATE * WINDOW_SECONDS}/{WINDOW_SECONDS}s,fixed"
    windows = 3
    print(f"\n{limit}, asked {DEMAND} times as often: admitted of the counts of {windows} windows")
    for delay in DELAYS:
        for count in EDGES:
            of_edges, of_counters = [], []
            for run in range(RUNS):
                # A second before the end all has been spent, and what waits is answered in time.
                load = bursts(count, windows * WINDOW_SECONDS - 1, run)
                whole = RATE * WINDOW_SECONDS * windows
                played = asyncio.run(play_weir(path, limit, delay, count, load, 0))
                admitted, *_, is_in_time = played
                if not is_in_time:
                    raise SystemExit("a request was answered in the next window")
                of_edges.append(admitted / whole)
                of_counters.append(asyncio.run(play_counters(count, delay, load)) / whole)
            print(
                f"  {1e3 * delay:4.0f} ms, nodes: {count:2}"
                f"   edges {statistics.median(of_edges):6.1%}, at most {max(of_edges):6.1%}"
                f"   synced counters {statistics.median(of_counters):6.1%},"
                f" at most {max(of_counters):6.1%}"
            )


if __name__ == "__main__":
    subject.become_load()
    subject.measure_sections(
        __doc__, {"hot": hot, "cold": cold, "used": used, "overshoot": overshoot}
    )
