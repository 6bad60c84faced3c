"""The strengths of replication: leases, acknowledged changes, WAIT.

Goal: laws R5 and R6 on real servers, and what clients are told. Method: a primary and a replica
that are stopped, killed and promoted; clients that ask both. A killed primary's admissions are
counted token by token, on keys that never refill (replication_checker.py).
"""

import contextlib
import random
import threading
import time
import unittest

from replication_checker import History, Limit, Request
from replication_servers import LIMIT, ReplicationTest, ask_all, await_true, fields, role_of
from restless_client import RestlessClient, World
from weir_e2e import Client, Error, encode, scaled

NO_REPLICAS = "NOREPLICAS Not enough good replicas to write."
LEASE_SECONDS = 1
NO_ACK = "NOACK charged, but fewer than 1 replicas are known to have it"
TOKENS = 20
DRAINED = Limit(TOKENS, TOKENS, 9 * 604_800_000_000_000)
DRAINED_WORDS = f"{TOKENS}/9w"
LEASE = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", f"{LEASE_SECONDS}s")


def is_admitted(reply):
    return isinstance(reply, list) and reply[0] == 1


def admits(client, key="probe"):
    return is_admitted(client.call("RL.ALLOW", key, "1000000/s"))


class Asker(threading.Thread):
    """Asks a server for tokens until `ended`; has the time of the first and the last admission."""

    def __init__(self, port, ended):
        super().__init__()
        self.first = self.last = None  # the completion of the first, the invocation of the last
        self._port, self._ended = port, ended
        self.start()

    def run(self):
        with contextlib.suppress(EOFError, OSError), Client(self._port) as client:
            while not self._ended.is_set():
                invoked = time.monotonic()
                if not admits(client):
                    continue
                self.last = invoked
                self.first = self.first or time.monotonic()


class LeaseTest(ReplicationTest):
    def pair(self, mortal=False):
        start = self.start_mortal if mortal else self.start
        primary = start(*LEASE)
        replica = self.start_replica(primary, *LEASE)
        client = self.connect(primary)
        await_true(lambda: admits(client), lambda: fields(client))
        return primary, replica, client

    def test_a_primary_that_never_had_a_replica_refuses(self):
        client = self.connect(self.start("--min-replicas-to-write", "1"))
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.PEEK", "k", LIMIT)[:2], [1, 99])
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "0")
        client.call("CONFIG", "SET", "min-replicas-to-write", 0)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[:2], [1, 99])
        client.call("CONFIG", "SET", "min-replicas-to-write", 1)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

    def test_a_stopped_replica_ends_the_lease_until_it_is_back(self):
        _, replica, client = self.pair()
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "1")
        self.assertGreater(int(fields(client)["lease_ms"]), 0)
        self.assertTrue(is_admitted(client.call("RL.ALLOW", "drained", LIMIT, "COST", 100)))
        replica.pause()
        await_true(lambda: not admits(client), "a refusal")
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.ALLOW", "drained", LIMIT)[0], 0, "a denial")
        self.assertEqual(self.remaining(client, "k"), 100)
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "0")
        self.assertEqual(fields(client)["lease_ms"], "0")
        replica.resume()
        await_true(lambda: admits(client), lambda: fields(client))

    def test_a_killed_replica_ends_the_lease_at_once(self):
        primary = self.start(*LEASE)
        replica = self.start_replica(primary, *LEASE, mortal=True)
        client = self.connect(primary)
        await_true(lambda: admits(client), lambda: fields(client))
        replica.kill()
        await_true(lambda: fields(client)["connected_slaves"] == "0", lambda: fields(client))
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.start_replica(primary, *LEASE)
        await_true(lambda: admits(client), lambda: fields(client))

    def test_a_promotion_waits_for_the_lease_and_a_primary_that_wakes_up_refuses(self):
        primary, replica, client = self.pair()
        primary.pause()
        paused = time.monotonic()
        other = self.connect(replica)
        self.assertEqual(other.call("REPLICAOF", "NO", "ONE"), "OK")
        self.assertEqual(other.call("RL.ALLOW", "k", LIMIT).split()[0], "READONLY")
        await_true(lambda: role_of(other) == b"master", lambda: fields(other))
        # Its last ACK may be some milliseconds older than the stop.
        self.assertGreater(time.monotonic() - paused, LEASE_SECONDS * 0.5)
        self.assertIn("becomes a primary in", replica.log())
        other.call("CONFIG", "SET", "min-replicas-to-write", 0)
        self.assertTrue(admits(other))
        primary.resume()
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

    # Goal: R6. Method: the replica is promoted while its primary is alive; both are asked.
    def test_two_servers_never_admit_at_a_time(self):
        primary, replica, client = self.pair()
        other = self.connect(replica)
        other.call("CONFIG", "SET", "min-replicas-to-write", 0)
        ended = threading.Event()
        old, new = Asker(primary.port, ended), Asker(replica.port, ended)
        try:
            await_true(lambda: old.first, "the primary admits")
            self.promote(other)
            await_true(lambda: new.first, "the promoted replica admits")
        finally:
            ended.set()
            old.join()
            new.join()
        self.assertLess(old.last, new.first)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

    def test_a_following_server_may_be_told_to_follow_again_while_it_waits(self):
        primary, replica, client = self.pair()
        other = self.connect(replica)
        self.assertEqual(other.call("REPLICAOF", "NO", "ONE"), "OK")
        replica.wait_for_log("becomes a primary in")
        self.follow(other, primary)
        await_true(lambda: admits(client), lambda: fields(client))
        time_left = time.monotonic() + 2 * LEASE_SECONDS
        while time.monotonic() < time_left:
            self.assertEqual(role_of(other), b"slave")

    def test_a_replica_without_leases_is_promoted_at_once(self):
        primary = self.start("--min-replicas-max-lag", "1h")
        other = self.connect(self.start_replica(primary, "--min-replicas-max-lag", "1h"))
        self.promote(other)
        self.assertTrue(admits(other))
        self.assertNotIsInstance(self.connect(primary).call("RL.ALLOW", "k", LIMIT), Error)


