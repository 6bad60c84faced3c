"""Three servers and three Sentinels on three hosts, whose network and processes fail.

Goal: laws R4 and R9, and no lock-out: whatever fails, a key that never refills gets no token more
than the table of docs/high-availability.md allows, and when the failure is over, one server is the
primary, the others follow it, and it admits. Method: hosts are network namespaces on a bridge. A
client on each host asks the server there, whatever its role; another one asks the Sentinels where
the primary is. Failures come one after the other; after each the group must become calm, and the
history of the keys that were asked meanwhile is judged.

WEIR_TEST_SCALE 1 runs the first failures, which takes half a minute; 2 all of them, in two minutes;
10 all of them five times. A server with a sanitizer is too slow for Sentinel's times.

Environment:
    WEIR_NETWORK_SEED    of the order of the failures and of the clients; printed
    WEIR_NETWORK_EVENTS  the numbers of the failures to run instead, in this order: "0,4"
"""

import bisect
import collections
import contextlib
import math
import os
import random
import shutil
import sys
import time
import unittest
from typing import NamedTuple

from host_network import HostNetwork, RemoteClient, why_not
from replication_checker import History, Limit, Request
from replication_servers import SLACK_MS, ReplicationTest, ask_all, await_true, is_exact
from restless_client import RestlessClient, World
from sentinels import GROUP, Sentinel
from weir_e2e import NEVER, SKIPPED, Client, Error, encode, sanitized

PORT, SENTINEL_PORT = 7379, 26379
SECOND = 1_000_000_000
TOKENS = 20
WORDS = f"{TOKENS}/9w"
DRAINED = Limit(TOKENS, TOKENS, 9 * 604_800 * SECOND)
HOSTS = 3
FIRST = 3  # failures at WEIR_TEST_SCALE 1
FILLED = 100_000  # keys that make a full sync last
BACK_WITHIN = 30  # seconds after a failure; then the group has a primary that admits
READY_WITHIN = 60  # seconds in which the Sentinels, too, have seen all of that
DEPOSED_WITHIN = 8  # seconds in which an old primary that is back still admits, at most
KEYS_PER_SECOND = 100
RECENT = 50  # keys
SNAPSHOT_MS = 1000  # --snapshot-interval
REFUSALS = {"READONLY", "LOADING"}
# What a key may get too many.
NOTHING = "nothing"
LAG = "what the old primary admitted in the lag"
TWO = "a burst, of two primaries"
LINK = "nothing, unless a Sentinel that stood still has failed over meanwhile"


def wait(seconds):
    """Lets a failure last."""
    World(0).ended.wait(seconds)


class Keys:
    """Keys that come up one after the other, so that at any time some are new and some used up."""

    def __init__(self, prefix):
        self._prefix = prefix
        self._begin = time.monotonic()

    def all(self):
        return [f"{self._prefix}:{i}" for i in range(self._newest() + 1)]

    def some(self, chance):
        """A few keys: recent ones, or any."""
        newest = self._newest()
        oldest = max(0, newest - RECENT) if chance.random() < 0.5 else 0
        return [
            f"{self._prefix}:{chance.randint(oldest, newest)}"
            for _ in range(chance.randint(1, 16))
        ]

    def _newest(self):
        return int((time.monotonic() - self._begin) * KEYS_PER_SECOND)


class Taker(RestlessClient):
    """A client on a host, which takes single tokens of the server there whatever its role."""

    def __init__(self, world, host, keys, history, seed):
        self.host = host
        self.errors = set()  # their first words
        self._keys, self._own = keys, history.client()
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        keys = self._keys.some(self._random)
        invoked = time.monotonic_ns()
        client.send(b"".join(encode("RL.ALLOW", key, WORDS) for key in keys))
        for key in keys:
            reply = client.reply()
            if isinstance(reply, Error):
                self.refused(reply)
            else:
                request = Request(invoked, time.monotonic_ns(), reply[0], self.host.index)
                self._own.append((key, request))
        self._world.ended.wait(0.002)

    def refused(self, reply):
        self.errors.add(reply.split()[0])

    def _run(self):
        with self.host.entered():
            super()._run()

    def _ask_until_the_end(self):
        super()._ask_until_the_end()
        self._world.ended.wait(0.01)


