"""The time for which clients under Sentinel are without an answer, and what is forgotten.

    failover.py [SECTION ...] [--server PATH]              or: ./dev bench failover [SECTION ...]

    killed     kill -9 of the primary
    frozen     SIGSTOP of the primary
    planned    SENTINEL FAILOVER

Three Sentinels of Debian with a down-after-milliseconds of 1 s watch a primary and its replica:
weir's, and Redis's, in turns. A client asks a Sentinel for the primary and sends it one request
(RL.ALLOW, INCR), on a new connection each time, with a deadline of DEADLINE. Figures are the median
and the extremes of RUNS: the longest time between two requests that were served, and how many of
them the new primary does not know, less those that it knows and that were not answered.

A down-after of a second is too short where the old primary comes back at once (the page says why);
here it stays away.
"""

import contextlib
import random
import socket
import statistics
import time

import subject
from replication import await_true, follow, follow_redis, is_in_sync
from resp import Client, encode

RUNS = 5
SENTINELS = 3
DEADLINE = 0.2
PERIOD = 0.005
SERVED_AFTER = 2.0  # the client continues for so long after the new primary's first answer
SECONDS_MAX = 60
BURST = 1_000_000

SENTINEL = """port {{port}}
sentinel monitor weir 127.0.0.1 {primary} 2
sentinel down-after-milliseconds weir 1000
sentinel failover-timeout weir 10000
"""


def sentinel_of(primary):
    return subject.Subject(
        ["redis-server", "sentinel.conf", "--sentinel"],
        ready=(b"PING\r\n", (b"+",)),
        files={"sentinel.conf": SENTINEL.format(primary=primary.port)},
        core=subject.LOAD_CORE,
    )


class Weir:
    request = encode("RL.ALLOW", "k", f"{BURST}/365d")

    def __init__(self, path):
        self.command = subject.weir("--sentinel", "weir", "--sentinel-wait", "1ms", server=path)

    def primary(self):
        # Until its wait for Sentinel has ended, it answers LOADING.
        return subject.Subject(self.command, ready=(b"PING\r\n", (b"+",)))

    def replica(self, primary):
        return follow(primary, self.command)

    def served(self, reply):
        """How many requests it has served, as its reply says; None for an error."""
        lines = reply.split(b"\r\n")
        if not reply.startswith(b"*") or lines[1] != b":1":
            return None
        return BURST - int(lines[2][1:])


class Redis:
    request = encode("INCR", "k")

    def primary(self):
        return subject.Subject(subject.redis())

    def replica(self, primary):
        return follow_redis(primary)

    def served(self, reply):
        return int(reply[1:]) if reply.startswith(b":") else None


def master(sentinel):
    with Client(sentinel.port) as client:
        flat = client.ask("SENTINEL", "MASTER", "weir")
    return dict(zip(flat[::2], flat[1::2]))


def is_ready(sentinel):
    seen = master(sentinel)
    others = seen["num-other-sentinels"], seen["num-slaves"], seen["flags"]
    return others == (str(SENTINELS - 1), "1", "master")


def ask(port, request):
    """The beginning of its reply, or nothing."""
    try:
        with socket.create_connection(("127.0.0.1", port), DEADLINE) as client:
            client.sendall(request)
            return client.recv(256)
    except OSError:
        return b""


def fail_over(kind, event):
    """Returns the longest gap in seconds, and how many requests are forgotten."""
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(kind.primary())
        replica = stack.enter_context(kind.replica(primary))
        await_true(lambda: is_in_sync(replica), "a replica in sync")
        sentinels = [stack.enter_context(sentinel_of(primary)) for _ in range(SENTINELS)]
        await_true(lambda: all(map(is_ready, sentinels)), "Sentinels that know all")
        served, gap, last, promoted = 0, 0.0, None, None
        strikes_at = time.monotonic() + 1 + random.random()
        end = time.monotonic() + SECONDS_MAX
        while promoted is None or time.monotonic() < promoted + SERVED_AFTER:
            if time.monotonic() > end:
                raise SystemExit("never: an answer of the new primary")
            if strikes_at and time.monotonic() > strikes_at:
                event(primary, sentinels[0])
                strikes_at = None
            with Client(sentinels[-1].port) as client:
                named = int(client.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "weir")[1])
            count = kind.served(ask(named, kind.request))
            if count is not None:
                now = time.monotonic()
                served += 1
                gap = max(gap, now - (last or now))
                last = now
                if named == replica.port:
                    promoted = promoted or now
                    known = count
            time.sleep(PERIOD)
        return gap, served - known


def killed(primary, _):
    primary.process.kill()


def frozen(primary, _):
    primary.pause()


def planned(_, sentinel):
    with Client(sentinel.port) as client:
        client.ask("SENTINEL", "FAILOVER", "weir")


def compare(event):
    def measure(path):
        kinds = {"weir": Weir(path), "Redis": Redis()}
        results = {name: [] for name in kinds}
        for _ in range(RUNS):
            for name, kind in kinds.items():
                results[name].append(fail_over(kind, event))
        print(f"\n{event.__name__}, down-after 1 s: seconds without an answer, requests forgotten")
        for name, runs in results.items():
            gaps, forgotten = zip(*runs)
            print(
                f"  {name:6} {statistics.median(gaps):5.2f} ({min(gaps):.2f} to {max(gaps):.2f})"
                f"   {statistics.median(forgotten):3.0f} ({min(forgotten)} to {max(forgotten)})"
            )

    return measure


if __name__ == "__main__":
    events = {event.__name__: compare(event) for event in (killed, frozen, planned)}
    subject.measure_sections(__doc__, events)
