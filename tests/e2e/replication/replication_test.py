"""Replicas of real servers: the first sync, every kind of state, roles, promotions and restarts."""

import os
import signal
import threading
import time
import unittest

from replication_servers import (
    LIMIT,
    PARTITIONS,
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    fields,
    link_state,
    replica_fields,
    role_of,
)
from weir_e2e import NEVER, Client, Error, encode, run_all, scaled

WHOLE_COPY = "with a copy of its whole state"
# A request of each kind that leaves something behind, on keys of its own.
STATE = [
    f"RL.ALLOW bucket 100/{NEVER} COST 7",
    f"RL.ALLOW burst 100/{NEVER},burst=9 COST 7",
    f"RL.ALLOW fixed 100/{NEVER},fixed COST 8",
    f"RL.ALLOW aligned 100/{NEVER},fixed,aligned COST 9",
    "RL.ALLOW sliding 100/300d,sliding COST 10",
    "RL.ALLOW calendar 100/year 100/month,tz=Europe/Berlin,from=15 COST 11",
    f"RL.ALLOW several 100/{NEVER} 50/{NEVER},fixed 70/{NEVER},cost=3",
    f"RL.ALLOW shadow 2/{NEVER},shadow COST 3",
    f"RL.ALLOW keep 100/{NEVER},keep=50 COST 50",
    f"RL.ALLOW ban 1/{NEVER},ban=9d",
    "RL.ALLOW ban 1/h,fixed,ban=9d",
    "RL.ALLOW ban 1/h,fixed,ban=9d",
    "CL.THROTTLE throttle 9 1 86400 4",
    "RL.THROTTLE throttle2 9 1 86400 4",
    f"RL.TAKE take 100/{NEVER} UPTO 30",
    f"RL.WAIT wait 100/{NEVER} TIMEOUT 1000",
    f"RL.CHARGE debt 100/{NEVER} 50/{NEVER},fixed COST 130",
    f"RL.ALLOW refund 100/{NEVER} COST 40",
    f"RL.REFUND refund 100/{NEVER} COST 15",
    f"RL.ALLOW reset 100/{NEVER} 50/{NEVER} COST 15",
    f"RL.RESET reset 50/{NEVER}",
    f"RL.RESERVE open 100/{NEVER} 5,held COST 2 HOLD a TTL 3600000",
    f"RL.RESERVE settled 100/{NEVER} 5,held COST 2 HOLD b TTL 3600000",
    f"RL.COMMIT settled 100/{NEVER},cost=1 HOLD b",
    f"RL.TAKE cancelled 100/{NEVER} UPTO 4 HOLD c TTL 3600000",
    "RL.CANCEL cancelled HOLD c",
    f"RL.POLICY SET free 100/{NEVER} 9/{NEVER},name=x",
    f"RL.POLICY OVERRIDE free vip 500/{NEVER}",
    "RL.POLICY OVERRIDE free banned none",
    "RL.ALLOW member @free COST 2",
    "RL.ALLOW vip @free COST 2",
    f"RL.POLICY SET gone 100/{NEVER}",
    "RL.ALLOW member @gone",
    "RL.POLICY DEL gone",
]
KEYS = sorted({words.split()[1] for words in STATE if "POLICY" not in words} | {"member", "vip"})
LIMITS = (LIMIT, f"50/{NEVER},fixed", "5,held", "@free", "@gone")