class Roamer(Taker):
    """A client elsewhere, which asks the primary that a Sentinel names."""

    def __init__(self, world, hosts, *how):
        self._hosts = hosts
        super().__init__(world, hosts[0], *how)

    def admissions(self):
        """The times at which it was admitted, and the host that did."""
        return [(request.completed, request.server) for _, request in self._own if request.tokens]

    def refused(self, reply):
        super().refused(reply)
        raise EOFError

    def _run(self):
        RestlessClient._run(self)

    def _ask_until_the_end(self):
        with contextlib.suppress(EOFError, OSError):
            sentinel = self._random.choice(self._hosts).sentinel_address
            with RemoteClient(sentinel, SENTINEL_PORT, 0.5) as client:
                named = client.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP)[0].decode()
            (self.host,) = (host for host in self._hosts if host.address == named)
            with RemoteClient(named, PORT, 1.0) as self._client:
                while not self._world.ended.is_set():
                    self.ask(self._client)
        self._world.ended.wait(0.01)


class Load:
    """The clients of one failure, and their history."""

    def __init__(self, hosts, name, chance):
        self.keys, self.history, self._world = Keys(name), History(), World(PORT)
        how = [(self.keys, self.history, chance.random()) for _ in range(HOSTS + 1)]
        self.roamer = Roamer(self._world, hosts, *how.pop())
        self.takers = [Taker(self._world, host, *how.pop()) for host in hosts] + [self.roamer]

    def has_admitted(self, server, since):
        return any(t > since and who == server for t, who in self.roamer.admissions())

    def go_on(self, seconds):
        """Lets the load go on for a while."""
        self._world.ended.wait(seconds)

    def end(self):
        self._world.ended.set()
        for taker in self.takers:
            taker.leave()
            taker.join()

    def errors(self):
        refused = set().union(*(taker.errors for taker in self.takers)) - REFUSALS
        return [*self._world.errors, *refused]

    def longest_pause(self, begin):
        """The longest time in ns after `begin` in which the client of the Sentinels got nothing."""
        times = [t for t, _ in self.roamer.admissions()]
        times = times[max(0, bisect.bisect(times, begin) - 1) :]
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0)

    def admitted_times(self, servers, until=sys.maxsize):
        """key -> when servers admitted a token of it, in order."""
        times = collections.defaultdict(list)
        for key, requests in self.history.of_keys().items():
            admitted = (r.completed for r in requests if r.tokens and r.server in servers)
            times[key] = sorted(t for t in admitted if t <= until)
        return times


def lag_ms(times, excesses, begin):
    """The shortest lag before the failure that explains all tokens that were too many.

    `times`: key -> when servers that are not the primary any more admitted, in order.
    """
    forgotten = (times[key][-tokens] for key, tokens in excesses.items() if times[key][tokens - 1:])
    return max(0, begin - min(forgotten, default=begin)) / 1e6


class Failure(NamedTuple):
    """What happens to a group, and the tokens that a key may get too many by it."""

    name: str
    bound: str
    inject: object  # function(test, primary)
    least_scale: float = 0


