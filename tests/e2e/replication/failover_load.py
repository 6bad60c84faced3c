"""The load of a failover: clients that write down what was admitted, by which server and when.

One client measures the lag by marks: it changes a key on the primary, and waits until the replica
shows that, again and again. Changes are taken in batches, and a batch need not be a cut: a change
may be in the batch after that of a mark which was made later. So when the replica shows a mark, it
surely has what was answered before the second mark before it was asked for.
"""

import collections
import contextlib
import random
import socket
import sys
import threading
import time
from dataclasses import dataclass

from replication_checker import History, Limit, Request
from replication_servers import await_true
from restless_client import RestlessClient, World
from weir_e2e import NEVER, Client, Error, encode

SECOND = 1_000_000_000
TOKENS = 1_000_000_000
LASTING = f"{TOKENS}/{NEVER},fixed"  # no token comes back at all
LASTING_KEYS = [f"lasting:{i}" for i in range(16)]
RATE = Limit(200, 200, SECOND)
RATED = f"{RATE.count}/s"
RATED_KEYS = [f"rated:{i}" for i in range(4)]  # few, so that their bursts are used up
SLOTS = 1000
HELD = f"{SLOTS},held"
TTL_MS = 3_600_000
TAKERS = 3
PIPELINE = 16
HOLDS_MAX = 4000  # of all keys, so that RL.INSPECT shows those of each key
REFUSED_SECONDS = 0.002  # until a client that was refused asks again


class LoadWorld(World):
    """What the clients of a failover share."""

    def __init__(self, port, refusals, pace):
        """`refusals`: the first words of the errors that a primary without its replica answers.

        `pace`: the seconds that a client waits after each answer.
        """
        super().__init__(port)
        self.refusals = refusals
        self._pace = pace

    def rest(self):
        if self._pace:
            self.ended.wait(self._pace)


class FailoverClient(RestlessClient):
    """A client that goes to the world's present primary when it is told READONLY.

    A client that is refused for want of a replica asks the same server again.
    """

    def checked(self, reply):
        """A reply that is not an error; None for a refusal."""
        if isinstance(reply, list):
            return reply
        if reply.startswith(self._world.refusals):
            self._world.ended.wait(REFUSED_SECONDS)
            return None
        if not reply.startswith(("READONLY ", "LOADING ")):
            self._world.errors.append(reply)
        raise ConnectionError(reply)


class Taker(FailoverClient):
    """Takes single tokens of random keys and writes its histories."""

    def __init__(self, world, lasting, rated, seed):
        self.asked = collections.Counter()  # lasting key -> tokens
        self._lasting, self._rated = lasting, rated
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        requests = [self._request() for _ in range(self._random.randint(1, PIPELINE))]
        self.asked.update(key for key, limit, _ in requests if limit == LASTING)
        invoked = time.monotonic_ns()
        client.send(b"".join(encode("RL.ALLOW", key, limit) for key, limit, _ in requests))
        for key, _, history in requests:
            if reply := self.checked(client.reply()):
                history.append((key, Request(invoked, time.monotonic_ns(), reply[0], self.port)))
        self._world.rest()

    def _request(self):
        if self._random.random() < 0.6:
            return self._random.choice(LASTING_KEYS), LASTING, self._lasting
        return self._random.choice(RATED_KEYS), RATED, self._rated


@dataclass
class Hold:
    """A hold that was asked for, and the answered requests about it."""

    key: str
    name: str
    reserved: Request | None = None
    settling: bool = False  # its settlement was asked for
    settled: Request | None = None


class Holder(FailoverClient):
    """Reserves tokens, and commits them, cancels them or leaves them."""

    def __init__(self, world, keys, seed):
        self.holds = []
        self._known = 0  # of them, to a server
        self._keys = keys
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        self._world.rest()
        if self._known == HOLDS_MAX:
            self._world.ended.wait()
            return
        hold = Hold(self._random.choice(self._keys), f"{self._random.getrandbits(64):x}")
        self.holds.append(hold)
        words = (hold.key, f"{LASTING},cost=10", HELD, "HOLD", hold.name, "TTL", TTL_MS)
        hold.reserved = self._answered(client, "RL.RESERVE", *words)
        self._known += bool(hold.reserved)
        how = self._random.randint(0, 3)  # 0: the hold is left
        if how:
            hold.settling = True
            limits = (f"{LASTING},cost=7",) if how > 1 else ()
            command = "RL.COMMIT" if how > 1 else "RL.CANCEL"
            hold.settled = self._answered(client, command, hold.key, *limits, "HOLD", hold.name)

    def _answered(self, client, *words):
        """The request, if it was carried out."""
        invoked = time.monotonic_ns()
        reply = self.checked(client.call(*words))
        did = reply and reply[0]
        return Request(invoked, time.monotonic_ns(), did, self.port) if did else None


