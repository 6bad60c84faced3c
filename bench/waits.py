"""The longest wait of another client beside the largest commands.

One client asks RL.ALLOW all the time, over a connection of its own, on a server with one I/O
thread. Each row is a set-up, and what a second client asks then, TRIES times. Rows of operators,
whose commands no application may send, are listed apart. The first line is the wait beside nothing:
the noise of the machine.
"""

import contextlib
import http.client
import json
import multiprocessing
import os
import tempfile
import threading
import time
from typing import Callable, NamedTuple

import subject
from resp import Client

TRIES = 5
ALONE_SECONDS = 3.0

HOLDS = 60_000  # of one key
ALL_HOLDS = 1_000_000
TTL_MS = 3_000_000
EXPIRY_MS = 4_000
PATTERNS, PATTERNS_OF_ONE, PATTERN_BYTES, CHANNEL_BYTES = 256, 64, 64, 512
BATCH, LIMITS = 1_000, 64
USERS = 6_000
COUNTED_LIMITS = 4_097
POLICIES = 1_500
POLICY_BUCKETS, POLICY_OVERRIDES = 200_000, 10_000  # of one policy
ARRIVALS = 125
PIPELINE = 500


class Bench(NamedTuple):
    """A server, and a connection to it that sets it up and asks."""

    server: subject.Subject
    client: Client
    http_port: int
    admin_port: int
    others: contextlib.ExitStack  # further connections


class Row(NamedTuple):
    name: str
    set_up: Callable  # of a Bench
    ask: Callable  # of a Bench; once for each try
    of_operators: bool = False
    options: tuple = ()  # of the server; {directory} is a directory of its own


def pipelined(client, requests):
    """Asks all requests, PIPELINE at a time."""
    requests = list(requests)
    for begin in range(0, len(requests), PIPELINE):
        client.ask_all(requests[begin : begin + PIPELINE])


def post(port, path, body):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return read(connection, path)


def get(port, path):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path)
        return read(connection, path)


def read(connection, path):
    response = connection.getresponse()
    text = response.read()
    if response.status != 200:
        raise SystemExit(f"{path} was answered by {response.status} {text[:200]!r}")
    return text


def hold(key, count, ttl_ms=TTL_MS):
    """Sets up open holds of a key."""

    def set_up(bench):
        words = ("RL.RESERVE", key, f"{2 * count},held", "TTL", ttl_ms, "HOLD")
        pipelined(bench.client, ((*words, f"h{i}") for i in range(count)))

    return set_up


def expire(bench):
    hold("expired", HOLDS, EXPIRY_MS)(bench)
    time.sleep(EXPIRY_MS / 1e3)


def look_in_transaction(bench):
    looks = [("RL.PEEK", "held", f"{2 * HOLDS},held")] * 200
    bench.client.ask_all([("MULTI",), *looks, ("EXEC",)])


def save(bench):
    """Saves, and looks at the key of the holds meanwhile, since a save has the lock of that key."""
    is_saved = threading.Event()

    def look():
        with Client(bench.server.port) as client:
            while not is_saved.is_set():
                client.ask("RL.PEEK", "held", f"{2 * HOLDS},held")

    looks = threading.Thread(target=look)
    looks.start()
    bench.client.ask("SAVE")
    is_saved.set()
    looks.join()


