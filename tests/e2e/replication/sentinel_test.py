"""Failovers by the Sentinels of Debian over weir servers with --sentinel.

Goal: a planned failover forgets nothing (law R9), and a primary that was killed, frozen or handed
over admits nothing once Sentinel has another one: it waits at its start, is deposed by Sentinel's
messages, and follows. Method: real Sentinels and processes; clients that take single tokens of keys
that never refill, whose histories are judged afterwards. What the messages mean is simulated in
tests/replication/sentinel_watch_test.cc.
"""

import os
import random
import re
import sys
import time
import unittest
import zlib

import redis.sentinel

from cutting_proxy import CuttingProxy
from failover_test import DRAINED, KEYS, TOKENS, WORDS, YIELD, Taker
from replication_checker import History
from replication_servers import (
    ReplicationTest,
    ask_all,
    await_true,
    call_on,
    fields,
    is_exact,
)
from restless_client import World
from sentinels import DOWN_AFTER_MS, GROUP, PAGE, await_named, start_sentinels
from weir_e2e import Client, Error, Server, free_port

WATCHED = ("--sentinel", GROUP)
AT_ONCE = (*WATCHED, "--sentinel-wait", "1ms")
HELLO = "__sentinel__:hello"
RUN_ID = "a" * 40
# The beginning of a TAKEOVER: its length, its kind, no flags.
TAKEOVER = bytes.fromhex("00000020 22 00 0000")


class Visitor:
    """A client that connects for each command: a failover closes the clients of a server."""

    def __init__(self, server):
        self._server = server

    def call(self, *words):
        try:
            return call_on(self._server, *words)
        except (EOFError, OSError):
            return Error("GONE the server has closed the connection")

    def role(self):
        reply = self.call("ROLE")
        return reply[0].decode() if isinstance(reply, list) else ""

    def follows(self, server):
        reply = self.call("ROLE")
        return isinstance(reply, list) and reply[0] == b"slave" and reply[2] == server.port


def hello(port, epoch, group=GROUP):
    return f"127.0.0.1,26379,{RUN_ID},{epoch},{group},127.0.0.1,{port},{epoch}"


def age_takeovers(data):
    """The bytes of a replica, but a request to take over is a minute older."""
    begin = data.find(TAKEOVER)
    if begin < 0:
        return data
    newest = int.from_bytes(data[begin + 24 : begin + 32], "big") - 60 * 10**9
    aged = data[begin : begin + 24] + newest.to_bytes(8, "big")
    return data[:begin] + aged + zlib.crc32(aged).to_bytes(4, "big") + data[begin + 36 :]


class SentinelTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_SENTINEL_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_SENTINEL_SEED={self.seed} {self.id()}", file=sys.stderr, flush=True)

    def start_behind_proxy(self):
        """(primary, proxy, replica): their link goes through the proxy, which makes no trouble."""
        primary = self.start(*AT_ONCE)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        proxy = CuttingProxy(primary.port, self.seed)
        self.addCleanup(proxy.close)
        proxy.calm()
        return primary, proxy, self.start_replica(proxy.port, *AT_ONCE)

    def promote_as_sentinel(self, replica):
        with Client(replica.port) as sentinel:
            sentinel.call("CLIENT", "SETNAME", "sentinel-aaaaaaaa-cmd")
            sentinel.call("REPLICAOF", "NO", "ONE")

    def start_watched(self, *options, mortal=False):
        """(primary, replica, Sentinels), with all that they know of each other."""
        start = self.start_mortal if mortal else self.start
        primary = start(*AT_ONCE, *options)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        directory = ["--data-dir", os.path.join(self.directory, "replica")] if mortal else []
        replica = self.start_replica(primary, *AT_ONCE, *directory)
        return primary, replica, start_sentinels(self, primary.port)

    def fail_over(self, sentinel):
        """Asks for a failover until Sentinel has heard from the replica lately."""
        await_true(lambda: sentinel.call("SENTINEL", "FAILOVER", GROUP) == "OK", "a failover")

    def await_exact(self, replica):
        with Client(replica.port) as client:
            await_true(lambda: is_exact(client), replica.log)

    def start_takers(self, world, ports):
        history = History()
        takers = [
            Taker(world, ports, history.client(), self.random.randrange(1 << 32)) for _ in range(2)
        ]
        return history, takers

    def end_takers(self, world, takers):
        world.ended.set()
        for taker in takers:
            taker.leave()
            taker.join()
        self.assertEqual(world.errors, [])
        for taker in takers:
            self.assertLessEqual(taker.errors, {"READONLY"})

    def test_a_planned_failover_forgets_nothing(self):
        first, second, sentinels = self.start_watched()
        addresses = [("127.0.0.1", sentinel.port) for sentinel in sentinels]
        library = redis.sentinel.Sentinel(addresses).master_for(GROUP)
        world = World(first.port)
        history, takers = self.start_takers(world, (first.port, second.port))
        try:
            for new, old in ((second, first), (first, second)):
                begin = time.monotonic()
                self.fail_over(sentinels[0])
                await_named(sentinels, new.port)
                told = time.monotonic() - begin
                await_true(lambda n=new, o=old: Visitor(o).follows(n), old.log)
                self.assertEqual(library.execute_command("RL.ALLOW", "library", WORDS)[0], 1)
                print(f"clients told after {told:.1f} s", file=sys.stderr)
        finally:
            self.end_takers(world, takers)
        with Client(first.port) as client:
            rests = ask_all(client, [("RL.PEEK", key, WORDS, "COST", 0) for key in KEYS])
        admitted = history.admitted()
        for key, (_, left, *_) in zip(KEYS, rests):
            # Replies that were on their way when Sentinel closed a client are not among these.
            self.assertLessEqual(admitted[key], TOKENS - left, key)
        self.assertEqual(history.excesses(DRAINED), {})

    def test_sentinel_has_a_user_of_its_own(self):
        (sentinel_user,) = re.findall("^user sentinel .*$", PAGE.read_text("utf-8"), re.M)
        users = self.write(
            "users",
            "user default on nopass ~* &* +@all\n"
            f"{sentinel_user}\n"
            "user link on >link -@all +rl.sync\n",
        )
        options = (*AT_ONCE, "--users-file", users, "--primary-user", "link",
                   "--primary-password", "link")  # fmt: skip
        primary = self.start(*options)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        replica = self.start_replica(primary, *options)
        sentinels = start_sentinels(self, primary.port, count=1, password=True)
        self.fail_over(sentinels[0])
        await_named(sentinels, replica.port)
        await_true(lambda: Visitor(primary).follows(replica), primary.log)
        self.assertEqual(Visitor(replica).call("ACL", "LOG"), [])

    def test_a_killed_primary_waits_at_its_start_and_follows(self):
        data = os.path.join(self.directory, "primary")
        primary, replica, sentinels = self.start_watched("--data-dir", data, mortal=True)
        port = primary.port
        self.assertEqual(Visitor(primary).call("RL.ALLOW", "k", WORDS)[0], 1)
        await_true(
            lambda: fields(Visitor(primary), "persistence")["rdb_changes_since_last_save"] == "0",
            "a save",
        )
        primary.kill()
        again = Server(
            self.directory,
            ["--port", str(port), *WATCHED, "--data-dir", data, "--log-level", "info"],
        )
        self.addCleanup(again.kill)
        old = Visitor(again)
        replies = set()

        def follows():
            reply = old.call("RL.ALLOW", "k", WORDS)
            replies.add(str(reply).split()[0] if isinstance(reply, Error) else "admitted")
            replies.add("PING " + str(old.call("PING")).split()[0])
            return old.follows(replica)

        await_true(lambda: Visitor(replica).role() == "master", replica.log)
        await_true(follows, again.log)
        await_named(sentinels, replica.port)
        self.assertNotIn("admitted", replies)
        self.assertIn("PING RESTARTED", replies)
        self.assertLessEqual(
            replies,
            {"LOADING", "READONLY", "GONE", "PING RESTARTED", "PING PONG", "PING GONE"},
        )
        self.assertEqual(Visitor(replica).call("RL.ALLOW", "k", WORDS)[0], 1)

    # Goal: Sentinel cannot confirm a primary that has crashed, however often it starts, and can
    # confirm one that was stopped, whose state is the newest.
    def test_a_server_remembers_its_crash_until_it_serves_again(self):
        path = os.path.join(self.directory, "primary")
        data = ("--data-dir", path, "--snapshot-interval", "20ms")
        primary = self.start_mortal(*AT_ONCE, *data)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        self.start_replica(primary, *AT_ONCE)
        primary.wait_for_log("has the whole state")
        self.assertEqual(Visitor(primary).call("SAVE"), "OK")

        def restart(*options):
            server = self.start_mortal(*data, *options)
            server.wait_for_log("waits for Sentinel|serves as a primary")
            return server

        primary.kill()
        for end, saves in (("kill", "1"), ("stop", "0")):
            primary = restart(*WATCHED, "--sentinel-wait", "1h")
            self.assertIn("RESTARTED", Visitor(primary).call("PING"))
            # Its record on disk changes once: it has no history any more.
            await_true(
                lambda p=primary, n=saves: fields(Visitor(p), "persistence")["rdb_saves"] == n,
                primary.log,
            )
            getattr(primary, end)()
        primary = restart(*AT_ONCE)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        self.assertEqual(primary.stop(), 0)
        primary = restart(*WATCHED, "--sentinel-wait", "1h")
        self.assertIn("LOADING", Visitor(primary).call("PING"))

    def test_a_frozen_primary_is_deposed_when_it_goes_on(self):
        primary, replica, sentinels = self.start_watched()
        primary.pause()
        await_true(lambda: Visitor(replica).call("RL.ALLOW", "k", WORDS)[0] == 1, replica.log)
        await_named(sentinels, replica.port)
        primary.resume()
        begin = time.monotonic()
        await_true(lambda: Visitor(primary).follows(replica), primary.log)
        print(f"deposed after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertIn("READONLY", Visitor(primary).call("RL.ALLOW", "k", WORDS))

    def test_sentinel_learns_of_a_switch_that_it_has_not_made(self):
        primary, replica, sentinels = self.start_watched()
        old = self.connect(primary)
        self.assertEqual(old.call("FAILOVER"), "OK")
        await_true(lambda: Visitor(primary).follows(replica), primary.log)
        await_true(lambda: "HANDEDOVER" in Visitor(primary).call("PING"), primary.log)
        self.assertTrue(old.call("RL.ALLOW", "k", WORDS).startswith("READONLY "))
        told = await_named(sentinels, replica.port)
        print(f"clients told after {told:.1f} s", file=sys.stderr)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        with self.assertRaises((EOFError, ConnectionError)):
            old.call("PING")
        self.assertTrue(Visitor(primary).follows(replica))
        self.assertEqual(Visitor(replica).role(), "master")

    # Sentinel may choose another replica than the one that FAILOVER has made the primary. Then this
    # one yields to that.
    def test_of_two_replicas_either_may_be_sentinels_choice(self):
        primary = self.start(*AT_ONCE)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        replicas = [self.start_replica(primary, *AT_ONCE) for _ in range(2)]
        heir, other = replicas
        sentinels = start_sentinels(self, primary.port, replicas=2)
        servers = [primary, *replicas]
        world = World(primary.port)
        history, takers = self.start_takers(world, [server.port for server in servers])
        try:
            self.assertEqual(Visitor(primary).call("FAILOVER", "TO", "127.0.0.1", heir.port), "OK")
            await_true(lambda: Visitor(primary).follows(heir), primary.log)
            await_true(lambda: Visitor(other).follows(heir), other.log)
            named = await_named(sentinels, (heir.port, other.port))
            print(f"clients told after {named:.1f} s", file=sys.stderr)
            await_true(
                lambda: sum(Visitor(server).role() == "master" for server in servers) == 1
                and Visitor(primary).call("PING") == "PONG",
                primary.log,
            )
        finally:
            self.end_takers(world, takers)
        (last,) = (server for server in servers if Visitor(server).role() == "master")
        with Client(last.port) as client:
            rests = ask_all(client, [("RL.PEEK", key, WORDS, "COST", 0) for key in KEYS])
        admitted = history.admitted()
        for key, (_, left, *_) in zip(KEYS, rests):
            self.assertLessEqual(admitted[key], TOKENS - left, key)

    # Goal: a link that is cut in a takeover makes no second primary. Method: a proxy cuts it just
    # before the primary's last frame.
    def test_a_takeover_whose_last_frame_is_lost_ends_with_one_primary(self):
        primary, proxy, replica = self.start_behind_proxy()
        proxy.cut_before = YIELD
        self.promote_as_sentinel(replica)
        await_true(lambda: proxy.cuts == 1, "the end of the link")

        def is_over():
            self.assertEqual(Visitor(primary).role(), "slave")
            return Visitor(replica).role() == "master" and Visitor(primary).follows(replica)

        await_true(is_over, replica.log)
        self.await_exact(primary)
        replica.wait_for_log("the primary has not yielded")

    # Goal: a primary that does not yield says so, and its replica does not become a second primary.
    # Method: a proxy makes the request look older than it may be.
    def test_a_replica_whose_request_to_take_over_is_refused_stays_one(self):
        primary, proxy, replica = self.start_behind_proxy()
        proxy.rewrite = age_takeovers
        self.promote_as_sentinel(replica)
        primary.wait_for_log("asks to become the primary: it has asked too long ago")
        replica.wait_for_log("refuses: its primary is alive, and does not yield to it")
        self.assertEqual(Visitor(primary).role(), "master")
        self.assertTrue(is_exact(Visitor(replica)))
        proxy.rewrite = None
        self.promote_as_sentinel(replica)
        await_true(lambda: Visitor(primary).role() == "slave", primary.log)
        await_true(lambda: Visitor(replica).role() == "master", replica.log)

    def test_a_starting_server_waits_for_sentinel(self):
        server = self.start(*WATCHED, "--sentinel-wait", "1h")
        visitor = Visitor(server)
        # It may be a primary that has lost its state, and a replica may have that.
        self.assertIn("RESTARTED", visitor.call("PING"))
        for words in (("RL.ALLOW", "k", WORDS), ("RL.PEEK", "k", WORDS), ("DBSIZE",)):
            self.assertIn("LOADING", visitor.call(*words), words)
        self.assertEqual(fields(visitor, "persistence")["loading"], "1")

    def test_a_starting_server_with_a_state_waits_for_sentinel(self):
        data = ("--data-dir", os.path.join(self.directory, "state"))
        server = self.start(*data)
        server.wait_for_log("loaded")
        self.assertEqual(Visitor(server).call("RL.ALLOW", "k", "1/d")[0], 1)
        self.assertEqual(server.stop(), 0)
        server = self.start(*data, *WATCHED, "--sentinel-wait", "1h")
        server.wait_for_log("loaded")
        visitor = Visitor(server)
        self.assertIn("LOADING", visitor.call("PING"))
        start_sentinels(self, server.port, replicas=0)
        await_true(lambda: visitor.call("PING") == "PONG", server.log)
        self.assertEqual(visitor.call("RL.ALLOW", "k", WORDS)[0], 1)

    def test_a_server_that_starts_without_a_state_is_not_promoted(self):
        server = self.start(*WATCHED, "--sentinel-wait", "1h")
        shown = fields(Visitor(server))
        self.assertEqual((shown["role"], shown["slave_priority"]), ("slave", "0"))
        with Client(server.port) as sentinel:
            self.assertEqual(sentinel.call("CLIENT", "SETNAME", "sentinel-0-cmd"), "OK")
            self.assertEqual(sentinel.call("SLAVEOF", "NO", "ONE"), "OK")
        server.wait_for_log("it does not have the whole state")
        self.assertIn("RESTARTED", Visitor(server).call("PING"))
        with Client(server.port) as operator:
            self.assertEqual(operator.call("REPLICAOF", "NO", "ONE"), "OK")
        await_true(lambda: Visitor(server).call("PING") == "PONG", server.log)
        self.assertEqual(Visitor(server).role(), "master")

    def test_a_replica_that_has_lost_its_state_does_not_empty_the_group(self):
        data = os.path.join(self.directory, "data")
        primary, replica, sentinels = self.start_watched(
            "--data-dir", data, "--durability", "always", mortal=True
        )
        self.assertEqual(Visitor(primary).call("RL.ALLOW", "k", WORDS, "COST", TOKENS)[0], 1)
        ports = [str(server.port) for server in (primary, replica)]
        replica.stop()
        primary.kill()
        empty = self.start(*WATCHED, "--sentinel-wait", "1h", "--port", ports[1])
        await_true(
            lambda: any("-failover-abort" in sentinel.text() for sentinel in sentinels),
            lambda: [sentinel.text() for sentinel in sentinels],
        )
        again = self.start(*AT_ONCE, "--port", ports[0], "--data-dir", data)
        await_true(lambda: Visitor(empty).follows(again), empty.log)
        await_true(lambda: Visitor(again).call("PING") == "PONG", again.log)
        self.assertEqual(Visitor(again).call("RL.ALLOW", "k", WORDS)[0], 0)
        self.assertNotIn("serves as a primary", empty.log())

    # Otherwise it could not take its role back from a dead server that an old hello names.
    def test_a_lone_primary_starts_with_its_state(self):
        data = ("--data-dir", os.path.join(self.directory, "lone"))
        first = self.start(*data)
        first.wait_for_log("loaded")
        self.assertEqual(Visitor(first).call("RL.ALLOW", "k", WORDS)[0], 1)
        self.assertEqual(first.stop(), 0)
        server = self.start(*data, *WATCHED, "--sentinel-wait", "1h")
        visitor = Visitor(server)
        server.wait_for_log("waits for Sentinel")
        self.assertEqual(visitor.call("PUBLISH", HELLO, hello(free_port(), 3)), 0)
        await_true(lambda: visitor.role() == "slave", server.log)
        self.assertEqual(fields(visitor)["complete"], "1")

    def test_a_starting_server_follows_the_primary_that_sentinel_names(self):
        primary = self.start()
        server = self.start(*WATCHED, "--sentinel-wait", "1h")
        visitor = Visitor(server)
        visitor.call("PUBLISH", HELLO, hello(primary.port, 3))
        await_true(lambda: visitor.follows(primary), server.log)
        self.await_exact(server)

    def test_messages_that_say_nothing_change_nothing(self):
        users = self.write(
            "users",
            "user default on nopass ~* &* +@all\n"
            "user app on >secret ~* &* +publish +ping\n",
        )
        other = self.start()
        server = self.start(*AT_ONCE, "--users-file", users)
        client = self.connect(server)
        await_true(lambda: client.call("PING") == "PONG", server.log)
        bad = (
            "", "hello", "x" * 2000, hello(other.port, 7, group="another"), hello(0, 7),
            hello(other.port, -1), hello(other.port, 7) + ",x",
            hello(other.port, 7).replace("127.0.0.1,%d" % other.port, ",%d" % other.port),
            hello(other.port, 7).replace(f"1,{other.port}", f"1{'0' * 300},{other.port}"),
        )  # fmt: skip
        for message in bad:
            client.call("PUBLISH", HELLO, message)
        with Client(server.port) as stranger:
            self.assertEqual(stranger.call("AUTH", "app", "secret"), "OK")
            stranger.call("PUBLISH", HELLO, hello(other.port, 7))
        server.wait_for_log("is none of Sentinel's")
        # Carried out in their order: when the last has confirmed this server, none has deposed it.
        client.call("PUBLISH", HELLO, hello(server.port, 5))
        client.call("PUBLISH", HELLO, hello(other.port, 5))
        client.call("PUBLISH", HELLO, hello(other.port, 4))
        self.assertEqual(client.call("RL.ALLOW", "k", WORDS)[0], 1)
        client.call("PUBLISH", HELLO, hello(other.port, 6))
        await_true(lambda: Visitor(server).role() == "slave", server.log)
        server.wait_for_log("as the primary since epoch 6")
        self.assertNotRegex(server.log(), "since epoch [^6]")

    # Sentinel has promoted a replica that died before it could say so.
    def test_a_primary_that_has_yielded_to_a_dead_server_is_one_again(self):
        primary = self.start(*AT_ONCE)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        replica = self.start_replica(primary, *AT_ONCE, mortal=True)
        with Client(replica.port) as sentinel:
            sentinel.call("CLIENT", "SETNAME", "sentinel-aaaaaaaa-cmd")
            sentinel.call("REPLICAOF", "NO", "ONE")
        await_true(lambda: Visitor(primary).role() == "slave", primary.log)
        replica.kill()

        def is_primary():
            Visitor(primary).call("PUBLISH", HELLO, hello(primary.port, 3))
            return Visitor(primary).role() == "master"

        await_true(is_primary, primary.log)
        self.assertEqual(Visitor(primary).call("RL.ALLOW", "k", WORDS)[0], 1)

    def test_two_servers_that_are_told_to_follow_each_other_admit_nothing(self):
        one, two = self.start(*AT_ONCE), self.start(*AT_ONCE)
        self.assertEqual(Visitor(one).call("REPLICAOF", "127.0.0.1", two.port), "OK")
        self.assertEqual(Visitor(two).call("REPLICAOF", "127.0.0.1", one.port), "OK")
        one.wait_for_log("NOMASTERLINK")
        two.wait_for_log("NOMASTERLINK")
        for server in (one, two):
            self.assertIsInstance(Visitor(server).call("RL.ALLOW", "k", WORDS), Error)
        self.assertEqual(Visitor(one).call("REPLICAOF", "NO", "ONE"), "OK")
        await_true(lambda: Visitor(two).follows(one), two.log)
        self.await_exact(two)


if __name__ == "__main__":
    assert DOWN_AFTER_MS >= 1000
    unittest.main()