class Marker:
    """Makes marks on the primary and waits for each on the replica, until it is stopped."""

    KEY = "mark"

    def __init__(self, primary, replica):
        self.asked = []  # the times of the marks that the replica has shown
        self._primary, self._replica = Client(primary), Client(replica)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self):
        for client in (self._primary, self._replica):
            with contextlib.suppress(OSError):
                client.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _run(self):
        with contextlib.suppress(EOFError, OSError), self._primary, self._replica:
            while True:
                asked = time.monotonic_ns()
                reply = self._primary.call("RL.ALLOW", self.KEY, LASTING)
                if isinstance(reply, Error):
                    continue  # it has no replica, or is one now; then it is stopped
                left = reply[1]
                while self._replica.call("RL.PEEK", self.KEY, LASTING, "COST", 0)[1] > left:
                    pass
                self.asked.append(asked)

    def surely_there(self):
        """The replica has what was answered before this time."""
        return self.asked[-3] if len(self.asked) >= 3 else 0


class FailoverLoad:
    """All clients of one failover, from its primary to the replica that is promoted in it."""

    def __init__(self, primary, replica, hold_keys, seed, refusals=(), pace=0):
        """`primary`, `replica`: ports. `hold_keys`: empty if nothing is to be reserved.

        `refusals`, `pace`: see LoadWorld.
        """
        chance = random.Random(seed)
        self.old, self.new = primary, replica
        self.loses_nothing = False  # the failover is one that forgets nothing
        self.lasting, self.rated = History(), History()
        self._world = LoadWorld(primary, refusals, pace)
        self._marker = Marker(primary, replica)
        self._takers = [
            Taker(self._world, self.lasting.client(), self.rated.client(), chance.random())
            for _ in range(TAKERS)
        ]
        self._holders = []
        if hold_keys:
            self._holders.append(Holder(self._world, hold_keys, chance.random()))

    def await_marks(self, count):
        await_true(lambda: len(self._marker.asked) >= count, "marks on the replica")

    def lose_nothing(self):
        """Expects that the failover, which begins now, forgets nothing."""
        self.loses_nothing = True
        self._marker.stop()

    def go_on(self, seconds):
        """Lets the load go on for a while."""
        self._world.ended.wait(seconds)

    def move(self):
        """Makes all clients but the first go to the promoted replica."""
        self._marker.stop()
        self._world.port = self.new
        for client in (*self._takers[1:], *self._holders):
            client.leave()

    def await_admitted(self, server):
        """Waits until a server admits more than it has so far."""
        before = self.lasting.admitted(server).total()

        def admits():
            self.go_on(0.002)
            return self.lasting.admitted(server).total() > before

        await_true(admits, f"an admission of {server}, {self.errors}")

    def end(self):
        self._marker.stop()
        self._world.ended.set()
        for client in (*self._takers, *self._holders):
            client.leave()
            client.join()

    # --- What has come of it, once it has ended ---

    @property
    def errors(self):
        return self._world.errors

    @property
    def holds(self):
        return [hold for holder in self._holders for hold in holder.holds]

    @property
    def known_until(self):
        """The promoted server has what its primary answered before this time."""
        return sys.maxsize if self.loses_nothing else self._marker.surely_there()

    @property
    def lag_ms(self):
        """The span in which the old primary admitted what may be forgotten."""
        return max(0, self.last_of_old - self.known_until) / 1e6

    @property
    def overlap_ms(self):
        """The span in which, surely, both servers admitted."""
        first_of_new = min((r.completed for r in self._admitted(self.new)), default=sys.maxsize)
        return max(0, self.last_of_old - first_of_new) / 1e6

    @property
    def pause_ms(self):
        """The longest span in which nothing was admitted."""
        both = (*self._admitted(self.old), *self._admitted(self.new))
        times = sorted(request.completed for request in both)
        return max((later - earlier for earlier, later in zip(times, times[1:])), default=0) / 1e6

    def of_old_since(self, when):
        """The tokens that the old primary admitted of what it was asked after a time."""
        return sum(r.tokens for r in self._admitted(self.old) if r.invoked > when)

    @property
    def last_of_old(self):
        """When the old primary was asked for the last time for what it admitted; 0 if never."""
        return max((r.invoked for r in self._admitted(self.old)), default=0)

    def _admitted(self, server):
        """The requests that a server admitted."""
        for history in (self.lasting, self.rated):
            for requests in history.of_keys(server).values():
                yield from (r for r in requests if r.tokens)

    def asked(self):
        """lasting key -> tokens asked for, of all servers."""
        return sum((taker.asked for taker in self._takers), collections.Counter())

    def is_kept(self, request):
        """Whether the promoted server cannot have forgotten an answered request."""
        return request and (request.server == self.new or request.completed < self.known_until)

    def forgettable(self, history):
        """key -> the tokens that the old primary admitted and the promoted server may not know."""
        return history.admitted(self.old, self.known_until)