def subscribe_to_the_worst(bench):
    """Patterns that are compared with each byte of a channel to their end."""
    for user in range(PATTERNS // PATTERNS_OF_ONE):
        client = bench.others.enter_context(Client(bench.server.port))
        client.ask("AUTH", f"app{user}", f"secret{user}")
        for i in range(PATTERNS_OF_ONE):
            client.ask("PSUBSCRIBE", "*" + "a" * (PATTERN_BYTES - 5) + str(1000 * (user + 1) + i))


def subscribe_to_denials(bench):
    """As many different patterns, each of which matches the channel of denials."""
    for user in range(PATTERNS // PATTERNS_OF_ONE):
        client = bench.others.enter_context(Client(bench.server.port))
        client.ask("AUTH", f"app{user}", f"secret{user}")
        for i in range(PATTERNS_OF_ONE):
            client.ask("PSUBSCRIBE", f"*{'*'.join('weir:denie')}[d{1000 * (user + 1) + i}]")


def deny_first(bench):
    """Denies a key that has not been denied."""
    key = f"key{time.monotonic_ns()}"
    bench.client.ask_all([("RL.ALLOW", key, "1/d")] * 2)


def publish(bench):
    with Client(bench.server.port) as client:
        client.ask("PUBLISH", "a" * CHANNEL_BYTES, "x")


def batch(bench):
    limits = [f"{i + 1}M/d" for i in range(LIMITS)]
    requests = [{"key": f"k{i}", "limits": limits, "details": True} for i in range(BATCH)]
    post(bench.http_port, "/v1/batch", {"requests": requests})


def fill_with_holds(bench):
    words = ("RL.RESERVE", "1000,held", "TTL", TTL_MS, "HOLD", "h")
    requests = ((words[0], f"key{i}", *words[1:]) for i in range(ALL_HOLDS))
    pipelined(bench.client, requests)


def count_limits(bench):
    pipelined(bench.client, (("RL.ALLOW", f"k{i}", f"{i + 1}/d") for i in range(COUNTED_LIMITS)))


def add_long_policies(bench):
    """Policies of as many limits as there may be, with names."""
    limits = [f"{i + 1}/d,name={'n' * 30}{i:03}" for i in range(LIMITS)]
    pipelined(bench.client, (("RL.POLICY", "SET", f"p{i}", *limits) for i in range(POLICIES)))


def fill_policy(bench, name="p"):
    """A policy with many buckets and overrides."""
    client = bench.client
    client.ask("RL.POLICY", "SET", name, "9/h")
    pipelined(client, (("RL.ALLOW", f"k{i}", f"@{name}") for i in range(POLICY_BUCKETS)))
    overrides = (("RL.POLICY", "OVERRIDE", name, f"u{i}", "5/h") for i in range(POLICY_OVERRIDES))
    pipelined(client, overrides)


def fill_policies(bench):
    """One for each try of RL.POLICY DEL."""
    for i in range(TRIES):
        fill_policy(bench, f"p{i}")


def delete_policy(bench):
    name = bench.client.ask("RL.POLICY", "LIST")[0]
    bench.client.ask("RL.POLICY", "DEL", name)


def back_up(bench):
    bench.client.ask("RL.BACKUP", f"b{time.monotonic_ns()}")


def simulate(bench):
    limits = [f"9/day,from={i // 60:02}:{i % 60:02}" for i in range(LIMITS)]
    step_ms = 365 * 86_400_000 // ARRIVALS
    arrivals = [i * step_ms for i in range(ARRIVALS)]
    post(bench.admin_port, "/api/simulate", {"limits": limits, "arrivals_ms": arrivals})


def nothing(_):
    pass


ROWS = [
    Row(f"RL.PEEK of a key with {HOLDS:,} holds", hold("held", HOLDS),
        lambda bench: bench.client.ask("RL.PEEK", "held", f"{2 * HOLDS},held")),
    Row("200 of these looks in EXEC", hold("held", HOLDS), look_in_transaction),
    Row(f"RL.PEEK of a key with {HOLDS:,} holds that have expired", expire,
        lambda bench: bench.client.ask("RL.PEEK", "expired", "1M/s")),
    Row("DEL of that key", hold("held", HOLDS), lambda bench: bench.client.ask("DEL", "held")),
    Row(f"a save of {HOLDS:,} changed holds of a key, and looks at it", hold("held", HOLDS), save,
        options=("--data-dir", "{directory}/data", "--snapshot-interval", "1h")),
    Row(f"PUBLISH with {PATTERNS} patterns", subscribe_to_the_worst, publish),
    Row(f"the first denial of a key with {PATTERNS} patterns", subscribe_to_denials, deny_first),
    Row(f"/v1/batch of {BATCH:,} x {LIMITS}", nothing, batch),
    Row("RL.INSPECT HOLDS", hold("held", HOLDS),
        lambda bench: bench.client.ask("RL.INSPECT", "held", "HOLDS")),
    Row("simulate", nothing, simulate, True),
    Row(f"FLUSHALL of {ALL_HOLDS:,} holds", fill_with_holds,
        lambda bench: bench.client.ask("FLUSHALL"), True),
    Row(f"ACL LOAD of {USERS:,} users", nothing,
        lambda bench: bench.client.ask("ACL", "LOAD"), True),
    Row(f"RL.STATS of {COUNTED_LIMITS:,} rows", count_limits,
        lambda bench: bench.client.ask("RL.STATS"), True),
    Row(f"/metrics of {COUNTED_LIMITS:,} limits", count_limits,
        lambda bench: get(bench.admin_port, "/metrics"), True),
    Row(f"/api/policies of {POLICIES:,} x {LIMITS}", add_long_policies,
        lambda bench: get(bench.admin_port, "/api/policies"), True),
    Row(f"RL.POLICY DEL of {POLICY_BUCKETS:,} buckets", fill_policies, delete_policy, True),
    Row(f"RL.POLICY SET TRIM of {POLICY_BUCKETS:,} buckets", fill_policy,
        lambda bench: bench.client.ask("RL.POLICY", "SET", "p", "9/h", "TRIM"), True),
    Row(f"RL.BACKUP of {POLICY_BUCKETS:,} buckets", fill_policy, back_up, True,
        options=("--data-dir", "{directory}/data", "--backup-dir", "{directory}/backups")),
]  # fmt: skip


def write_users(path):
    with open(path, "w", encoding="ascii") as users:
        users.write("user default on nopass ~* &* +@all\n")
        for i in range(USERS):
            users.write(f"user app{i} on >secret{i} ~app{i}:* &* +@limit +psubscribe\n")


@contextlib.contextmanager
def running(path, more_options=()):
    """A server of its own for each row, so that none pays for the state of another."""
    http_port, admin_port = subject.free_port(), subject.free_port()
    with tempfile.TemporaryDirectory() as directory:
        users = os.path.join(directory, "users")
        write_users(users)
        options = ["--http-port", str(http_port), "--admin-port", str(admin_port)]
        options += ["--users-file", users, "--metrics-max-limits", "4096"]
        options += [option.format(directory=directory) for option in more_options]
        with subject.Subject(subject.weir(*options, server=path)) as server:
            with Client(server.port) as client, contextlib.ExitStack() as others:
                yield Bench(server, client, http_port, admin_port, others)


def watch(port, ends, waits):
    """Asks all the time until `ends` is set; sends the longest wait, in milliseconds."""
    longest = 0.0
    with Client(port) as client:
        client.ask("RL.ALLOW", "own", "1M/s")
        waits.send(None)  # it has begun
        while not ends.is_set():
            begin = time.perf_counter()
            client.ask("RL.ALLOW", "own", "1M/s")
            longest = max(longest, time.perf_counter() - begin)
    waits.send(longest * 1e3)


def longest_wait(port, ask):
    ends, (waits, sender) = multiprocessing.Event(), multiprocessing.Pipe(duplex=False)
    watcher = multiprocessing.Process(target=watch, args=(port, ends, sender))
    watcher.start()
    waits.recv()
    ask()
    ends.set()
    longest = waits.recv()
    watcher.join()
    return longest


def measure_row(path, row):
    """The longest wait of each try; the first try may consume the set-up."""
    with running(path, row.options) as bench:
        row.set_up(bench)
        return [longest_wait(bench.server.port, lambda: row.ask(bench)) for _ in range(TRIES)]


def measure(path):
    print("\nThe longest wait of another client, one I/O thread, in milliseconds:")
    with running(path) as bench:
        alone = longest_wait(bench.server.port, lambda: time.sleep(ALONE_SECONDS))
    print(f"  {'beside nothing':52} {alone:8.1f}")
    for of_operators in (False, True):
        print("  of operators" if of_operators else "  of applications")
        for row in ROWS:
            if row.of_operators == of_operators:
                waits = measure_row(path, row)
                print(f"    {row.name:50} {max(waits):8.1f}")