class Taker(RestlessClient):
    """Takes single tokens of random keys, and writes down those that it was given."""

    def __init__(self, world, own_history, keys, seed):
        self.refused = set()  # the errors, in their first words
        self._history = own_history
        self._keys = keys
        self._random = random.Random(seed)
        super().__init__(world)

    def ask(self, client):
        keys = self._random.choices(self._keys, k=self._random.randint(1, 16))
        invoked = time.monotonic_ns()
        client.send(b"".join(encode("RL.ALLOW", key, DRAINED_WORDS) for key in keys))
        for key in keys:
            reply = client.reply()
            if isinstance(reply, list):
                self._history.append((key, Request(invoked, time.monotonic_ns(), reply[0])))
            else:
                self.refused.add(reply.split()[0])


class AckTest(ReplicationTest):
    ACKS = ("--ack-replicas", "1")

    def pair(self, *options, mortal=False):
        start = self.start_mortal if mortal else self.start
        primary = start(*self.ACKS, *options)
        replica = self.start_replica(primary, *self.ACKS, *options)
        client = self.connect(primary)
        await_true(lambda: admits(client), lambda: fields(client))
        return primary, replica, client

    # Goal: R5. Method: the primary is killed under load, again and again; what clients were given
    # is on the promoted replica, to the last token.
    def test_a_killed_primary_forgets_nothing_that_was_acknowledged(self):
        primary = self.start_mortal(*self.ACKS, "--threads", "2")
        for turn in range(scaled(5)):
            replica = self.start_replica(primary, *self.ACKS, mortal=True)
            keys = [f"key:{turn}:{i}" for i in range(4000)]
            history, world = History(), World(primary.port)
            takers = [Taker(world, history.client(), keys, turn * 10 + i) for i in range(3)]
            try:
                await_true(
                    lambda shown=history: shown.admitted().total() > 2000,
                    lambda: "; ".join(str(taker.refused) for taker in takers),
                )
                primary.kill()
                client = self.connect(replica)
                self.promote(client)
                # Alone it would admit nothing.
                client.call("CONFIG", "SET", "ack-replicas", 0)
                invoked = time.monotonic_ns()
                takes = [("RL.TAKE", key, DRAINED_WORDS, "UPTO", TOKENS) for key in keys]
                own = history.client()
                for key, reply in zip(keys, ask_all(client, takes)):
                    own.append((key, Request(invoked, time.monotonic_ns(), reply[0])))
            finally:
                world.ended.set()
                for taker in takers:
                    taker.join()
            self.assertEqual(world.errors, [])
            self.assertEqual(history.excesses(DRAINED), {}, f"turn {turn}")
            client.call("CONFIG", "SET", "ack-replicas", 1)
            primary = replica

    def test_without_a_replica_nothing_is_admitted(self):
        client = self.connect(self.start(*self.ACKS))
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.PEEK", "k", LIMIT)[:2], [1, 99])
        self.assertEqual(client.call("FLUSHALL"), NO_REPLICAS)
        client.call("CONFIG", "SET", "ack-replicas", 0)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[:2], [1, 99])
        client.call("CONFIG", "SET", "ack-replicas", 1)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

    def test_a_stopped_replica_makes_answers_no_ack_and_then_refusals(self):
        _, replica, client = self.pair("--min-replicas-max-lag", "1s", "--ack-timeout", "50ms")
        self.assertTrue(is_admitted(client.call("RL.ALLOW", "drained", LIMIT, "COST", 100)))
        replica.pause()
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_ACK)
        self.assertEqual(client.call("RL.ALLOW", "drained", LIMIT)[0], 0, "a denial")
        self.assertEqual(self.remaining(client, "k"), 99, "it was charged")
        self.assertEqual(fields(client)["acks_waiting"], "0")
        await_true(lambda: client.call("RL.ALLOW", "k", LIMIT) == NO_REPLICAS, "a refusal")
        self.assertEqual(client.call("RL.ALLOW", "drained", LIMIT)[0], 0, "a denial")
        replica.resume()
        await_true(lambda: admits(client), lambda: fields(client))

    def test_an_acknowledged_change_is_on_the_replica(self):
        _, replica, client = self.pair()
        other = self.connect(replica)
        for i in range(scaled(200)):
            self.assertTrue(is_admitted(client.call("RL.ALLOW", f"key:{i}", LIMIT)))
            self.assertEqual(self.remaining(other, f"key:{i}"), 99)
        self.assertEqual(client.call("RL.POLICY", "SET", "p", "10/s"), "OK")
        self.assertEqual(other.call("RL.POLICY", "LIST"), [b"p"])
        self.assertEqual(client.call("FLUSHALL"), "OK")
        self.assertEqual(other.call("DBSIZE"), 0)

    def test_always_and_acknowledgements_are_both_waited_for(self):
        data = self.write("primary-data", "")
        primary = self.start(*self.ACKS, "--data-dir", f"{data}.d", "--durability", "always")
        self.start_replica(primary, *self.ACKS)
        client = self.connect(primary)
        await_true(lambda: admits(client), lambda: fields(client))
        for i in range(20):
            self.assertTrue(is_admitted(client.call("RL.ALLOW", f"key:{i}", LIMIT)))
            self.assertEqual(client.call("SAVE"), "OK")

    def test_a_demoted_primary_answers_all_that_waited(self):
        primary, replica, client = self.pair("--ack-timeout", "60s")
        replica.pause()
        client.send(encode("RL.ALLOW", "k", LIMIT))
        other = self.connect(primary)
        await_true(lambda: fields(other)["acks_waiting"] == "1", lambda: fields(other))
        self.assertEqual(other.call("REPLICAOF", "127.0.0.1", replica.port), "OK")
        self.assertEqual(client.reply(), NO_ACK)
        replica.resume()


