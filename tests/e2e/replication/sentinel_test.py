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
from failover_test import DRAINED, KEYS, TOKENS, WORDS, Taker
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
from weir_e2e import Client, Error, Server

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

    def start_watched(self, *options, mortal=False, password=False):
        """(primary, replica, Sentinels), with all that they know of each other."""
        start = self.start_mortal if mortal else self.start
        primary = start(*AT_ONCE, *options)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        of_replica = ("--data-dir", os.path.join(self.directory, "replica")) if mortal else ()
        replica = self.start_replica(primary, *AT_ONCE, *options, *of_replica)
        return primary, replica, start_sentinels(self, primary.port, password=password)

    def fail_over(self, sentinel):
        """Asks for a failover until Sentinel has heard from the replica lately."""
        await_true(lambda: sentinel.call("SENTINEL", "FAILOVER", GROUP) == "OK", "a failover")

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

    def assert_nothing_forgotten(self, history, server):
        with Client(server.port) as client:
            rests = ask_all(client, [("RL.PEEK", key, WORDS, "COST", 0) for key in KEYS])
        admitted = history.admitted()
        for key, (_, left, *_) in zip(KEYS, rests):
            # Replies that were on their way when Sentinel closed a client are not among these.
            self.assertLessEqual(admitted[key], TOKENS - left, key)

    # Sentinel has a user of its own, that of the page.
    def test_a_planned_failover_forgets_nothing(self):
        (sentinel_user,) = re.findall("^user sentinel .*$", PAGE.read_text("utf-8"), re.M)
        users = self.write(
            "users",
            "user default on nopass ~* &* +@all\n"
            f"{sentinel_user}\n"
            "user link on >link -@all +rl.sync\n",
        )
        options = ("--users-file", users, "--primary-user", "link", "--primary-password", "link")
        first, second, sentinels = self.start_watched(*options, password=True)
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
        self.assert_nothing_forgotten(history, first)
        self.assertEqual(history.excesses(DRAINED), {})
        for server in (first, second):
            self.assertEqual(Visitor(server).call("ACL", "LOG"), [])

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

    # Sentinel may choose another replica than the one that FAILOVER has made the primary. Then this
    # one yields to that.
    def test_sentinel_learns_of_a_switch_that_it_has_not_made(self):
        primary = self.start(*AT_ONCE)
        await_true(lambda: Visitor(primary).call("PING") == "PONG", primary.log)
        replicas = [self.start_replica(primary, *AT_ONCE) for _ in range(2)]
        successor, other = replicas
        sentinels = start_sentinels(self, primary.port, replicas=2)
        servers = [primary, *replicas]
        old = self.connect(primary)
        world = World(primary.port)
        history, takers = self.start_takers(world, [server.port for server in servers])
        try:
            self.assertEqual(old.call("FAILOVER", "TO", "127.0.0.1", successor.port), "OK")
            await_true(lambda: Visitor(primary).follows(successor), primary.log)
            await_true(lambda: "HANDEDOVER" in Visitor(primary).call("PING"), primary.log)
            self.assertRegex(old.call("RL.ALLOW", "k", WORDS), "^READONLY ")
            await_true(lambda: Visitor(other).follows(successor), other.log)
            named = await_named(sentinels, (successor.port, other.port))
            print(f"clients told after {named:.1f} s", file=sys.stderr)
            await_true(
                lambda: sum(Visitor(server).role() == "master" for server in servers) == 1
                and Visitor(primary).call("PING") == "PONG",
                primary.log,
            )
        finally:
            self.end_takers(world, takers)
        # Its clients have to ask Sentinel.
        with self.assertRaises((EOFError, ConnectionError)):
            old.call("PING")
        self.assertEqual(Visitor(primary).role(), "slave")
        (last,) = (server for server in servers if Visitor(server).role() == "master")
        self.assert_nothing_forgotten(history, last)

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
        server.wait_for_log("that is not a Sentinel hello")
        # Carried out in their order: when the last has confirmed this server, none has deposed it.
        client.call("PUBLISH", HELLO, hello(server.port, 5))
        client.call("PUBLISH", HELLO, hello(other.port, 5))
        client.call("PUBLISH", HELLO, hello(other.port, 4))
        self.assertEqual(client.call("RL.ALLOW", "k", WORDS)[0], 1)
        client.call("PUBLISH", HELLO, hello(other.port, 6))
        await_true(lambda: Visitor(server).role() == "slave", server.log)
        server.wait_for_log("as the primary since epoch 6")
        self.assertNotRegex(server.log(), "since epoch [^6]")
        await_true(lambda: Visitor(server).follows(other), server.log)
        await_true(lambda: is_exact(Visitor(server)), server.log)


if __name__ == "__main__":
    assert DOWN_AFTER_MS >= 1000
    unittest.main()
