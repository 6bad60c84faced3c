"""How strong replication can be made: leases.

Goal: law R6 on real servers, and what clients are told. Method: a primary and a replica that are
stopped, killed and promoted; clients that ask both.
"""

import contextlib
import threading
import time
import unittest

from replication_servers import LIMIT, ReplicationTest, await_true, fields, role_of
from weir_e2e import Client, Error

NO_REPLICAS = "NOREPLICAS Not enough good replicas to write."
LEASE_SECONDS = 1
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


if __name__ == "__main__":
    unittest.main()
