"""The holds of weir's module survive all that Redis does with a key, and expire at their instants.

Saved, loaded, rewritten, replicated, copied, moved, promoted: the hold can be settled afterwards as
before. module_test.py compares whole states; tests/commands/holds/ tests the replies.
"""

import os

from module_test import DEBUG, ModuleTest
from redis_cluster import Cluster, ClusterClient, slot_of
from redis_host import main, start_module
from weir_e2e import DEADLINE, NEVER, encode, scaled

LIMIT = f"10/{NEVER}"
NO_HOLD = [0, 0, 0, 0, 0]


def reserve(client, key, name="a", ttl=3_600_000, cost=5):
    return client.call("RL.RESERVE", key, f"{LIMIT},cost={cost}", "3,held", "HOLD", name, "TTL",
                       ttl)


class HoldsTest(ModuleTest):
    def replica_of(self, primary):
        replica = start_module(self, options=[*DEBUG, "--replicaof", "127.0.0.1",
                                              str(primary.port)])
        client = self.connect(replica)
        self.await_equal(lambda: client.call("ROLE")[3], b"connected")
        return replica, client

    def info_of(self, client, field):
        """A number in the module's section of INFO."""
        lines = client.call("INFO", "weir").decode().splitlines()
        return int(dict(line.split(":") for line in lines if ":" in line)[f"weir_{field}"])

    def assert_settles(self, client, key="k"):
        """Commits the hold of reserve(), as 2 tokens."""
        self.assertEqual(client.call("RL.COMMIT", key, LIMIT, "COST", 2, "HOLD", "a")[:2], [1, 8])
        self.assertEqual(client.call("RL.PEEK", key, "3,held", "COST", 3)[0], 1)

    def test_reloads_and_append_only_files_keep_holds(self):
        options = [*DEBUG, "--appendonly", "yes"]
        redis = start_module(self, options=options)
        client = self.connect(redis)
        for key in ("reload", "aof", "rewritten", "restart"):
            self.assertEqual(reserve(client, key)[:2], [1, 2])
        self.assertEqual(client.call("DEBUG", "RELOAD"), "OK")
        self.assert_settles(client, "reload")
        client.call("DEBUG", "LOADAOF")
        self.assert_settles(client, "aof")
        self.assertEqual(client.call("RL.COMMIT", "reload", "HOLD", "a")[0], 1, "the mark is there")
        client.call("BGREWRITEAOF")
        self.await_equal(lambda: self.info(client)["aof_rewrites"], 1)
        self.await_equal(lambda: self.info(client)["aof_rewrite_in_progress"], 0)
        client.call("DEBUG", "LOADAOF")
        self.assert_settles(client, "rewritten")
        # The same words, after a restart: the hold knows its request.
        redis.kill()
        client = self.connect(start_module(self, options=options))
        self.assertEqual(reserve(client, "restart", ttl=60_000)[:2], [1, 2])
        self.assertLessEqual(client.call("RL.INSPECT", "restart", "HOLDS")[0][1], 60_000)
        self.assert_settles(client, "restart")
        self.assertEqual(self.info_of(client, "holds"), 0)

    def test_an_append_only_file_of_commands_alone_keeps_holds(self):
        client = self.connect(start_module(
            self, options=[*DEBUG, "--appendonly", "yes", "--aof-use-rdb-preamble", "no"]))
        reserve(client, "k")
        client.call("BGREWRITEAOF")
        self.await_equal(lambda: self.info(client)["aof_rewrites"], 1)
        self.await_equal(lambda: self.info(client)["aof_rewrite_in_progress"], 0)
        client.call("DEBUG", "LOADAOF")
        self.assert_settles(client)

    def test_copies_and_dumps(self):
        client = self.connect(start_module(self))
        reserve(client, "k")
        self.assertEqual(client.call("COPY", "k", "copy"), 1)
        self.assertEqual(client.call("RESTORE", "restored", 0, client.call("DUMP", "k")), "OK")
        self.assertEqual(client.call("RENAME", "k", "renamed"), "OK")
        self.assertEqual(self.info_of(client, "holds"), 3)
        for key in ("copy", "restored", "renamed"):
            self.assert_settles(client, key)
        reserve(client, "gone")
        self.assertEqual(client.call("DEL", "gone"), 1)
        self.assertEqual(self.info_of(client, "holds"), 0)
        reserve(client, "gone")
        self.assertEqual(client.call("FLUSHALL", "ASYNC"), "OK")
        self.await_equal(lambda: self.info_of(client, "holds"), 0)

    # A value without holds is of version 1, whose first byte is the length of a text.
    def test_only_values_with_holds_are_of_version_2(self):
        client = self.connect(start_module(self, options=["--rdbcompression", "no"]))
        client.call("RL.ALLOW", "k", LIMIT)
        first = client.call("DUMP", "k")
        text = LIMIT.encode()
        self.assertIn(bytes([len(text)]) + text, first)
        reserve(client, "k")
        self.assertIn(b"\0\x02\0\0\0\0\x02" + bytes([len(text)]) + text, client.call("DUMP", "k"))
        client.call("RL.CANCEL", "k", "HOLD", "a")
        self.assertIn(b"\0\x02\0\0\0\0\x02", client.call("DUMP", "k"), "the mark")
        reserve(client, "l", ttl=1)
        self.await_equal(lambda: client.call("RL.INSPECT", "l", "HOLDS"), [])

    def test_damaged_values_are_refused(self):
        client = self.connect(start_module(self, options=["--sanitize-dump-payload", "no"]))
        client.call("RL.POLICY", "SET", "free", "5/d")
        reserve(client, "k")
        client.call("RL.RESERVE", "k", "@free", "5/d,fixed,name=x", "HOLD", "b", "TTL", 3_600_000)
        client.call("RL.COMMIT", "k", "HOLD", "b")

        def use(key):
            self.assertIsInstance(client.call("RL.COMMIT", key, "HOLD", "a"), list)
            self.assertIsInstance(client.call("RL.INSPECT", key, "HOLDS"), list)
            client.call("DEL", key)

        self.restore_damaged(client, client.call("DUMP", "k"), use)
        for state in (b"\0", b"\0\x02", b"\0\x03\0\0\0\0\0", b"\0\x02\0\0\0\0\0\x01a\0\0"):
            reply = client.call("RL.STATE", "s", -1, state)
            self.assertEqual(reply, "ERR invalid state of a key", state)
        self.assertEqual(client.call("EXISTS", "s"), 0)

    def test_marks_are_bounded(self):
        client = self.connect(start_module(self, "max-holds", "30"))
        for i in range(200):
            reserve(client, f"k:{i}")
            self.assertEqual(client.call("RL.COMMIT", f"k:{i}", LIMIT, "HOLD", "a")[:2], [1, 5])
        marks = sum(len(client.call("RL.INSPECT", f"k:{i}", "HOLDS")) for i in range(200))
        self.assertLessEqual(marks, 60)
        self.assertGreater(marks, 0)

    def test_many_holds_that_expire_at_once_are_swept_soon(self):
        client = self.connect(start_module(self))
        keys = scaled(2_000)
        client.send(b"".join(encode("RL.RESERVE", f"k:{i}", LIMIT, "HOLD", "a", "TTL", 1)
                             for i in range(keys)))
        for _ in range(keys):
            self.assertEqual(client.reply()[0], 1)
        self.await_equal(lambda: self.info_of(client, "holds_expired"), keys)

    def test_looks_expire_nothing(self):
        client = self.connect(start_module(self, "allow-explicit-time"))
        now = 1_767_225_600 * 10**9
        client.call("RL.RESERVE", "k", "3,held", "HOLD", "a", "TTL", 1, "AT", now)
        for _ in range(3):
            look = client.call("RL.PEEK", "k", "3,held", "COST", 3, "AT", now + 10**9)
            self.assertEqual(look[0], 1)
        self.assertEqual(self.info_of(client, "holds_expired"), 0)

    def test_a_replica_looks_and_changes_nothing(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        reserve(client, "early")
        _, replica = self.replica_of(primary)
        reserve(client, "k", ttl=1500)
        client.call("WAIT", 1, int(DEADLINE * 1000))
        primary.kill()  # before it settles what is due
        self.assertEqual(replica.call("RL.COMMIT", "k", "HOLD", "a").split()[0], "READONLY")
        self.assertEqual(len(replica.call("RL.INSPECT", "early", "HOLDS")), 1)
        before = replica.call("DEBUG", "DIGEST")
        # From the due time on it answers as if the hold had expired.
        self.await_equal(lambda: replica.call("RL.PEEK", "k", "3,held", "COST", 3)[0], 1)
        self.assertEqual(replica.call("RL.INSPECT", "k", "HOLDS"), [])
        self.assertEqual(replica.call("RL.PEEK", "k", LIMIT, "COST", 10)[0], 1)
        self.assertEqual(self.info_of(replica, "holds"), 2)
        self.assertEqual(replica.call("DEBUG", "DIGEST"), before)

    def test_a_promoted_replica_settles_as_of_the_due_times(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        _, replica = self.replica_of(primary)
        reserve(client, "due", ttl=1500)
        reserve(client, "open")
        reserve(client, "renewed", ttl=1500)
        reserve(client, "renewed", ttl=3_600_000)
        self.assert_replicated(client, replica)
        primary.kill()
        self.assertEqual(replica.call("REPLICAOF", "NO", "ONE"), "OK")
        self.await_equal(lambda: replica.call("RL.ALLOW", "due", LIMIT, "COST", 10)[0], 1)
        self.assertEqual(replica.call("RL.COMMIT", "due", "HOLD", "a"), NO_HOLD)
        self.assert_settles(replica, "open")
        self.assertEqual(reserve(replica, "renewed")[:2], [1, 2], "the same request")
        self.assert_settles(replica, "renewed")

    def test_a_change_is_replicated_without_the_other_holds(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        _, replica = self.replica_of(primary)
        holds = scaled(1_000)
        for i in range(holds):
            client.send(encode("RL.RESERVE", "k", "100000,held", "HOLD", f"id:{i}", "TTL",
                               3_600_000))
        for _ in range(holds):
            client.reply()
        before = self.info(client)["master_repl_offset"]
        client.call("RL.COMMIT", "k", "HOLD", "id:7")
        client.call("RL.RESERVE", "k", "100000,held", "HOLD", "id:8", "TTL", 3_600_000)
        self.assertLess(self.info(client)["master_repl_offset"] - before, 1_000)
        self.assert_replicated(client, replica)
        self.assertGreater(client.call("MEMORY", "USAGE", "k"), holds * 100)

    def test_a_key_lives_until_its_last_hold_is_forgotten(self):
        client = self.connect(start_module(self))
        client.call("RL.RESERVE", "k", "1000/s", "HOLD", "a", "TTL", 50_000)
        self.assertGreater(client.call("PTTL", "k"), 40_000)
        client.call("RL.COMMIT", "k", "HOLD", "a")
        self.assertGreater(client.call("PTTL", "k"), 40_000, "the mark")
        client.call("RL.RESERVE", "l", "1000/s", "HOLD", "a", "TTL", 20)
        self.await_equal(lambda: client.call("EXISTS", "l"), 0)
        self.await_equal(lambda: self.info_of(client, "holds"), 0)
        self.assertEqual(self.info_of(client, "holds_expired"), 1)

    def test_holds_of_keys_that_no_request_opens_end(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        _, replica = self.replica_of(primary)
        for i in range(200):
            self.assertEqual(reserve(client, f"k{i}", ttl=200)[0], 1)
        self.await_equal(lambda: self.info_of(client, "holds"), 0)
        self.assertEqual(self.info_of(client, "holds_expired"), 200)
        client.call("WAIT", 1, int(DEADLINE * 1000))
        self.assertEqual(self.info_of(replica, "holds"), 0)
        self.assert_replicated(client, replica)

    def test_transactions_scripts_and_keys(self):
        client = self.connect(start_module(self))
        client.call("MULTI")
        reserve(client, "k")
        client.call("RL.COMMIT", "k", LIMIT, "COST", 2, "HOLD", "a")
        self.assertEqual([reply[:2] for reply in client.call("EXEC")], [[1, 2], [1, 8]])
        script = "return redis.call('RL.RESERVE', KEYS[1], ARGV[1], 'HOLD', 'b', 'TTL', '9000')"
        self.assertEqual(client.call("EVAL", script, 1, "k", LIMIT)[:2], [1, 7])
        words = ["RL.RESERVE", "a", "1/s", "AND", "b", "2/s", "HOLD", "AND", "TTL", 5]
        self.assertEqual(client.call("COMMAND", "GETKEYS", *words), [b"a", b"b"])
        self.assertEqual(client.call("COMMAND", "GETKEYS", "RL.CANCEL", "a", "AND", "AND", "HOLD",
                                     "AND"), [b"a", b"AND"])

    def test_rights(self):
        client = self.connect(start_module(self))
        client.call("ACL", "SETUSER", "app", "on", ">a", "~app:*", "+rl.reserve", "+rl.commit",
                    "+rl.cancel", "+rl.inspect")
        client.call("AUTH", "app", "a")
        self.assertEqual(reserve(client, "app:k")[:2], [1, 2])
        self.assertRegex(reserve(client, "k"), "^NOPERM")
        self.assertRegex(client.call("RL.COMMIT", "app:k", "AND", "k", "HOLD", "a"), "^NOPERM")
        self.assertRegex(client.call("RL.CANCEL", "k", "HOLD", "a"), "^NOPERM")
        self.assertRegex(client.call("RL.INSPECT", "k", "HOLDS"), "^NOPERM")
        self.assertRegex(client.call("RL.ALLOW", "app:k", LIMIT), "^NOPERM")
        self.assertEqual(client.call("RL.CANCEL", "app:k", "HOLD", "a")[:2], [1, 10])

    def test_a_slice_lapses_in_a_copy_of_its_key_too(self):
        client = self.connect(start_module(self, "slice-life", "60000"))
        wish = ("NEED", 4, "UNIT", 1, "UPTO", 4)
        for name, ttl in (("short", 300), ("long", 60_000)):
            words = ("RL.SLICE", "k", LIMIT, *wish, "HOLD", name, "TTL", ttl)
            self.assertEqual(client.call(*words)[0], 4)
        state = client.call("DUMP", "k")
        self.assertEqual(client.call("RESTORE", "copy", 0, state), "OK")
        for key in ("k", "copy"):
            self.await_equal(lambda key=key: len(client.call("RL.INSPECT", key, "HOLDS")), 1)
            self.assertEqual(client.call("RL.COMMIT", key, "COST", 1, "HOLD", "long")[:2], [1, 5])
        with self.assertRaisesRegex(AssertionError, "invalid slice-life '60001'"):
            start_module(self, "slice-life", "60001")

    def test_changes_grow_over_a_promotion(self):
        replica = self.connect(start_module(self, options=DEBUG))
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)

        def changes(of):
            wish = ("NEED", 1, "UNIT", 1, "UPTO", 1)
            return of.call("RL.SLICE", "s", LIMIT, *wish, "HOLD", os.urandom(8), "TTL", 1000)[6]

        at_first = changes(client)
        self.assertGreater(at_first, changes(replica), "which was loaded before")
        client.call("RL.RESET", "k")
        self.assertEqual(changes(client), at_first + 1)
        self.assertEqual(replica.call("REPLICAOF", "127.0.0.1", primary.port), "OK")
        self.await_equal(lambda: b"master_link_status:up" in replica.call("INFO"), True)
        self.assertEqual(replica.call("REPLICAOF", "NO", "ONE"), "OK")
        self.assertGreater(changes(replica), at_first + 1)

    def test_bounds(self):
        server = start_module(self, "max-holds", "20", "max-hold", "5000")
        client = self.connect(server)
        self.assertRegex(reserve(client, "k", ttl=5001), "^ERR invalid TTL '5001': above the")
        for user in ("app", "other"):
            client.call("ACL", "SETUSER", user, "on", ">a", "~*", "+rl.reserve")
        client.call("AUTH", "app", "a")
        for i in range(2):
            self.assertEqual(reserve(client, f"k{i}", ttl=5000)[0], 1)
        self.assertEqual(reserve(client, "k2", ttl=5000), "OOM too many holds", "a tenth")
        client.call("AUTH", "other", "a")
        self.assertEqual(reserve(client, "k2", ttl=5000)[0], 1)
        for words in (("max-holds", "x"), ("max-hold", "0"), ("max-hold", "86400001")):
            with self.assertRaisesRegex(AssertionError, f"invalid {words[0]} '{words[1]}'"):
                start_module(self, *words)


class HoldsClusterTest(ModuleTest):
    def test_holds_move_with_their_slots_and_survive_a_failover(self):
        cluster = Cluster(self.directory, 3, 1, timeout_ms=1000)
        self.addCleanup(cluster.kill)
        client = ClusterClient(cluster)
        self.addCleanup(client.close)
        both = ("a", "1,held", "AND", "b", "1,held")
        reply = client.call("RL.RESERVE", *both, "HOLD", "x", "TTL", 9)
        self.assertRegex(reply, "^CROSSSLOT ")
        self.assertRegex(client.call("RL.COMMIT", "a", "AND", "b", "HOLD", "x"), "^CROSSSLOT ")
        reply = client.call("RL.RESERVE", "{t}a", "1,held", "AND", "{t}b", "1,held", "HOLD", "x",
                            "TTL", 60_000)
        self.assertEqual(reply[:2], [1, 0])
        keys = [f"user:{i}" for i in range(20)]
        for key in keys:
            self.assertEqual(reserve(client, key)[:2], [1, 2])
        for key in keys[:5]:
            source = cluster.owner(slot_of(key))
            target = cluster.primaries[(cluster.primaries.index(source) + 1) % 3]
            cluster.move_slot(slot_of(key), source, target)
            self.assert_settled(client, key)
        cluster.await_replicas()
        (replica,) = cluster.replicas
        cluster.primaries[0].kill()
        self.await_equal(lambda: replica.call("ROLE")[0], b"master")
        for key in keys[5:]:
            self.assert_settled(client, key)
        self.assertEqual(client.call("RL.CANCEL", "{t}a", "AND", "{t}b", "HOLD", "x")[:2], [1, 1])

    def assert_settled(self, client, key):
        self.assertEqual(client.call("RL.COMMIT", key, LIMIT, "COST", 2, "HOLD", "a")[:2], [1, 8])


if __name__ == "__main__":
    main()
