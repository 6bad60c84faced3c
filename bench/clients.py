"""The cost of many, slow, greedy or hostile clients, and what other clients notice of them.

    clients.py [SECTION ...] [--server PATH]          or: ./dev bench clients [SECTION ...]

    idle       10,000 connections that send nothing; load beside them
    slow       1,000 connections that send a byte every 5 s; load beside them
    hostile    200 clients that make the server hold as much memory as they can (hostile_clients.py)
    fair       one client pipelines a million requests, another one sends a PING every 10 ms
    limits     one user uses a million distinct limits, on one key and on many, and asks about keys
               that have many; another one sends the same PINGs
    waits      the longest wait of another client beside each of the largest commands (waits.py)

Load is RL.ALLOW from 50 connections over a million keys, at pipeline 1 and 64, in turn with and
without the other clients. Figures are medians of RUNS. subject.py runs and measures the server.
"""

import itertools
import multiprocessing
import os
import select
import socket
import statistics
import struct
import tempfile
import threading
import time

import hostile_clients
import subject
import waits
from resp import Client, encode

RUNS = 5
LIMIT = "1M/3285d"  # no bucket becomes full again during a run

IDLE_CLIENTS = 10_000
SLOW_CLIENTS = 1_000
SLOW_INTERVAL = 5.0  # seconds between two bytes of one client
SLOW_REQUEST = encode("RL.ALLOW", "key:slow", LIMIT)

FLOODS = 10
FLOOD_REQUESTS = 1_000_000
FLOOD_KEYS = 1_000
PING_INTERVAL = 0.01

FLOOD_LIMITS = 1_000_000
LIMITS_PER_REQUEST = 50