class Group(ReplicationTest):
    """Servers and Sentinels on hosts."""

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_NETWORK_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_NETWORK_SEED={self.seed}", file=sys.stderr, flush=True)
        self.network = HostNetwork(self, HOSTS)
        self.hosts = self.network.hosts
        self.servers, self.sentinels, self.replaced_logs = {}, {}, []
        self.struck = 0  # the time in ns at which the primary failed, or whatever it was
        first, *others = self.hosts
        self.start_server(first, "--sentinel-wait", "1ms")
        for host in others:
            self.start_server(host, "--replicaof", f"{first.address} {PORT}")
        await_true(lambda: all(self.is_exact(host) for host in others), self.story)
        with first.entered(), Client(PORT) as client:
            ask_all(client, [("RL.ALLOW", f"filled:{i}", f"9/{NEVER}") for i in range(FILLED)])
        for host in self.hosts:
            self.start_sentinel(host, first)
        await_true(self.calm_primary, self.story)
        await_true(lambda: self.sentinels_are_ready(), self.story)

    def start_server(self, host, *options):
        server = self.launch(
            "--bind", f"127.0.0.1,{host.address}", "--port", str(PORT), "--threads", "2",
            "--protected-mode=false", "--sentinel", GROUP, "--log-level", "info",
            "--data-dir", self.data_of(host), *options, starter=host.starter,
        )  # fmt: skip
        if host in self.servers:
            self.replaced_logs.append(f"{host.address}, before:\n{self.servers[host].log()}")
        self.servers[host] = server
        server.wait_for_log(r"listening on 10\.")

    def data_of(self, host):
        return os.path.join(self.directory, f"data{host.index}")

    def start_sentinel(self, host, primary):
        # The last `bind` counts. Replies of other hosts come to the address that it asks from.
        address = host.sentinel_address
        more = f"bind 127.0.0.1 {address}\nbind-source-addr {address}"
        sentinel = Sentinel(self.directory, PORT, host=primary.address, bind=address, more=more,
                            port=SENTINEL_PORT, starter=host.starter, down_after=2000)
        self.addCleanup(sentinel.stop)
        self.sentinels[host] = sentinel

    def call(self, host, *words):
        """What the server of a host answers there; an error if it does not."""
        try:
            with host.entered(), Client(PORT) as client:
                client.socket.settimeout(2)
                return client.call(*words)
        except (EOFError, OSError) as error:
            return Error(f"GONE {error}")

    def is_exact(self, host):
        with contextlib.suppress(EOFError, OSError), host.entered(), Client(PORT) as client:
            client.socket.settimeout(2)
            return is_exact(client)
        return False

    def ask_sentinel(self, host, *words):
        try:
            with host.entered():
                return self.sentinels[host].call("SENTINEL", *words)
        except (EOFError, OSError) as error:
            return Error(f"GONE {error}")

    def primary(self):
        """The only primary; None if there is not one alone that all others follow."""
        roles = {host: self.call(host, "ROLE") for host in self.hosts}
        primaries = [host for host, role in roles.items() if role[0] == b"master"]
        if len(primaries) != 1:
            return None
        following = [b"slave", primaries[0].address.encode(), PORT, b"connected"]
        followed = all(roles[host][:4] == following for host in self.network.others(primaries[0]))
        return primaries[0] if followed else None

    def calm_primary(self):
        """The only primary, if all Sentinels name it too; or None."""
        primary = self.primary()
        named = {
            self.ask_sentinel(host, "GET-MASTER-ADDR-BY-NAME", GROUP)[0] for host in self.hosts
        }
        return primary if primary and named == {primary.address.encode()} else None

    def sentinels_are_ready(self):
        """All Sentinels see all servers and one another, and could fail over."""
        for host in self.hosts:
            seen = {}
            for what in ("MASTER", "REPLICAS", "SENTINELS"):
                rows = self.ask_sentinel(host, what, GROUP)
                if isinstance(rows, Error):
                    return False
                rows = rows if isinstance(rows[:1] and rows[0], list) else [rows]
                seen[what] = sorted(row[row.index(b"flags") + 1] for row in rows if row)
            good = (seen["MASTER"], seen["REPLICAS"], seen["SENTINELS"])
            if good != ([b"master"], [b"slave"] * 2, [b"sentinel"] * 2):
                return False
        return True

    def story(self):
        """All that is known when something has not come to be."""
        parts = [f"roles: {[self.call(host, 'ROLE') for host in self.hosts]}", *self.replaced_logs]
        for host in self.hosts:
            parts.append(f"{host.address}:\n{self.servers[host].log()}")
        for sentinel in self.sentinels.values():
            with open(sentinel.log, encoding="utf-8") as log:
                parts.append(f"Sentinel {sentinel.host}:\n{log.read()}")
        return "\n".join(parts)


