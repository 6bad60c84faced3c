"""The costs of holds: of their commands, of their memory, and to others when they expire.

    holds.py [SECTION ...] [--server PATH]          or: ./dev bench holds [SECTION ...]

    cost       CPU of RL.RESERVE and RL.COMMIT beside RL.ALLOW, asked one at a time and 16 at a time
    memory     a million holds over a million keys, with one limit and with three, beside the same
               buckets without holds
    expiry     latency of RL.ALLOW at half of the server's maximal rate, without holds, and while a
               million holds over its million keys expire within one second

Ids have 16 bytes. Figures are medians of RUNS. subject.py runs and measures the servers, and the
load of `expiry` is open_loop's, which does not wait for replies. session_bench has BM_Reserve and
BM_Commit: the same commands without sockets.
"""

import statistics
import time

import subject
from clients import LIMIT
from resp import Client
from scale import CONNECTIONS, open_loop

RUNS = 5
KEYS = 1_000_000
BATCH = 1000  # requests sent at once
ONE, THREE = ["1M/3285d"], ["1M/3285d", "1M/3284d", "1M/3283d"]
ASKED = {1: 50_000, 16: 200_000}  # requests of a load by the number sent at once
FILL_SECONDS = 40  # to reserve KEYS holds, at most
BEFORE_EXPIRY = 4.5  # seconds from the beginning of the load to the first expiry


def key(i):
    return f"key:{i:012d}"


def ask(server, count, batch, request):
    """request(i): the words of the i-th request. Returns the last replies."""
    with Client(server.port) as client:
        for begin in range(0, count, batch):
            replies = client.ask_all([request(i) for i in range(begin, begin + batch)])
    return replies


def fill(server, request):
    ask(server, KEYS, BATCH, request)


def grown(path, request):
    with subject.Subject(subject.weir(server=path)) as server:
        before = server.resident_bytes()
        fill(server, request)
        return server.resident_bytes() - before


def reserve(i, limits, ttl_ms):
    return ["RL.RESERVE", key(i), *limits, "HOLD", f"{i:016d}", "TTL", ttl_ms]


def cost(path):
    # Each command's holds are there when its turn comes: RL.COMMIT settles what RL.RESERVE held.
    commands = {
        "RL.ALLOW": lambda i: ["RL.ALLOW", key(i), *ONE],
        "RL.RESERVE": lambda i: reserve(i, ONE, 3_600_000),
        "RL.COMMIT": lambda i: ["RL.COMMIT", key(i), ONE[0] + ",cost=0", "HOLD", f"{i:016d}"],
    }
    for batch, count in ASKED.items():
        taken = {name: [] for name in commands}
        for _ in range(RUNS):
            with subject.Subject(subject.weir(server=path)) as server:
                for name, request in commands.items():
                    before = server.cpu_seconds()
                    replies = ask(server, count, batch, request)
                    taken[name].append((server.cpu_seconds() - before) * 1e6 / count)
                    if replies[-1][0] != 1:
                        raise SystemExit(f"{name} was answered by {replies[-1]}")
        print(f"\n{count:,} requests for as many keys, {batch} at a time")
        first = statistics.median(taken["RL.ALLOW"])
        for name, runs in taken.items():
            typical = statistics.median(runs)
            print(f"  {name:10} {typical:6.2f} CPU s a million   {typical / first:5.2f} x")


def memory(path):
    print(f"\n{KEYS:,} holds, one a key")
    for name, limits in {"one limit": ONE, "three limits": THREE}.items():
        taken = []
        for _ in range(RUNS):
            buckets = grown(path, lambda i, limits=limits: ["RL.ALLOW", key(i), *limits])
            held = grown(path, lambda i, limits=limits: reserve(i, limits, 3_600_000))
            taken.append((held - buckets) / KEYS)
        print(f"  {name:14} {statistics.median(taken):6.0f} bytes a hold, besides its buckets")


def expire(server, rate):
    """Returns the figures of a load during which KEYS holds expire within one second."""
    first = time.time() + FILL_SECONDS

    def request(i):
        return reserve(i, ["1M/s"], int((first + i / KEYS - time.time()) * 1e3))

    fill(server, request)
    rest = first - BEFORE_EXPIRY - time.time()
    if rest < 0:
        raise SystemExit(f"{KEYS:,} holds took longer than {FILL_SECONDS} s")
    time.sleep(rest)
    figures = open_loop(server, rate, LIMIT)
    with Client(server.port) as client:
        while held(client) > 0:  # until they are swept
            time.sleep(0.1)
    return figures


def held(client):
    return int(client.ask("INFO", "weir").partition("\nholds:")[2].split()[0])


def expiry(path):
    results = {"without holds": [], f"{KEYS:,} expire": []}
    with subject.Subject(subject.weir(server=path)) as server:
        command = ["RL.ALLOW", "key:__rand_int__", LIMIT]
        rate = int(server.load(300_000, CONNECTIONS, 1, command).rate / 2)
        alone, beside = results.values()
        for _ in range(RUNS):
            alone.append(open_loop(server, rate, LIMIT))
            beside.append(expire(server, rate))
    print(f"\nRL.ALLOW, {rate:,} requests/s whatever the server does")
    for name, runs in results.items():
        p50, p99, p999, longest, late = (statistics.median(column) for column in zip(*runs))
        print(
            f"  {name:24} p50 {p50:7.1f} us   p99 {p99:7.1f} us   p99.9 {p999:7.1f} us"
            f"   longest {longest:9.1f} us   of which sent late, p99.9 {late:7.1f} us"
        )


if __name__ == "__main__":
    subject.become_load()
    subject.measure_sections(__doc__, {"cost": cost, "memory": memory, "expiry": expiry})