def connected(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Ends the connection with RST, so that its port is free at once.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return client


class IdleClients:
    """Connections that send one request and then nothing more."""

    def __init__(self, server):
        self.clients = [connected(server.port) for _ in range(IDLE_CLIENTS)]
        for client in self.clients:
            client.sendall(b"PING\r\n")
            client.recv(64)

    def close(self):
        for client in self.clients:
            client.close()

    def report(self):
        return f"{IDLE_CLIENTS:,} idle connections"


class SlowClients:
    """Connections that send a byte of a request every SLOW_INTERVAL, and reconnect when closed."""

    def __init__(self, server):
        self.closed = 0
        self._server = server
        self._clients = [connected(server.port) for _ in range(SLOW_CLIENTS)]
        self._sent = [0] * SLOW_CLIENTS
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        due = time.monotonic()
        turn = 0
        while not self._ended.wait(max(0, due - time.monotonic())):
            self._send_byte(turn % SLOW_CLIENTS)
            due += SLOW_INTERVAL / SLOW_CLIENTS
            turn += 1

    def _send_byte(self, i):
        try:
            self._clients[i].send(SLOW_REQUEST[self._sent[i] % len(SLOW_REQUEST) :][:1])
            self._sent[i] += 1
        except ConnectionError:
            self._clients[i].close()
            self._clients[i] = connected(self._server.port)
            self._sent[i] = 0
            self.closed += 1

    def close(self):
        self._ended.set()
        self._thread.join()
        for client in self._clients:
            client.close()

    def report(self):
        return f"{SLOW_CLIENTS:,} slow connections, {self.closed:,} of them closed by the server"


def beside(path, crowd):
    """Load without and with a crowd of clients: IdleClients or SlowClients."""
    loads = {(with_them, pipeline): [] for pipeline in (1, 64) for with_them in (False, True)}
    command = subject.weir("--max-clients", str(IDLE_CLIENTS + 1000), server=path)
    with subject.Subject(command) as server:
        for _ in range(2):  # so that the table has grown
            load(server, 64)
        descriptors, resident, grown = server.descriptors(), server.resident_bytes(), 0
        for _ in range(RUNS):
            clients = crowd(server)
            grown = max(grown, server.resident_bytes() - resident)
            for pipeline in (1, 64):
                loads[True, pipeline].append(load(server, pipeline))
            clients.close()
            while server.descriptors() > descriptors:
                time.sleep(0.01)
            for pipeline in (1, 64):
                loads[False, pipeline].append(load(server, pipeline))
        left = server.left_bytes(resident)
    print(f"\n{clients.report()}")
    print(f"  {grown / 1e6:.1f} MB more resident with them, {left / 1e6:.1f} MB when they had gone")
    for (with_them, pipeline), measured in loads.items():
        typical = subject.median(measured)
        print(
            f"  pipeline {pipeline:2}, {'with them' if with_them else 'alone':9}"
            f" {typical.rate:12,.0f} requests/s   p99 {typical.p99_ms:6.2f} ms"
            f"   {typical.cpu_seconds:6.2f} CPU s a million"
        )


def load(server, pipeline):
    return server.load(
        requests=3_000_000 if pipeline > 1 else 300_000,
        connections=50,
        pipeline=pipeline,
        command=["RL.ALLOW", "key:__rand_int__", LIMIT],
    )


def rush(server, requests):
    """Sends chunks of requests as fast as the server takes them, and reads the replies."""
    chunks = itertools.chain(requests, [encode("ECHO", "the end")])
    unsent, tail = memoryview(next(chunks)), b""
    with connected(server.port) as client:
        client.setblocking(False)
        events = select.poll()
        events.register(client, select.POLLIN | select.POLLOUT)
        while not tail.endswith(b"the end\r\n"):
            for _, event in events.poll():
                if event & select.POLLIN:
                    tail = (tail + client.recv(1 << 20))[-64:]
                if event & select.POLLOUT and unsent:
                    unsent = unsent[client.send(unsent) :] or memoryview(next(chunks, b""))
                if not unsent:
                    events.modify(client, select.POLLIN)


def rush_beside(server, requests):
    """Runs rush() at low priority, so that the PINGs, which share its core, come first."""
    os.nice(19)
    rush(server, requests)


def flood(server):
    """Sends FLOOD_REQUESTS over FLOOD_KEYS as rush_beside() does."""
    requests = b"".join(encode("RL.ALLOW", f"key:{i}", LIMIT) for i in range(FLOOD_KEYS))
    rush_beside(server, itertools.repeat(requests, FLOOD_REQUESTS // FLOOD_KEYS))


def pings(server, go_on):
    """Sends a PING every PING_INTERVAL. Returns the latency of each, in milliseconds."""
    latencies = []
    with connected(server.port) as client:
        due = time.perf_counter()
        while go_on(latencies):
            time.sleep(max(0, due - time.perf_counter()))
            begin = time.perf_counter()
            client.sendall(b"PING\r\n")
            client.recv(64)
            latencies.append((time.perf_counter() - begin) * 1e3)
            due = max(due + PING_INTERVAL, begin)
    return latencies


def print_pings(what, latencies):
    percentiles = statistics.quantiles(latencies, n=100)
    print(
        f"  {what:16} p50 {percentiles[49]:6.2f} ms   p99 {percentiles[98]:6.2f} ms"
        f"   max {max(latencies):6.2f} ms   of {len(latencies):,} PINGs"
    )


def fair(path):
    with subject.Subject(subject.weir(server=path)) as server:
        cpu, waited = server.cpu_seconds(), server.waited_seconds()
        begin, beside_flood = time.perf_counter(), []
        for _ in range(FLOODS):
            flooder = multiprocessing.Process(target=flood, args=(server,))
            flooder.start()
            beside_flood += pings(server, lambda _: flooder.is_alive())
            flooder.join()
        seconds = time.perf_counter() - begin
        rate, waited = FLOODS * FLOOD_REQUESTS / seconds, server.waited_seconds() - waited
        cpu = (server.cpu_seconds() - cpu) / FLOODS
        alone = pings(server, lambda latencies: len(latencies) < len(beside_flood))
    print(f"\n{FLOODS} times {FLOOD_REQUESTS:,} requests from one connection, one I/O thread:")
    print(f"  {'the flood':16} {rate:,.0f} requests/s   {cpu:.2f} CPU s a million")
    print(f"  {'the server':16} waited {waited:.2f} s of {seconds:.2f} s for others on its core")
    print_pings("PING beside it", beside_flood)
    print_pings("PING alone", alone)


def limit_floods():
    """Yields the name and the requests of each flood: three of a million limits, then of looks."""
    limits = [f"{i + 1}/3000d" for i in range(FLOOD_LIMITS)]
    firsts = range(0, FLOOD_LIMITS, LIMITS_PER_REQUEST)
    groups = [limits[first : first + LIMITS_PER_REQUEST] for first in firsts]
    yield "on one key", [encode("RL.ALLOW", "app:x", *group) for group in groups]
    yield "on many keys", [encode("RL.ALLOW", f"app:{i}", *g) for i, g in enumerate(groups)]
    yield "the same again", [encode("RL.ALLOW", f"app:{i}", *g) for i, g in enumerate(groups)]
    watch = encode("WATCH", "app:x") * 1024 + encode("UNWATCH")
    exists = encode("EXISTS", *["app:x"] * 300)
    transaction = encode("MULTI") + encode("TTL", "app:x") * 500 + encode("EXEC")
    inspect = encode("RL.INSPECT", "app:x") * 100
    yield "looks", [watch, exists, transaction, inspect] * 20
    yield "deletions", [encode("DEL", f"app:{i}") for i in range(len(groups))]


def limits(path):
    print(f"\n{FLOOD_LIMITS:,} distinct limits of one user, one I/O thread:")
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as users:
        users.write("user default on nopass ~* +@all\nuser app on >a ~app:* +@all -@admin\n")
        users.flush()
        _limits(subject.weir("--users-file", users.name, server=path))


def _limits(command):
    with subject.Subject(command) as server:
        for name, requests in limit_floods():
            chunks = [encode("AUTH", "app", "a") + b"".join(requests)]
            flooder = multiprocessing.Process(target=rush_beside, args=(server, chunks))
            flooder.start()
            print_pings(name, pings(server, lambda seen: flooder.is_alive() or len(seen) < 100))
            flooder.join()
        with Client(server.port) as other:
            admitted = other.ask("RL.ALLOW", "other:1", "77/s")[0]
            admitted += 1 - other.ask("CL.THROTTLE", "other:1", 5, 1, 1)[0]
        print(f"  {admitted} of 2 new limits of another user admitted")
        print(f"  {server.resident_bytes() / 1e6:.0f} MB resident")


def main():
    sections = {
        "idle": lambda path: beside(path, IdleClients),
        "slow": lambda path: beside(path, SlowClients),
        "hostile": hostile_clients.measure,
        "fair": fair,
        "limits": limits,
        "waits": waits.measure,
    }
    subject.become_load()
    subject.measure_sections(__doc__, sections)


if __name__ == "__main__":
    main()