class SentinelNetworkTest(Group):
    def test_failures_one_after_the_other(self):
        for number, failure in enumerate(self.chosen()):
            self.fail_once(number, failure)
        for host, server in self.servers.items():
            self.assertEqual(server.stop(), 0, host.address)

    def chosen(self):
        """The failures of this run, in their order."""
        scale = float(os.environ.get("WEIR_TEST_SCALE", "1"))
        if "WEIR_NETWORK_EVENTS" in os.environ:
            return [FAILURES[int(i)] for i in os.environ["WEIR_NETWORK_EVENTS"].split(",")]
        possible = [failure for failure in FAILURES if failure.least_scale <= scale]
        if scale < 2:
            return possible[:FIRST]
        rounds = (self.random.sample(possible, len(possible)) for _ in range(int(scale / 2)))
        return [failure for one in rounds for failure in one]

    def fail_once(self, number, failure):
        primary = self.primary()
        load = Load(self.hosts, f"{number}", self.random)
        try:
            asked = time.monotonic_ns()
            await_true(lambda: load.has_admitted(primary.index, asked + SECOND), self.story)
            self.struck = time.monotonic_ns()
            failure.inject(self, primary)
            healed = time.monotonic_ns()
            self.await_calm(load, healed)
            calm = time.monotonic_ns()
            await_true(self.sentinels_are_ready, self.story, READY_WITHIN)
            # The Sentinels may have been about to fail over when the failure ended.
            final = self.await_calm(load, healed)
            settled = time.monotonic_ns()
            load.go_on(0.5)
            self.assertIs(self.primary(), final, self.story())
        finally:
            load.end()
        self.judge(failure, load, primary, final, (healed, calm, settled))

    def await_calm(self, load, healed):
        """The primary, once there is only one and clients of the Sentinels are admitted by it."""
        found = []

        def is_back():
            found[:] = [self.calm_primary()]
            return found[0] and load.has_admitted(found[0].index, healed)

        await_true(is_back, self.story, BACK_WITHIN)
        return found[0]

    def judge(self, failure, load, primary, final, times):
        healed, calm, settled = times
        self.drain(load, final)
        excesses = {key: math.ceil(x) for key, x in load.history.excesses(DRAINED).items()}
        of_others = load.admitted_times({host.index for host in self.network.others(final)})
        all_of_others = [t for times in of_others.values() for t in times]
        late = max([0, *((t - healed) / SECOND for t in all_of_others)])
        pause = load.longest_pause(self.struck) / SECOND
        print(
            f"{failure.name}: {primary.index} -> {final.index}; not admitted for {pause:.2f} s,"
            f" calm {(calm - healed) / SECOND:.2f} s after the end; tokens too many:"
            f" {sum(excesses.values())} of {len(excesses)} keys (of {len(load.keys.all())}),"
            f" at most {max(excesses.values(), default=0)};"
            f" lag {lag_ms(of_others, excesses, self.struck):.1f} ms;"
            f" the old one admitted until {late:.2f} s after the end",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        self.assertEqual(load.errors(), [], failure.name)
        self.assertEqual([t for t in all_of_others if t > settled], [], "a replica has admitted")
        if failure.bound == NOTHING or (failure.bound == LINK and final is primary):
            self.assertEqual(excesses, {}, self.story())
        if failure.bound == TWO:
            self.assertLessEqual(late, DEPOSED_WITHIN, self.story())
        since = self.struck - SLACK_MS * 1_000_000
        if failure.bound == LAG and final is primary:
            # No replica was promoted within --sentinel-wait, so it goes on with what is on its
            # disk; or two were, one after the other, because the Sentinels stood still.
            if not all_of_others:
                print(f"no replica was promoted:\n{self.story()}", file=sys.stderr)
            of_others = load.admitted_times({final.index}, until=self.struck)
            since -= SNAPSHOT_MS * 1_000_000
        for key, tokens in excesses.items():
            may = sum(t >= since for t in of_others[key])
            self.assertLessEqual(tokens, min(TOKENS, may), f"{key}; {self.story()}")

    def drain(self, load, final):
        """Takes what is left of all keys, so that all that was forgotten is in the history."""
        keys, own = load.keys.all(), load.history.client()
        begun = time.monotonic_ns()
        with final.entered(), Client(PORT) as client:
            takes = [("RL.TAKE", key, WORDS, "UPTO", TOKENS) for key in keys]
            for key, reply in zip(keys, ask_all(client, takes)):
                own.append((key, Request(begun, time.monotonic_ns(), reply[0], final.index)))

    # --- Failures ---

    def kill(self, primary, seconds):
        self.servers[primary].kill()
        self.struck = time.monotonic_ns()
        wait(seconds)
        self.start_server(primary)

    def freeze(self, primary):
        self.servers[primary].pause()
        wait(3)
        self.servers[primary].resume()

    def cut(self, how, *hosts, seconds=4):
        """Does something to the network for a while."""
        how(*hosts)
        wait(seconds)
        self.network.heal()

    def cut_link(self, primary):
        replica = self.random.choice(self.network.others(primary))
        self.network.cut_link(replica, primary)
        # Longer than --repl-timeout, so that both give the link up.
        self.cut(self.network.cut_link, primary, replica, seconds=6)

    def cut_link_one_way(self, primary):
        pair = [primary, self.random.choice(self.network.others(primary))]
        self.random.shuffle(pair)
        self.cut(self.network.cut_link, *pair, seconds=6)

    def fail_over(self, seconds):
        """Tells a Sentinel to make another server the primary, and waits until it has begun to."""
        host = self.random.choice(self.hosts)
        await_true(lambda: self.ask_sentinel(host, "FAILOVER", GROUP) == "OK", self.story)
        wait(seconds)

    def fail_over_often(self, _):
        for _ in range(3):
            self.fail_over(5)

    def sync_in_full(self, primary, then):
        """Does something to the primary while a replica that has lost its disk gets all."""
        replica = self.random.choice(self.network.others(primary))
        self.servers[replica].kill()
        shutil.rmtree(self.data_of(replica))
        self.network.slow(replica, "4mbit")
        self.start_server(replica, "--replicaof", f"{primary.address} {PORT}")
        await_true(lambda: self.call(replica, "ROLE")[3:4] == [b"sync"], self.story)
        then()
        self.network.heal()


FAILURES = (
    Failure("kill -9, started after 0.2 s", LAG, lambda t, p: t.kill(p, 0.2)),
    Failure("SENTINEL FAILOVER every 5 s", NOTHING, lambda t, p: t.fail_over_often(p)),
    Failure("host cut off", TWO, lambda t, p: t.cut(t.network.cut, p)),
    Failure("kill -9, started after 3 s", LAG, lambda t, p: t.kill(p, 3)),
    Failure("kill -9, started after 20 s", LAG, lambda t, p: t.kill(p, 20), 5),
    Failure("SIGSTOP for 3 s", TWO, lambda t, p: t.freeze(p)),
    Failure("Sentinel cut off", NOTHING, lambda t, p: t.cut(t.network.cut_sentinel, p)),
    Failure("link cut", LINK, lambda t, p: t.cut_link(p)),
    Failure("link cut one way", LINK, lambda t, p: t.cut_link_one_way(p)),
    Failure("host mute", TWO, lambda t, p: t.cut(t.network.mute, p)),
    Failure("host deaf", TWO, lambda t, p: t.cut(t.network.deafen, p)),
    Failure("kill -9 in a full sync", LAG, lambda t, p: t.sync_in_full(p, lambda: t.kill(p, 3))),
    Failure(
        "SENTINEL FAILOVER in a full sync", NOTHING,
        lambda t, p: t.sync_in_full(p, lambda: t.fail_over(2)),
    ),
)  # fmt: skip


if __name__ == "__main__":
    if reason := "a sanitizer makes it slow" if sanitized() else why_not():
        print(reason)
        sys.exit(SKIPPED)
    unittest.main()