class ReplicationStateTest(ReplicationTest):
    changing = 20_000  # buckets that change during the first sync
    resting = 1_000_000  # buckets that do not

    def fill(self, server, count):
        """Makes buckets of resting:0, resting:1 and so on."""
        at_once = min(count, 1000)
        with Client(server.port) as client:
            for first in range(0, count, at_once):
                keys = range(first, first + at_once)
                client.send("".join(f"RL.ALLOW resting:{i} {LIMIT}\r\n" for i in keys).encode())
                replies = 0
                while replies < at_once:
                    received = client.socket.recv(1 << 16)
                    self.assertTrue(received, "the server has gone")
                    replies += received.count(b"*")

    def make_state(self, client):
        replies = ask_all(client, [words.split() for words in STATE])
        errors = [pair for pair in zip(STATE, replies) if isinstance(pair[1], Error)]
        self.assertEqual(errors, [])

    def change_state(self, client):
        """Changes, ends or takes back some of what make_state made."""
        changes = [
            f"RL.ALLOW bucket 100/{NEVER} COST 3",
            "RL.RESET fixed",
            "RL.REFUND sliding 100/300d,sliding COST 4",
            "RL.COMMIT open HOLD a",
            f"RL.POLICY SET free 100/{NEVER} 20/{NEVER},name=y",
            "RL.POLICY UNOVERRIDE free banned",
            f"RL.POLICY SET gone 7/{NEVER}",
            "RL.ALLOW new @gone",
            "DEL several",
        ]
        for words in changes:
            self.assertNotIsInstance(client.call(*words.split()), Error, words)

    def assert_same(self, primary, replica):
        await_in_sync(primary, replica)
        self.assert_same_buckets(primary, replica, (*KEYS, "new"), LIMITS)

    # Goal: a first sync and the stream after it both bring every kind of state. Method: the state
    # is there before one replica, and comes while another one listens.
    def test_every_kind_of_state(self):
        primary = self.start()
        client = self.connect(primary)
        early = self.connect(self.start_replica(primary))
        self.make_state(client)
        self.assertEqual(client.call("RL.PEEK", "debt", LIMIT, "COST", 0)[1], 0)
        late = self.connect(self.start_replica(primary))
        for replica in (early, late):
            self.assert_same(client, replica)
        self.change_state(client)
        for replica in (early, late):
            self.assert_same(client, replica)
        self.assertEqual(client.call("FLUSHALL"), "OK")
        for replica in (early, late):
            self.assert_same(client, replica)
            self.assertEqual(self.remaining(replica, "bucket"), 100)
            self.assertEqual(replica.call("RL.POLICY", "LIST"), [b"free", b"gone"])

    # Goal: buckets that change while they are copied are copied right. Method: clients take tokens
    # of the same keys before, during and after the sync. A million other buckets make it last.
    def test_the_first_sync_under_load(self):
        count = scaled(self.changing)
        primary = self.start("--threads", "2")
        client = self.connect(primary)
        fill = [("RL.ALLOW", f"key:{i}", LIMIT, "COST", 1 + i % 9) for i in range(count)]
        ask_all(client, fill)
        self.fill(primary, scaled(self.resting))
        ended = threading.Event()
        taken = []

        def load(first):
            with Client(primary.port) as loader:
                at = first
                while not ended.is_set():
                    keys = [f"key:{(at + i) % count}" for i in range(100)]
                    loader.send(b"".join(encode("RL.ALLOW", key, LIMIT) for key in keys))
                    taken.extend(loader.reply()[0] for _ in keys)
                    at += 777

        def sync():
            try:
                for _ in range(2):
                    replicas.append(self.connect(self.start_replica(primary)))
            finally:
                ended.set()

        replicas = []
        run_all(lambda: load(0), lambda: load(count // 2), sync)
        self.assertGreater(sum(taken), 0)
        await_in_sync(client, *replicas)
        keys = [f"key:{i}" for i in range(count)]
        keys += [f"resting:{i}" for i in range(0, scaled(self.resting), 100)]
        peeks = [("RL.PEEK", key, LIMIT, "COST", 0) for key in keys]
        wanted = [reply[1] for reply in ask_all(client, peeks)]
        for replica in replicas:
            self.assertEqual([reply[1] for reply in ask_all(replica, peeks)], wanted)
            self.assertEqual(replica.call("DBSIZE"), client.call("DBSIZE"))


class RolesTest(ReplicationTest):
    def test_role_and_info_of_a_primary_and_two_replicas(self):
        primary = self.start()
        client = self.connect(primary)
        self.assertEqual(client.call("ROLE"), [b"master", 0, []])
        self.assertEqual(fields(client)["term"], "0")
        servers = [self.start_replica(primary) for _ in range(2)]
        replicas = [self.connect(server) for server in servers]
        client.call("RL.ALLOW", "k", LIMIT)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT, "COST", 100)[0], 0)
        await_in_sync(client, *replicas)

        ports = sorted(server.port for server in servers)
        head = int(fields(client)["master_repl_offset"])
        self.assertGreater(head, 0)

        def acknowledged():
            kind, offset, listed = client.call("ROLE")
            self.assertEqual((kind, offset), (b"master", head))
            return sorted((int(port), int(at)) for _, port, at in listed)

        self.await_equal(acknowledged, [(port, head) for port in ports])
        shown = fields(client)
        self.assertEqual((shown["role"], shown["connected_slaves"]), ("master", "2"))
        self.assertEqual((shown["term"], shown["repl_backlog_active"]), ("1", "1"))
        self.assertEqual(shown["second_repl_offset"], "-1")
        self.assertEqual(shown["sync_partitions_sent"], str(2 * PARTITIONS))
        one = replica_fields(client)
        self.assertEqual((one["ip"], one["state"], one["lag"]), ("127.0.0.1", "online", "0"))

        for replica in replicas:
            theirs = fields(replica)
            self.assertEqual(
                replica.call("ROLE"),
                [b"slave", b"127.0.0.1", primary.port, b"connected", head],
            )
            self.assertEqual(theirs["role"], "slave")
            self.assertEqual(theirs["master_link_status"], "up")
            self.assertEqual(theirs["master_replid"], shown["master_replid"])
            self.assertEqual((theirs["slave_read_only"], theirs["slave_priority"]), ("1", "100"))
            self.assertEqual(theirs["slave_repl_offset"], str(head))
            hello = replica.call("HELLO", 2)
            self.assertEqual(hello[hello.index(b"role") + 1], b"replica")
            # Statistics are each server's own.
            self.assertEqual(replica.call("RL.TOP"), [])
            self.assertEqual(replica.call("RL.STATS"), [[b"(total)", 0, 0, 0, 0, 0, 0]])

    def test_a_lost_link_is_taken_up_again_without_a_copy(self):
        impatient = ("--repl-timeout", "300ms")
        primary = self.start(*impatient)
        client = self.connect(primary)
        replica = self.start_replica(primary, *impatient)
        other = self.connect(replica)
        copied = fields(client)["sync_partitions_sent"]
        primary.pause()
        self.await_equal(lambda: fields(other)["master_link_status"], "down")
        self.assertIn(link_state(other), ("connect", "connecting", "handshake"))
        self.assertIn("master_link_down_since_seconds", fields(other))
        primary.resume()
        self.await_equal(lambda: link_state(other), "connected")
        self.await_equal(lambda: fields(other)["master_link_status"], "up")
        replica.pause()
        client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        self.await_equal(lambda: fields(client)["connected_slaves"], "0")
        client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        replica.resume()
        await_in_sync(client, other)
        self.assertEqual(self.remaining(other, "k"), 40)
        self.assertEqual(fields(client)["sync_partitions_sent"], copied)
        self.assertEqual(replica.log().count(WHOLE_COPY), 1)


class PromotionTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.primary = self.start_mortal()
        self.client = self.connect(self.primary)
        self.servers = [self.start_replica(self.primary) for _ in range(2)]
        self.replicas = [self.connect(server) for server in self.servers]
        # Something after the copies: where they end, the histories of the replicas are one.
        for i in range(scaled(100)):
            self.client.call("RL.ALLOW", f"key:{i}", LIMIT, "COST", 1 + i % 9)
        self.assertEqual(self.client.call("RL.ALLOW", "drained", LIMIT, "COST", 100)[0], 1)
        await_in_sync(self.client, *self.replicas)

    def test_a_promoted_replica_keeps_all_and_is_followed_without_a_copy(self):
        first, second = self.replicas
        old_id = fields(first)["master_replid"]
        # Of a primary the command changes nothing.
        self.assertEqual(self.client.call("SLAVEOF", "NO", "ONE"), "OK")
        self.assertEqual(self.client.call("RL.ALLOW", "k", LIMIT)[0], 1)
        self.assertEqual(fields(self.client)["master_replid"], old_id)
        self.assertEqual(fields(self.client)["connected_slaves"], "2")
        self.primary.kill()
        # The offset moves with the primary's heartbeats, too, so it stops here.
        self.await_equal(lambda: fields(first)["master_link_status"], "down")
        offset = int(fields(first)["slave_repl_offset"])
        self.promote(first)
        shown = fields(first)
        self.assertEqual((shown["role"], shown["term"]), ("master", "2"))
        self.assertEqual(shown["master_replid2"], old_id)
        self.assertNotEqual(shown["master_replid"], old_id)
        self.assertEqual(shown["second_repl_offset"], str(offset))
        # Neither refilled nor forgotten, and it decides again.
        self.assertEqual(first.call("RL.ALLOW", "drained", LIMIT)[0], 0)
        self.assertEqual(first.call("RL.ALLOW", "key:0", LIMIT)[:2], [1, 98])

        self.follow(second, self.servers[0])
        await_in_sync(first, second)
        self.assertEqual(self.remaining(second, "key:0"), 98)
        self.assertLess(int(fields(first)["sync_partitions_sent"]), 10)
        self.assertEqual(self.servers[1].log().count(WHOLE_COPY), 1)
        self.assertGreater(int(fields(first)["master_repl_offset"]), offset)

    def test_the_old_primary_follows_and_its_own_tail_goes(self):
        first, second = self.replicas
        self.promote(first)
        # Both admit now, as an operator should not let them.
        tail = [("RL.ALLOW", f"key:{i}", LIMIT, "COST", 50) for i in range(5)]
        for reply in ask_all(self.client, [*tail, ("RL.ALLOW", "old", LIMIT)]):
            self.assertEqual(reply[0], 1)
        for reply in ask_all(first, [("RL.ALLOW", f"key:{i}", LIMIT) for i in range(3, 9)]):
            self.assertEqual(reply[0], 1)
        waiter = self.connect(self.primary)
        waiter.send(encode("RL.WAIT", "slow", "1/50s", "TIMEOUT", 60_000) * 2)
        self.assertEqual(waiter.reply()[0], 1)
        self.await_equal(lambda: self.info(self.client)["blocked_clients"], 1)
        self.follow(self.client, self.servers[0])
        self.assertEqual(waiter.reply(), "UNBLOCKED this server is a replica now")
        self.follow(second, self.servers[0])
        self.assertLess(int(fields(first)["sync_partitions_sent"]), 100)
        keys = [f"key:{i}" for i in range(scaled(100))] + ["old", "drained"]
        for other in (self.client, second):
            await_in_sync(first, other)
            self.assert_same_buckets(first, other, keys, (LIMIT,))
            self.assertEqual(self.remaining(other, "old"), 100)
        self.assertEqual(fields(first)["connected_slaves"], "2")
        self.assertRegex(self.client.call("RL.ALLOW", "k", LIMIT), "^READONLY ")


