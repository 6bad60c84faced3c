"""The clients of a group of servers and Sentinels on hosts, and what servers have admitted to them.

A client on each host asks the server there, whatever its role; another one asks the Sentinels where
the primary is. Keys never refill.
"""

import bisect
import collections
import contextlib
import random
import sys
import time

from host_network import RemoteClient
from replication_checker import History, Limit, Request
from restless_client import RestlessClient, World
from sentinels import GROUP
from weir_e2e import Error, encode

PORT, SENTINEL_PORT = 7379, 26379
SECOND = 1_000_000_000
TOKENS = 20
WORDS = f"{TOKENS}/9w"
DRAINED = Limit(TOKENS, TOKENS, 9 * 604_800 * SECOND)
HOSTS = 3
KEYS_PER_SECOND = 100
RECENT = 50  # keys
REFUSALS = {"READONLY", "LOADING", "NOREPLICAS", "NOACK"}


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

    def last_answer(self, server, until):
        """When a server answered last before a time."""
        requests = (r for requests in self.history.of_keys(server).values() for r in requests)
        return max(r.completed for r in requests if r.completed < until)

    def admitted(self, servers):
        """The requests that servers admitted."""
        all_of_them = (r for requests in self.history.of_keys().values() for r in requests)
        return [r for r in all_of_them if r.tokens and r.server in servers]

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
