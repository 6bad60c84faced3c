"""weir's module in Debian's redis-server: the module's values survive all that Redis does.

Saved, loaded, rewritten, replicated, copied, expired: the state is the same everywhere, which
DEBUG DIGEST compares (host_state.py). tests/commands/ and module_conformance_test.py test the
decisions.
"""

import random
import time

from host_state import CompareStates, State
from redis_host import main, start_module
from weir_e2e import DEADLINE, NEVER, Client, Error, ServerTest, encode, scaled

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
DEBUG = ("--enable-debug-command", "yes")
LIMITS = ["10/s", "3/365d", f"5/{NEVER},fixed", "1000/h,burst=7", "4/30d,sliding", "2/d,shadow"]
LIMITS += ["1/h,ban=9d", "2/h,fixed,ban=9d", "@free", "@free,shadow", "@paid", "none", "unlimited"]


def random_request(generator, keys=50):
    """A random request that may change buckets or policies."""
    key = f"user:{generator.randrange(keys)}"
    limits = generator.sample(LIMITS, generator.randint(1, 3))
    roll = generator.random()
    if roll < 0.03:
        return ["RL.POLICY", "SET", "free", f"{generator.randint(5, 9)}/d", "100/h,fixed"]
    if roll < 0.05:
        return ["RL.POLICY", "OVERRIDE", "free", key, "1/h", "2/h,fixed"]
    if roll < 0.06:
        return ["RL.POLICY", "DEL", "paid"]
    if roll < 0.10:
        return ["RL.POLICY", "SET", "paid", "20/h,sliding"]
    if roll < 0.16:
        return ["CL.THROTTLE", key, generator.randrange(9), 3, 1000]
    if roll < 0.20:
        return ["RL.RESET", key, *limits[: generator.randrange(3)]]
    if roll < 0.28:
        return ["RL.REFUND", key, *limits, "COST", generator.randrange(4)]
    if roll < 0.36:
        return ["RL.TAKE", key, *limits, "UPTO", generator.randint(1, 9)]
    if roll < 0.40:
        return ["RL.PEEK", key, *limits]
    if roll < 0.45:
        return ["RL.CHARGE", key, *limits, "COST", generator.randrange(9)]
    hold = ["HOLD", generator.choice("abc")]
    if roll < 0.60:
        return ["RL.RESERVE", key, *limits, "9,held", *hold, "TTL", 3_600_000]
    if roll < 0.65:
        return [generator.choice(["RL.COMMIT", "RL.CANCEL"]), key, *hold]
    joined = generator.choice(["AND", "OR"])
    other = [joined, f"ip:{generator.randrange(keys)}", "7/h"] if roll > 0.9 else []
    return ["RL.ALLOW", key, *limits, "COST", generator.randrange(3), *other]