class RestartTest(ReplicationTest):
    def data(self, name):
        return ("--data-dir", os.path.join(self.directory, name), "--snapshot-interval", "50ms")

    def test_a_replica_keeps_its_state_over_a_restart_and_resumes(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how):
                primary = self.start()
                client = self.connect(primary)
                data = self.data(how.name)
                replica = self.start_replica(primary, *data, mortal=True)
                client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
                other = self.connect(replica)
                await_in_sync(client, other)
                saved = fields(other, "persistence")["rdb_saves"]
                self.await_equal(
                    lambda: int(fields(other, "persistence")["rdb_saves"]) > int(saved)
                    or fields(other, "persistence")["dirty_buckets"] == "0",
                    True,
                )
                other.call("SAVE")
                copied = int(fields(client)["sync_partitions_sent"])
                if how == signal.SIGTERM:
                    self.assertEqual(replica.stop(), 0)
                else:
                    replica.kill()
                client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
                again = self.start_replica(primary, *data)
                other = self.connect(again)
                await_in_sync(client, other)
                self.assertEqual(self.remaining(other, "k"), 40)
                self.assertNotIn(WHOLE_COPY, again.log())
                self.assertLess(int(fields(client)["sync_partitions_sent"]) - copied, 10)

    # The bound counts from the last moment at which a replica was in sync, even after that replica
    # has left.
    def test_the_loss_bound_is_highest_when_no_replica_is_left(self):
        primary = self.start("--repl-timeout", "1s")
        client = self.connect(primary)

        def bound():
            return int(fields(client)["failover_loss_bound_ms"])

        def half_replica():
            """One that connects and says nothing, so it never has the whole state."""
            peer = self.connect(primary)
            words = "RL.SYNC 2 2 ID {0} ADDR - 7379 TERM 0 KEY {1}".format(40 * "a", 32 * "0")
            self.assertIsInstance(peer.call(*words.split()), list)
            await_true(lambda: fields(client)["connected_slaves"] == "1", "a replica")

        def assert_grows():
            client.call("RL.ALLOW", f"k:{time.monotonic_ns()}", LIMIT)
            seen = bound()
            await_true(lambda: bound() > seen + 300, bound)

        self.assertEqual(bound(), -1)
        half_replica()
        client.call("RL.ALLOW", "k", LIMIT)
        self.assertEqual(bound(), -1)
        replica = self.start_replica(primary, mortal=True)
        await_in_sync(client, self.connect(replica))
        self.await_equal(bound, 0)
        replica.pause()
        assert_grows()
        await_true(lambda: fields(client)["connected_slaves"] == "0", "the end of the link")
        assert_grows()
        replica.resume()
        await_in_sync(client, self.connect(replica))
        self.await_equal(bound, 0)
        replica.kill()
        assert_grows()
        half_replica()
        assert_grows()

    def test_a_role_that_was_told_outlives_the_options(self):
        primary = self.start()
        client = self.connect(primary)
        client.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        data = self.data("replica")
        server = self.start(*data)
        self.follow(self.connect(server), primary)
        self.assertEqual(server.stop(), 0)
        server = self.start(*data)
        replica = self.connect(server)
        await_true(lambda: link_state(replica) == "connected", server.log)
        self.promote(replica)
        self.assertEqual(server.stop(), 0)
        server = self.start(*data, "--replicaof", f"127.0.0.1 {primary.port}")
        server.wait_for_log("which wins over the option replicaof")
        server.wait_for_log("loaded [0-9]+ buckets")
        replica = self.connect(server)
        self.assertEqual(role_of(replica), b"master")
        self.assertEqual(self.remaining(replica, "k"), 70)


if __name__ == "__main__":
    unittest.main()
