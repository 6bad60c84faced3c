"""Planned switches, and primaries that have heard of a later one.

Goal: law R9: a switch loses nothing. Method: clients take tokens of keys that never refill while
the servers change their roles again and again; then each key has given its burst, no token more
and none less. A switch to a replica that stands still is given up or undone; the simulation of
tests/replication/role_simulation.h makes one fail at each of its steps.

A primary that meets a replica of a later term admits nothing, whatever it is told later by clients
that do not know: law R7.
"""

import contextlib
import os
import random
import sys
import threading
import time
import unittest

from replication_checker import History, Limit, Request
from replication_servers import (
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    fields,
    is_exact,
    role_of,
)
from restless_client import RestlessClient, World
from weir_e2e import Client, Error, encode, free_port, scaled

WEEK = 604_800 * 1_000_000_000
TOKENS = 20
DRAINED = Limit(TOKENS, TOKENS, 9 * WEEK)
WORDS = f"{TOKENS}/9w"
KEYS = [f"key:{i}" for i in range(2000)]
CLIENTS = 3


class Taker(RestlessClient):
    """A client that takes single tokens, and asks the next server when one is read-only."""

    def __init__(self, world, ports, own_history, seed):
        self.longest_ms = 0.0
        self.errors = set()  # their first words
        self._ports = ports
        self._history = own_history
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        keys = self._random.choices(KEYS, k=self._random.randint(1, 16))
        invoked = time.monotonic_ns()
        client.send(b"".join(encode("RL.ALLOW", key, WORDS) for key in keys))
        replies = [client.reply() for _ in keys]
        completed = time.monotonic_ns()
        self.longest_ms = max(self.longest_ms, (completed - invoked) / 1e6)
        for key, reply in zip(keys, replies):
            if isinstance(reply, list):
                self._history.append((key, Request(invoked, completed, reply[0])))
            else:
                self.errors.add(reply.split()[0])
        if any(isinstance(reply, Error) for reply in replies):
            self._world.port = self._ports[(self._ports.index(self.port) + 1) % len(self._ports)]
            raise EOFError


class FailoverTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_FAILOVER_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_FAILOVER_SEED={self.seed} {self.id()}", file=sys.stderr, flush=True)

    def start_pair(self, *options):
        """(primary, its client, replica, its client), in sync."""
        primary = self.start(*options)
        client = self.connect(primary)
        replica = self.start_replica(primary, *options)
        replica_client = self.connect(replica)
        await_in_sync(client, replica_client)
        return primary, client, replica, replica_client

    def await_roles(self, primary, replica):
        await_true(lambda: role_of(primary) == b"master", lambda: fields(primary))
        await_true(lambda: is_exact(replica), lambda: fields(replica))

    def await_no_switch(self, client):
        await_true(
            lambda: fields(client)["master_failover_state"] == "no-failover",
            lambda: fields(client),
        )

    def test_a_key_gives_its_burst_through_any_number_of_switches(self):
        first, one, second, other = self.start_pair("--threads", "2")
        history, world = History(), World(first.port)
        ports = (first.port, second.port)
        takers = [
            Taker(world, ports, history.client(), self.random.randrange(1 << 32))
            for _ in range(CLIENTS)
        ]
        try:
            for _ in range(scaled(20)):
                world.ended.wait(self.random.random() * 0.1)
                self.assertEqual(one.call("FAILOVER"), "OK")
                self.await_roles(other, one)
                one, other = other, one
        finally:
            world.ended.set()
            for taker in takers:
                taker.join()
        self.assertEqual(world.errors, [])
        self.assertLessEqual(set().union(*(taker.errors for taker in takers)), {"READONLY"})
        begun = time.monotonic_ns()
        takes = [("RL.TAKE", key, WORDS, "UPTO", TOKENS) for key in KEYS]
        own = history.client()
        for key, reply in zip(KEYS, ask_all(one, takes)):
            own.append((key, Request(begun, time.monotonic_ns(), reply[0])))
        self.assertEqual(history.excesses(DRAINED), {})
        admitted = history.admitted()
        self.assertEqual([key for key in KEYS if admitted[key] != TOKENS], [])
        longest = max(taker.longest_ms for taker in takers)
        print(f"longest request: {longest:.1f} ms", file=sys.stderr, flush=True)

    # Goal: a switch that cannot be made is given up, or undone; one by FORCE loses nothing.
    def test_a_switch_to_a_replica_that_stands_still(self):
        _, client, replica, replica_client = self.start_pair("--repl-timeout", "60s")
        with self.standing_still(replica):
            self.give_up(client)
        await_in_sync(client, replica_client)
        with self.standing_still(replica):
            self.force(client, replica)
            # The operator may have given the role to another server by then.
            await_true(
                lambda: int(fields(client).get("master_link_down_since_seconds", 0)) > 2,
                lambda: fields(client),
            )
        replica.wait_for_log("it has yielded to this server too long ago")
        self.await_roles(client, replica_client)
        await_in_sync(client, replica_client)
        left = client.call("RL.PEEK", "a", WORDS, "COST", 0)[1]
        with self.standing_still(replica):
            self.assertEqual(client.call("RL.ALLOW", "a", WORDS, "COST", 5)[0], 1)
            self.force(client, replica)
        # It takes over with all that it had not read.
        self.await_roles(replica_client, client)
        self.assertEqual(replica_client.call("RL.PEEK", "a", WORDS, "COST", 0)[1], left - 5)

    @staticmethod
    @contextlib.contextmanager
    def standing_still(server):
        server.pause()
        try:
            yield
        finally:
            server.resume()

    def give_up(self, client):
        # The replica's last confirmation covers all changes, but is older than the command.
        self.assertEqual(client.call("FAILOVER", "TIMEOUT", "50"), "OK")
        self.await_no_switch(client)
        self.assertEqual(role_of(client), b"master")
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)
        self.assertEqual(client.call("FAILOVER"), "OK")
        self.assertEqual(client.call("FAILOVER"), "ERR FAILOVER already in progress.")
        self.assertEqual(client.call("FAILOVER", "ABORT"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)

    def force(self, client, replica):
        words = ("FAILOVER", "TO", "127.0.0.1", str(replica.port), "FORCE", "TIMEOUT", "10")
        self.assertEqual(client.call(*words), "OK")
        await_true(lambda: role_of(client) == b"slave", lambda: fields(client))
        self.assertRegex(client.call("RL.ALLOW", "a", WORDS), "^READONLY ")

    def test_requests_wait_for_the_switch_and_then_are_read_only(self):
        primary, client, second, replica = self.start_pair()
        asking = self.connect(primary)
        telling = self.connect(second)  # of the thread alone
        ended = threading.Event()
        refusals = []

        def ask():
            while not ended.is_set():
                reply = asking.call("RL.ALLOW", "a", "1000000/9w")
                if isinstance(reply, Error):
                    refusals.append((str(reply), role_of(telling)))
                    return

        thread = threading.Thread(target=ask)
        thread.start()
        self.assertEqual(client.call("FAILOVER"), "OK")
        self.await_roles(replica, client)
        thread.join()
        ended.set()
        # When a client learns that it must ask another server, that one is the primary already.
        ((error, role),) = refusals
        self.assertTrue(error.startswith("READONLY "), error)
        self.assertEqual(role, b"master")

    def test_the_other_replicas_follow_the_new_primary(self):
        first, one, second, two = self.start_pair()
        own = ("--data-dir", f"{self.directory}/third")
        third = self.start_replica(first, *own, mortal=True)
        three = self.connect(third)
        await_in_sync(one, two, three)
        for old, new, port in ((one, two, second.port), (two, one, first.port),
                               (one, two, second.port)):  # fmt: skip
            self.assertEqual(old.call("FAILOVER", "TO", "127.0.0.1", port), "OK")
            self.await_roles(new, old)
            await_true(lambda p=port: fields(three)["master_port"] == str(p), "a referral")
            await_in_sync(new, old, three)
            # They all go on: none got a copy.
            self.assertEqual(fields(new)["sync_partitions_sent"], "0")
        # A referral survives a restart.
        self.assertEqual(third.stop(), 0)
        third = self.start("--replicaof", f"127.0.0.1 {free_port()}", *own)
        three = self.connect(third)
        await_in_sync(two, three)
        self.assertEqual(fields(three)["master_port"], str(second.port))


class DeposedTest(ReplicationTest):
    def reborn(self, *options):
        """A primary that has lost its state and met its replica: (client, replica's client)."""
        port = free_port()
        primary = self.launch("--port", str(port))
        primary.wait_for_log("listening on")
        self.replica = self.start_replica(port)
        replica = self.connect(self.replica)
        with Client(port) as client:
            self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)
            await_in_sync(client, replica)
        primary.kill()
        self.server = self.launch("--port", str(port), *options)
        self.server.wait_for_log("listening on")
        client = self.connect(self.server)
        await_true(lambda: fields(client)["deposed"] == "1", self.server.log)
        return client, replica

    def test_a_primary_that_has_lost_its_state_admits_nothing(self):
        options = ("--data-dir", f"{self.directory}/data", "--durability", "always")
        client, replica = self.reborn(*options)
        self.assertEqual(role_of(client), b"master")
        for words in (("RL.ALLOW", "a", WORDS), ("RL.RESET", "a"), ("PING",)):
            reply = client.call(*words)
            self.assertTrue(str(reply).startswith("READONLY "), (words, reply))
        self.assertEqual(client.call("RL.PEEK", "a", WORDS)[0], 1)
        self.assertEqual(client.call("DBSIZE"), 0)
        # The replica keeps what it has, and may become the primary.
        self.assertEqual(replica.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 1)
        self.assertEqual(client.call("SAVE"), "OK")
        self.server.kill()
        self.promote(replica)
        self.assertEqual(replica.call("RL.ALLOW", "a", WORDS)[1], TOKENS - 2)
        # A restart does not make it forget, and it may follow.
        server = self.launch("--port", str(free_port()), *options)
        client = self.connect(server)
        await_true(lambda: fields(client, "persistence")["loading"] == "0", server.log)
        self.assertEqual(fields(client)["deposed"], "1")
        self.assertRegex(client.call("RL.ALLOW", "a", WORDS), "^READONLY ")
        self.follow(client, self.replica)
        self.assertEqual(client.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 2)

    def test_a_command_makes_it_a_primary_of_a_later_term(self):
        client, replica = self.reborn()
        term = int(fields(replica)["term"])
        self.assertEqual(client.call("REPLICAOF", "NO", "ONE"), "OK")
        await_true(lambda: client.call("PING") == "PONG", lambda: fields(client))
        # It is the primary when its term is on disk, if it has one.
        await_true(lambda: role_of(client) == b"master", lambda: fields(client))
        self.assertEqual(fields(client)["deposed"], "0")
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS, "COST", 3)[0], 1)
        # Its replica keeps what it has, as the keys are hashed by another secret now.
        self.replica.wait_for_log("it answers: OTHERGROUP this server is of another group")
        self.assertEqual(replica.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 1)
        self.assertEqual(replica.call("REPLICAOF", "127.0.0.1", self.server.port), "OK")
        await_in_sync(client, replica)
        self.assertEqual(replica.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 3)
        self.assertGreater(int(fields(client)["term"]), term)

    # Goal: a crash right after the first admission of a new primary does not forget its term.
    def test_a_primary_admits_nothing_in_a_term_that_is_not_on_disk(self):
        own = ("--data-dir", f"{self.directory}/replica", "--snapshot-interval", "1h")
        replica = self.start_replica(self.start(), *own, mortal=True)
        for term in range(2, 5):
            client = self.connect(replica)
            self.assertEqual(client.call("REPLICAOF", "NO", "ONE"), "OK")
            await_true(lambda c=client: isinstance(c.call("RL.ALLOW", "a", WORDS), list), "")
            self.assertEqual(fields(client)["term"], str(term))
            replica.kill()
            said = replica.log()
            replica = self.start_mortal(*own)
            replica.wait_for_log("loaded")
            client = self.connect(replica)
            # A disk that takes more than a second is not waited for, and the log says so.
            if f"term {term} begins before it is on disk" in said:
                self.skipTest("the disk is too slow")
            self.assertEqual(fields(client)["term"], str(term), said + replica.log())
            self.assertEqual(role_of(client), b"master")
            self.follow(client, self.start())


if __name__ == "__main__":
    unittest.main()