class WaitTest(ReplicationTest):
    def test_it_counts_the_replicas_that_have_the_last_change(self):
        primary = self.start()
        client = self.connect(primary)
        self.assertEqual(client.call("WAIT", 0, 0), 0)
        self.assertEqual(client.call("WAIT", 1, 50), 0)
        replicas = [self.start_replica(primary) for _ in range(2)]
        for i in range(scaled(50)):
            self.assertTrue(is_admitted(client.call("RL.ALLOW", f"key:{i}", LIMIT)))
            self.assertEqual(client.call("WAIT", 2, 0), 2)
            for replica in replicas:
                with Client(replica.port) as other:
                    self.assertEqual(self.remaining(other, f"key:{i}"), 99)
        replicas[0].pause()
        client.call("RL.ALLOW", "k", LIMIT)
        self.assertEqual(client.call("WAIT", 1, 0), 1)
        self.assertEqual(client.call("WAIT", 2, 100), 1)
        client.send(encode("WAIT", 2, 0) + encode("PING"))
        replicas[0].resume()
        self.assertEqual(client.reply(), 2)
        self.assertEqual(client.reply(), "PONG")

    def test_it_waits_for_a_replica_that_is_yet_to_come(self):
        primary = self.start()
        client = self.connect(primary)
        client.call("RL.ALLOW", "k", LIMIT)
        client.send(encode("WAIT", 1, 0))
        self.start_replica(primary)
        self.assertEqual(client.reply(), 1)

    def test_unblock_and_replicas(self):
        primary = self.start()
        client, other = self.connect(primary), self.connect(primary)
        number = client.call("CLIENT", "ID")
        client.send(encode("WAIT", 1, 0))
        await_true(lambda: other.call("CLIENT", "UNBLOCK", number) == 1, "a wait to end")
        self.assertEqual(client.reply(), 0)
        replica = self.connect(self.start_replica(primary))
        self.assertIsInstance(replica.call("WAIT", 0, 0), Error)


if __name__ == "__main__":
    unittest.main()
