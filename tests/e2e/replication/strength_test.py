"""The strengths of replication: leases, acknowledged changes, WAIT.

Goal: laws R5 and R6 on real servers, and what clients are told. Method: a primary and a replica
that are stopped, killed and promoted; clients that ask both. What a killed primary forgets in each
strength is counted by failover_crash_test.py.
"""

import contextlib
import threading
import time
import unittest

from replication_servers import LIMIT, ReplicationTest, await_true, fields
from weir_e2e import Client, Error, encode, scaled

NO_REPLICAS = "NOREPLICAS Not enough good replicas to write."
NO_ACK = "NOACK charged, but fewer than 1 replicas are known to have it"
LEASE = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "1s")
ACKS = ("--ack-replicas", "1")


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
    # A primary has a lease while a replica answers: not before the first one, nor after the last.
    def test_a_primary_admits_while_it_has_a_replica(self):
        primary = self.start(*LEASE)
        client = self.connect(primary)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.PEEK", "k", LIMIT)[:2], [1, 99])
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "0")
        client.call("CONFIG", "SET", "min-replicas-to-write", 0)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[:2], [1, 99])
        client.call("CONFIG", "SET", "min-replicas-to-write", 1)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

        replica = self.start_replica(primary, *LEASE, mortal=True)
        await_true(lambda: admits(client), lambda: fields(client))
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "1")
        self.assertGreater(int(fields(client)["lease_ms"]), 0)
        self.assertTrue(is_admitted(client.call("RL.ALLOW", "drained", LIMIT, "COST", 100)))
        replica.pause()
        await_true(lambda: not admits(client), "a refusal")
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.ALLOW", "drained", LIMIT)[0], 0, "a denial")
        self.assertEqual(self.remaining(client, "k"), 99)
        self.assertEqual(fields(client)["min_slaves_good_slaves"], "0")
        self.assertEqual(fields(client)["lease_ms"], "0")
        replica.resume()
        await_true(lambda: admits(client), lambda: fields(client))

        replica.kill()
        await_true(lambda: fields(client)["connected_slaves"] == "0", lambda: fields(client))
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.start_replica(primary, *LEASE)
        await_true(lambda: admits(client), lambda: fields(client))

    # Goal: R6. Method: the replica is promoted while its primary is alive; both are asked.
    def test_two_servers_never_admit_at_a_time(self):
        primary = self.start(*LEASE)
        replica = self.start_replica(primary, *LEASE)
        client, other = self.connect(primary), self.connect(replica)
        await_true(lambda: admits(client), lambda: fields(client))
        other.call("CONFIG", "SET", "min-replicas-to-write", 0)
        ended = threading.Event()
        old, new = Asker(primary.port, ended), Asker(replica.port, ended)
        try:
            await_true(lambda: old.first, "the primary admits")
            self.assertEqual(other.call("REPLICAOF", "NO", "ONE"), "OK")
            self.assertRegex(other.call("RL.ALLOW", "k", LIMIT), "^READONLY ")
            await_true(lambda: new.first, "the promoted replica admits")
        finally:
            ended.set()
            old.join()
            new.join()
        self.assertLess(old.last, new.first)
        self.assertIn("becomes a primary in", replica.log())
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)


class AckTest(ReplicationTest):
    # The reply of an admission waits for a replica, and for the disk.
    def test_an_acknowledged_change_is_on_the_replica(self):
        data = f"{self.directory}/data"
        primary = self.start(*ACKS, "--data-dir", data, "--durability", "always")
        primary.wait_for_log("loaded")
        client = self.connect(primary)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)
        self.assertEqual(client.call("RL.PEEK", "k", LIMIT)[:2], [1, 99])
        self.assertEqual(client.call("FLUSHALL"), NO_REPLICAS)
        client.call("CONFIG", "SET", "ack-replicas", 0)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[:2], [1, 99])
        client.call("CONFIG", "SET", "ack-replicas", 1)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT), NO_REPLICAS)

        other = self.connect(self.start_replica(primary, *ACKS))
        await_true(lambda: admits(client), lambda: fields(client))
        for i in range(scaled(200)):
            self.assertTrue(is_admitted(client.call("RL.ALLOW", f"key:{i}", LIMIT)))
            self.assertEqual(self.remaining(other, f"key:{i}"), 99)
        self.assertEqual(client.call("SAVE"), "OK")
        self.assertEqual(client.call("RL.POLICY", "SET", "p", "10/s"), "OK")
        self.assertEqual(other.call("RL.POLICY", "LIST"), [b"p"])
        self.assertEqual(client.call("FLUSHALL"), "OK")
        self.assertEqual(other.call("DBSIZE"), 0)

    def test_a_stopped_replica_makes_answers_no_ack_and_then_refusals(self):
        options = (*ACKS, "--min-replicas-max-lag", "1s", "--ack-timeout", "50ms")
        primary = self.start(*options)
        replica = self.start_replica(primary, *options)
        client = self.connect(primary)
        await_true(lambda: admits(client), lambda: fields(client))
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

        # A demoted primary answers all that waited.
        client.call("CONFIG", "SET", "ack-timeout", "60s", "min-replicas-max-lag", "1h")
        await_true(lambda: admits(client), lambda: fields(client))
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
        client, other = self.connect(primary), self.connect(primary)
        self.assertEqual(client.call("WAIT", 0, 0), 0)
        self.assertEqual(client.call("WAIT", 1, 50), 0)
        number = client.call("CLIENT", "ID")
        client.send(encode("WAIT", 1, 0))
        await_true(lambda: other.call("CLIENT", "UNBLOCK", number) == 1, "a wait to end")
        self.assertEqual(client.reply(), 0)
        # It waits for a replica that is yet to come.
        client.call("RL.ALLOW", "k", LIMIT)
        client.send(encode("WAIT", 1, 0))
        replicas = [self.start_replica(primary) for _ in range(2)]
        self.assertEqual(client.reply(), 1)
        for i in range(scaled(50)):
            self.assertTrue(is_admitted(client.call("RL.ALLOW", f"key:{i}", LIMIT)))
            self.assertEqual(client.call("WAIT", 2, 0), 2)
            for replica in replicas:
                with Client(replica.port) as its:
                    self.assertEqual(self.remaining(its, f"key:{i}"), 99)
        replicas[0].pause()
        client.call("RL.ALLOW", "k", LIMIT)
        self.assertEqual(client.call("WAIT", 1, 0), 1)
        self.assertEqual(client.call("WAIT", 2, 100), 1)
        client.send(encode("WAIT", 2, 0) + encode("PING"))
        replicas[0].resume()
        self.assertEqual(client.reply(), 2)
        self.assertEqual(client.reply(), "PONG")
        self.assertIsInstance(self.connect(replicas[0]).call("WAIT", 0, 0), Error)


if __name__ == "__main__":
    unittest.main()