class ModuleTest(CompareStates, ServerTest):
    def connect(self, server):
        client = Client(server.port)
        self.addCleanup(client.close)
        return client

    def fill(self, client, requests, seed=1):
        """Random use of every command, in chunks."""
        generator = random.Random(seed)
        self.used_since = time.monotonic()
        client.call("RL.POLICY", "SET", "free", "5/d", "100/h,fixed")
        client.call("RL.POLICY", "SET", "paid", "20/h,sliding")
        errors = set()
        for _ in range(max(1, requests // 100)):
            chunk = [random_request(generator) for _ in range(100)]
            client.send(b"".join(encode(*words) for words in chunk))
            errors |= {reply for reply in (client.reply() for _ in chunk)
                       if isinstance(reply, Error)}
        # A policy that was deleted is missed until it is there again.
        missed = {"ERR unknown policy 'paid': RL.POLICY SET makes one"}
        missed |= {f"ERR hold '{name}' is {state}" for name in "abc"
                   for state in ("another request", "settled")}
        self.assertLessEqual(errors, missed)

    def restore_damaged(self, client, dump, use):
        """Damages a dump in many ways; calls use(key) for each that can be restored."""
        generator = random.Random(7)
        restored = 0
        for i in range(scaled(3_000)):
            damaged = bytearray(dump[:-10])
            for _ in range(generator.randint(1, 3)):
                damaged[generator.randrange(1, len(damaged))] = generator.randrange(256)
            if generator.random() < 0.2:
                del damaged[generator.randrange(1, len(damaged)) :]
            payload = bytes(damaged) + dump[-10:-8]
            reply = client.call("RESTORE", f"d:{i}", 0, payload + crc64(payload), "REPLACE")
            if reply == "OK":
                restored += 1
                use(f"d:{i}")
        self.assertGreater(restored, 0)


class StateTest(ModuleTest):
    def test_a_reload_keeps_everything(self):
        client = self.connect(start_module(self, options=DEBUG))
        self.fill(client, scaled(20_000))
        with self.at_one_instant(client):
            before = State(client)
            self.assertGreater(len(before.keys), 10)
            self.assertEqual(client.call("DEBUG", "RELOAD"), "OK")
            self.assert_same_state(before, State(client))

    def test_an_append_only_file_keeps_everything(self):
        options = [*DEBUG, "--appendonly", "yes"]
        redis = start_module(self, options=options)
        client = self.connect(redis)
        self.fill(client, scaled(20_000))
        with self.at_one_instant(client):
            before = State(client)
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(before, State(client))

        client.call("BGREWRITEAOF")
        self.await_equal(lambda: self.info(client)["aof_rewrites"], 1)
        self.await_equal(lambda: self.info(client)["aof_rewrite_in_progress"], 0)
        self.fill(client, scaled(1_000), seed=2)
        with self.at_one_instant(client):
            before = State(client)
            redis.kill()
            client = self.connect(start_module(self, options=options))
            self.assert_same_state(before, State(client))

    def test_an_append_only_file_of_commands_alone_keeps_the_buckets(self):
        client = self.connect(start_module(
            self, options=[*DEBUG, "--appendonly", "yes", "--aof-use-rdb-preamble", "no"]))
        self.assertEqual(client.call("RL.ALLOW", "k", f"2/{NEVER}", "5/365d,fixed")[:2], [1, 1])
        client.call("CL.THROTTLE", "k", 9, 1, 1000)
        client.call("BGREWRITEAOF")
        self.await_equal(lambda: self.info(client)["aof_rewrites"], 1)
        self.await_equal(lambda: self.info(client)["aof_rewrite_in_progress"], 0)
        with self.at_one_instant(client):
            before = State(client)
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(before, State(client))
        self.assertEqual(client.call("RL.ALLOW", "k", f"2/{NEVER}")[:2], [1, 0])

    def test_a_replica_has_the_same_state(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        self.fill(client, scaled(2_000))
        replica = self.connect(start_module(
            self, options=[*DEBUG, "--replicaof", "127.0.0.1", str(primary.port)]))
        self.await_equal(lambda: replica.call("ROLE")[3], b"connected")
        self.fill(client, scaled(100_000), seed=2)
        self.assert_replicated(client, replica)
        self.assertGreater(client.call("DBSIZE"), 10)

        key = f"user:{1}"
        self.assertIsInstance(replica.call("RL.PEEK", key, "10/s"), list)
        self.assertRegex(replica.call("RL.ALLOW", key, "10/s"), "^READONLY ")
        self.assertRegex(replica.call("RL.POLICY", "SET", "free", "1/s"), "^READONLY ")

    def test_only_changes_are_replicated(self):
        client = self.connect(start_module(self))
        client.call("RL.ALLOW", "k", "1/365d")
        client.call("RL.ALLOW", "k", "1/365d")
        client.call("RL.ALLOW", "k", "9/365d", "none")
        client.call("RL.ALLOW", "k", "9/365d", "COST", "0")
        client.call("RL.PEEK", "k", "9/365d")
        client.call("RL.REFUND", "k", "9/365d")
        client.call("RL.RESET", "k", "9/365d")
        self.assertEqual(self.info(client)["rdb_changes_since_last_save"], 1)

    def test_transactions_and_scripts(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        replica = self.connect(start_module(
            self, options=[*DEBUG, "--replicaof", "127.0.0.1", str(primary.port)]))
        self.await_equal(lambda: replica.call("ROLE")[3], b"connected")
        limit = f"3/{NEVER}"
        client.call("MULTI")
        client.call("RL.ALLOW", "k", limit)
        client.call("RL.WAIT", "k", limit, "COST", 9, "TIMEOUT", 1000)
        replies = client.call("EXEC")
        self.assertEqual([reply[:2] for reply in replies], [[1, 2], [0, 2]])
        script = "return {redis.call('RL.ALLOW', KEYS[1], ARGV[1]), "
        script += "redis.call('RL.WAIT', KEYS[1], ARGV[1], 'COST', '2', 'TIMEOUT', '1000')}"
        replies = client.call("EVAL", script, 1, "k", limit)
        self.assertEqual([reply[:2] for reply in replies], [[1, 1], [0, 1]])
        self.assert_replicated(client, replica)

    def test_keys_go_when_their_buckets_are_full(self):
        client = self.connect(start_module(self))
        client.call("RL.ALLOW", "k", "10/365d", "1/s")
        self.assertGreater(client.call("PTTL", "k"), 30 * 86400 * 1000)
        client.call("RL.ALLOW", "short", "100/s")
        self.assertLessEqual(client.call("PTTL", "short"), 11)
        self.await_equal(lambda: client.call("EXISTS", "short"), 0)
        client.call("RL.REFUND", "k", "10/365d")
        self.assertLessEqual(client.call("PTTL", "k"), 1000)
        self.assertEqual(client.call("RL.RESET", "k"), 1)
        self.assertEqual(client.call("TYPE", "k"), "none")

    def test_copies_dumps_and_other_types(self):
        client = self.connect(start_module(self))
        limit = f"3/{NEVER}"
        client.call("RL.ALLOW", "k", limit)
        self.assertEqual(client.call("TYPE", "k"), "weir-keys")
        self.assertEqual(client.call("COPY", "k", "copy"), 1)
        dump = client.call("DUMP", "k")
        self.assertEqual(client.call("RESTORE", "restored", 0, dump), "OK")
        for name in ("copy", "restored"):
            self.assertEqual(client.call("RL.ALLOW", name, limit)[:2], [1, 1])
        self.assertEqual(client.call("RL.PEEK", "k", limit)[:2], [1, 1])
        self.assertLess(client.call("MEMORY", "USAGE", "k"), 120)

        client.call("SET", "text", "x")
        for words in (["RL.ALLOW", "text", limit], ["RL.PEEK", "text", limit],
                      ["RL.ALLOW", "k", limit, "AND", "text", limit], ["RL.RESET", "text"],
                      ["RL.INSPECT", "text"], ["CL.THROTTLE", "text", 1, 1, 1],
                      ["RL.WAIT", "text", limit, "TIMEOUT", 1],
                      ["RL.WAIT", "k", limit, "AND", "text", limit, "TIMEOUT", 1],
                      ["RL.RESERVE", "text", limit, "HOLD", "id", "TTL", 9],
                      ["RL.COMMIT", "text", "HOLD", "id"], ["RL.INSPECT", "text", "HOLDS"],
                      ["RL.STATE", "text", -1, ""]):
            self.assertEqual(client.call(*words), WRONG_TYPE, words)
        self.assertEqual(client.call("RL.PEEK", "k", limit)[:2], [1, 1])
        self.assertEqual(client.call("GET", "k"), WRONG_TYPE)

    def test_damaged_values_are_refused(self):
        client = self.connect(start_module(self, options=["--sanitize-dump-payload", "no"]))
        client.call("RL.POLICY", "SET", "free", "5/d")
        client.call("RL.ALLOW", "k", "3/365d", "@free", "5/d,fixed,name=x")
        self.restore_damaged(client, client.call("DUMP", "k"), lambda key: self.assertIsInstance(
            client.call("RL.ALLOW", key, "3/365d", "@free"), list))
        self.assertEqual(client.call("PING"), "PONG")

    def test_states_that_are_none(self):
        client = self.connect(start_module(self))
        for state in (b"\x05", b"\x03x/s" + bytes(12), b"\x031/s" + bytes(11),
                      b"\x041/1s" + bytes(12), b"\x031/s" + b"\xff" * 12,
                      2 * (b"\x031/s" + bytes(12)), b"\x09@free 1/s" + bytes(12)):
            reply = client.call("RL.STATE", "k", -1, state)
            self.assertEqual(reply, "ERR invalid state of a key", state)
        self.assertRegex(client.call("RL.STATE", "k", "x", ""), "^ERR invalid expiry 'x'")
        self.assertEqual(client.call("EXISTS", "k"), 0)

    def test_out_of_memory(self):
        client = self.connect(start_module(self))
        limit = f"3/{NEVER}"
        client.call("RL.ALLOW", "k", limit)
        client.call("CONFIG", "SET", "maxmemory", "1")
        for key in ("k", "new"):
            self.assertRegex(client.call("RL.ALLOW", key, limit), "^OOM ")
        self.assertEqual(client.call("RL.PEEK", "k", limit)[:2], [1, 1])
        self.assertEqual(client.call("RL.REFUND", "k", limit)[:2], [1, 3])
        self.assertEqual(client.call("RL.RESET", "k"), 0)

    def test_databases_and_where_the_keys_are(self):
        client = self.connect(start_module(self))
        limit = f"3/{NEVER}"
        client.call("RL.ALLOW", "k", limit)
        client.call("SELECT", 1)
        self.assertEqual(client.call("RL.ALLOW", "k", limit)[:2], [1, 2])
        words = ["RL.ALLOW", "a", "1/s", "and", "b", "2/s", "COST", "2", "AND", "AND", "3/s"]
        self.assertEqual(client.call("COMMAND", "GETKEYS", *words), [b"a", b"b", b"AND"])
        words = ["RL.PEEK", "a", "1/s", "or", "b", "2/s", "AND", "OR", "3/s", "OR", "c", "4/s"]
        self.assertEqual(client.call("COMMAND", "GETKEYS", *words), [b"a", b"b", b"OR", b"c"])
        self.assertIn(b"weir_allowed:2\r\n", client.call("INFO", "weir"))

    def test_commands_that_look_need_no_right_to_change(self):
        server = start_module(self)
        client = self.connect(server)
        client.call("ACL", "SETUSER", "ro", "on", ">a", "%R~app:*", "+@all")
        client.call("RL.ALLOW", "app:1", "5/d")
        client.call("AUTH", "ro", "a")
        self.assertEqual(client.call("RL.PEEK", "app:1", "5/d")[:2], [1, 3])
        both = ("app:1", "5/d", "AND", "app:2", "5/d")
        self.assertEqual(client.call("RL.PEEK", *both)[:2], [1, 3])
        self.assertEqual(len(client.call("RL.INSPECT", "app:1")), 1)
        self.assertRegex(client.call("RL.PEEK", "other", "5/d"), "^NOPERM")
        self.assertRegex(client.call("RL.PEEK", *both[:2], "OR", "other", "5/d"), "^NOPERM")
        for words in (("ALLOW", *both), ("TAKE", *both[:2], "UPTO", "1"), ("REFUND", *both[:2])):
            self.assertRegex(client.call("RL." + words[0], *words[1:]), "^NOPERM")
        self.assertRegex(client.call("RL.WAIT", "app:1", "5/d", "TIMEOUT", "0"), "^NOPERM")
        self.assertRegex(client.call("RL.RESET", "app:1"), "^NOPERM")
        self.assertRegex(client.call("CL.THROTTLE", "app:1", "4", "5", "6"), "^NOPERM")

    # Goal: a user with decisions only cannot use up the limits of others. Method: as many limits as
    # the bound, and one more.
    def test_a_user_introduces_a_bounded_number_of_limits(self):
        server = start_module(self)
        client = self.connect(server)
        for user in ("app", "other"):
            client.call("ACL", "SETUSER", user, "on", ">a", "~*", "+rl.allow", "+cl.throttle")
        client.call("AUTH", "app", "a")
        requests = 0
        for first in range(1, 100_001, 50):
            limits = [f"{i}/3000d" for i in range(first, first + 50)]
            client.send(encode("RL.ALLOW", f"k{first // 1000}", *limits))
            requests += 1
        for _ in range(requests):
            self.assertEqual(client.reply()[0], 1)
        self.assertRegex(client.call("RL.ALLOW", "k", "7/s"), "too many distinct limits")
        self.assertEqual(client.call("RL.ALLOW", "k", "7/3000d")[0], 1, "it is there already")
        self.assertEqual(client.call("CL.THROTTLE", "t", "4", "5", "6")[0], 0)
        client.call("AUTH", "other", "a")
        self.assertEqual(client.call("RL.ALLOW", "k", "7/s")[0], 1)
        admin = self.connect(server)
        self.assertEqual(admin.call("DEL", "k0"), 1)
        client.call("AUTH", "app", "a")
        self.assertEqual(client.call("RL.ALLOW", "k", "8/s")[0], 1, "idle limits make room at once")

    def test_bad_arguments_keep_the_module_out(self):
        with self.assertRaisesRegex(AssertionError, "unexpected 'max-time'"):
            start_module(self, "max-time", "1")

    def test_memory_is_counted_by_redis(self):
        client = self.connect(start_module(self))
        keys = max(2_000, scaled(20_000))  # so that the table's own size counts little

        def bytes_a_key(*command):
            client.call("FLUSHALL")
            before = self.info(client)["used_memory"]
            for first in range(0, keys, 1000):
                count = min(1000, keys - first)
                client.send(b"".join(encode(command[0], f"user:{first + i:08}", *command[1:])
                                     for i in range(count)))
                for _ in range(count):
                    client.reply()
            return (self.info(client)["used_memory"] - before) / keys

        shared = bytes_a_key("SET", "1", "EX", "10000")
        one = bytes_a_key("RL.ALLOW", f"3/{NEVER}")
        four = bytes_a_key("RL.ALLOW", f"3/{NEVER}", f"4/{NEVER}", f"5/{NEVER}", f"6/{NEVER}")
        self.assertGreater(one, shared + 32)
        self.assertGreater(four, one + 3 * 16)


class WaitTest(ModuleTest):
    def test_first_come_first_served(self):
        redis = start_module(self)
        first, second = self.connect(redis), self.connect(redis)
        limit = "1/s"
        began = time.monotonic()
        self.assertEqual(first.call("RL.WAIT", "k", limit, "TIMEOUT", 60_000)[:2], [1, 0])
        first.send(encode("RL.WAIT", "k", limit, "TIMEOUT", 60_000, "WITHLIMITS"))
        # Its token is charged: from then on later clients wait behind it.
        self.await_equal(lambda: self.probe(redis).call("PTTL", "k") > 1001, True)
        self.assertEqual(second.call("RL.WAIT", "k", limit, "TIMEOUT", 60_000)[0], 1)
        self.assertGreaterEqual(time.monotonic() - began, 2)
        reply = first.reply()
        self.assertEqual((reply[0], reply[5][0][:3]), (1, [limit.encode(), 1, 1]))

    def probe(self, redis):
        if not hasattr(self, "_probe"):
            self._probe = self.connect(redis)
        return self._probe

    def test_a_client_that_leaves_gives_back(self):
        primary = start_module(self, options=DEBUG)
        replica = self.connect(start_module(
            self, options=[*DEBUG, "--replicaof", "127.0.0.1", str(primary.port)]))
        client, other = self.connect(primary), self.probe(primary)
        self.await_equal(lambda: replica.call("ROLE")[3], b"connected")
        limit = "6/m,burst=1"
        client.call("RL.ALLOW", "k", limit)
        alone = other.call("PTTL", "k")
        wait = encode("RL.WAIT", "k", limit, "AND", "l", "2/365d", "TIMEOUT", 30_000)

        client.send(wait)
        self.await_equal(lambda: self.info(other)["blocked_clients"], 1)
        self.assertGreater(other.call("PTTL", "k"), alone)
        self.assertEqual(other.call("EXISTS", "l"), 1)
        client.close()
        self.await_equal(lambda: self.info(other)["blocked_clients"], 0)
        self.await_equal(lambda: other.call("PTTL", "k") <= alone, True)
        self.assertEqual(other.call("EXISTS", "l"), 0)

        client = self.connect(primary)
        identity = client.call("CLIENT", "ID")
        client.send(wait)
        self.await_equal(lambda: self.info(other)["blocked_clients"], 1)
        # A key with a value of another type has nothing to get back.
        self.assertEqual(other.call("SET", "l", "x"), "OK")
        self.assertEqual(other.call("CLIENT", "UNBLOCK", identity), 1)
        reply = client.reply()
        self.assertEqual(reply[:2], [0, 0])
        self.assertLessEqual(reply[2], alone)
        self.await_equal(lambda: other.call("PTTL", "k") <= alone, True)
        self.assertEqual(other.call("GET", "l"), b"x")
        self.assert_replicated(other, replica)


class LeavingTest(ModuleTest):
    def test_clients_that_leave_together_give_back_all(self):
        server = start_module(self)
        other = self.connect(server)
        limit = "1/10s,burst=1"
        other.call("RL.ALLOW", "k", limit)
        alone = other.call("PTTL", "k")
        clients = [self.connect(server) for _ in range(5)]
        for i, client in enumerate(clients):
            client.send(encode("RL.WAIT", "k", limit, "TIMEOUT", 60_000))
            self.await_equal(lambda: self.info(other)["blocked_clients"], i + 1)
        self.assertGreater(other.call("PTTL", "k"), 50_000)
        self.assertEqual(other.call("CLIENT", "KILL", "TYPE", "normal"), 5)
        self.await_equal(lambda: self.info(other)["blocked_clients"], 0)
        self.assertLessEqual(other.call("PTTL", "k"), alone)


class PausedTest(ModuleTest):
    """The module sends nothing to replicas that are catching up: a server that does aborts."""

    def test_a_client_that_leaves_during_a_pause_gives_back_later(self):
        primary = start_module(self, options=[*DEBUG, "--appendonly", "yes"])
        client, other = self.connect(primary), self.connect(primary)
        limit = "1/m,burst=1"
        client.call("RL.ALLOW", "k", limit)
        alone = other.call("PTTL", "k")
        identity = client.call("CLIENT", "ID")
        for leave in (client.close, lambda: other.call("CLIENT", "UNBLOCK", identity)):
            client.send(encode("RL.WAIT", "k", limit, "TIMEOUT", 60_000))
            self.await_equal(lambda: self.info(other)["blocked_clients"], 1)
            self.assertEqual(other.call("CLIENT", "PAUSE", 300, "WRITE"), "OK")
            leave()
            self.await_equal(lambda: self.info(other)["blocked_clients"], 0)
            self.await_equal(lambda: other.call("PTTL", "k") <= alone, True)
            client = self.connect(primary)
            identity = client.call("CLIENT", "ID")

    def test_a_primary_that_becomes_a_replica_leaves_the_buckets_alone(self):
        primary = start_module(self, options=DEBUG)
        replica = start_module(self, options=[*DEBUG, "--replicaof", "127.0.0.1",
                                              str(primary.port)])
        client, other = self.connect(primary), self.connect(primary)
        new = self.connect(replica)
        self.await_equal(lambda: new.call("ROLE")[3], b"connected")
        limit = "1/m,burst=1"
        client.call("RL.ALLOW", "k", limit)
        client.send(encode("RL.WAIT", "k", limit, "TIMEOUT", 60_000))
        self.await_equal(lambda: self.info(other)["blocked_clients"], 1)
        self.assertEqual(other.call("FAILOVER"), "OK")
        self.assertRegex(client.reply(), "^UNBLOCKED ")
        self.await_equal(lambda: new.call("ROLE")[0], b"master")
        self.await_equal(lambda: other.call("ROLE")[0:4:3], [b"slave", b"connected"])
        self.assert_replicated(new, other)
        self.assertGreater(new.call("PTTL", "k"), 60_000)


class LimitsOfAKeyTest(ModuleTest):
    def test_a_key_has_a_bounded_number(self):
        client = self.connect(start_module(self))
        for i in range(1023):
            self.assertEqual(client.call("RL.ALLOW", "k", f"{i + 1}/365d")[0], 1)
        self.assertEqual(client.call("RL.ALLOW", "k", "1/ms")[0], 1)
        # Full buckets make room, at the latest when it is needed.
        time_is_over = time.monotonic() + DEADLINE
        while client.call("RL.PEEK", "k", "1/ms")[0] == 0:
            self.assertLess(time.monotonic(), time_is_over)
        self.assertEqual(client.call("RL.ALLOW", "k", "2000/365d")[0], 1)
        refused = "ERR too many limits on one key: at most 1024"
        self.assertEqual(client.call("RL.ALLOW", "k", "2001/365d"), refused)
        self.assertEqual(client.call("RL.ALLOW", "k", "1/365d", "2001/365d")[0], 0)
        self.assertEqual(client.call("RL.PEEK", "k", "2000/365d")[1], 1998)
        self.assertEqual(len(client.call("RL.INSPECT", "k")), 1024)


def crc64(data):
    """The checksum at the end of a DUMP (CRC-64-Jones), so that damaged values pass it."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
    return crc.to_bytes(8, "little")


if __name__ == "__main__":
    main()
