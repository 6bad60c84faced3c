"""Planned switches, and primaries that have heard of a later one.

Goal: law R9: a switch loses nothing. Method: clients take tokens of keys that never refill while
the servers change their roles again and again; then each key has given its burst, no token more
and none less. A switch is also made to fail at each of its steps: then the primary goes on.

A primary that meets a replica of a later term admits nothing, whatever it is told later by clients
that do not know: law R7.
"""

import os
import random
import sys
import threading
import time
import unittest

from cutting_proxy import CuttingProxy
from replication_checker import History, Limit, Request
from replication_servers import (
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    call_on,
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
# The beginning of a YIELD: its length, its kind, no flags.
YIELD = bytes.fromhex("00000020 13 00 0000")


def sync_words(term):
    """RL.SYNC of a server that has no history."""
    return (
        "RL.SYNC", 2, 2, "ID", 40 * "a", "ADDR", "-", 7379, "TERM", term, "KEY", 32 * "0",
    )  # fmt: skip


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
        self.await_decisions(client)
        await_in_sync(client, replica_client)
        return primary, client, replica, replica_client

    def await_roles(self, primary, replica):
        await_true(lambda: role_of(primary) == b"master", lambda: fields(primary))
        await_true(lambda: is_exact(replica), lambda: fields(replica))

    def await_decisions(self, client):
        """With a lease a primary decides once its replica has answered a heartbeat."""
        first = ("RL.ALLOW", "first", WORDS)
        await_true(lambda: isinstance(client.call(*first), list), lambda: fields(client))

    def await_no_switch(self, client):
        await_true(
            lambda: fields(client)["master_failover_state"] == "no-failover",
            lambda: fields(client),
        )

    def test_a_key_gives_its_burst_through_any_number_of_switches(self):
        self.switch_again_and_again()

    # Each server admits only what the other one has, so after a switch it waits for the other.
    def test_so_it_does_with_acknowledgements_and_leases(self):
        self.switch_again_and_again("--ack-replicas", "1", "--min-replicas-to-write", "1")

    def switch_again_and_again(self, *options):
        first, one, second, other = self.start_pair("--threads", "2", *options)
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
        self.assertLessEqual(set().union(*(t.errors for t in takers)), {"READONLY", "NOREPLICAS"})
        self.await_decisions(one)
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

    # Goal: the switch survives the ends of both servers.
    def test_the_roles_are_on_disk(self):
        first, second = free_port(), free_port()
        options = {
            port: ("--data-dir", f"{self.directory}/{port}", "--durability", "always")
            for port in (first, second)
        }
        servers = {first: self.launch("--port", str(first), *options[first])}
        of_first = ("--replicaof", f"127.0.0.1 {first}")
        servers[second] = self.launch("--port", str(second), *of_first, *options[second])
        clients = {port: self.connect(servers[port]) for port in servers}
        await_true(lambda: is_exact(clients[second]), servers[second].log)
        await_in_sync(clients[first], clients[second])
        self.assertEqual(clients[first].call("FAILOVER", "TO", "127.0.0.1", second), "OK")
        self.await_roles(clients[second], clients[first])
        self.assertEqual(clients[second].call("RL.ALLOW", "a", WORDS)[0], 1)
        # An admission that is on disk is there with the term that it was made in.
        servers[second].kill()
        self.assertEqual(servers[first].stop(), 0)
        servers[first] = self.launch("--port", str(first), *options[first])
        servers[second] = self.launch("--port", str(second), *of_first, *options[second])
        clients = {port: self.connect(servers[port]) for port in servers}
        self.await_roles(clients[second], clients[first])
        self.assertEqual(clients[first].call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 1)

    def test_a_replica_that_does_not_answer_is_not_waited_for(self):
        _, client, replica, _ = self.start_pair()
        replica.pause()
        try:
            # Its last confirmation covers all changes, but is older than the command.
            self.assertEqual(client.call("FAILOVER", "TIMEOUT", "50"), "OK")
            self.await_no_switch(client)
            self.assertEqual(role_of(client), b"master")
            self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)
            self.assertEqual(client.call("FAILOVER"), "OK")
            again = client.call("FAILOVER")
            self.assertEqual(str(again), "ERR FAILOVER already in progress.")
            self.assertEqual(client.call("FAILOVER", "ABORT"), "OK")
            self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)
        finally:
            replica.resume()

    # Goal: FORCE ends the wait, and still loses nothing. Method: the replica stands still; when it
    # goes on, it takes over, with all that it had not read.
    def test_force_makes_the_primary_yield_to_a_replica_that_lags(self):
        _, client, replica, replica_client = self.start_pair()
        port = str(replica.port)
        replica.pause()
        try:
            self.assertEqual(client.call("RL.ALLOW", "a", WORDS, "COST", 5)[0], 1)
            words = ("FAILOVER", "TO", "127.0.0.1", port, "FORCE", "TIMEOUT", "10")
            self.assertEqual(client.call(*words), "OK")
            await_true(lambda: role_of(client) == b"slave", lambda: fields(client))
            refused = client.call("RL.ALLOW", "a", WORDS)
            self.assertTrue(str(refused).startswith("READONLY "), refused)
        finally:
            replica.resume()
        self.await_roles(replica_client, client)
        self.assertEqual(replica_client.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 5)

    # Goal: a switch whose last frame is lost is undone, without a command. Method: a proxy cuts the
    # link just before that frame.
    def test_a_primary_goes_on_when_the_replica_has_not_taken_over(self):
        primary = self.start()
        client = self.connect(primary)
        proxy = CuttingProxy(primary.port, self.seed)
        self.addCleanup(proxy.close)
        proxy.calm()
        replica = self.connect(self.start_replica(proxy.port))
        await_in_sync(client, replica)
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS, "COST", 5)[0], 1)
        await_in_sync(client, replica)
        proxy.cut_before = YIELD
        self.assertEqual(client.call("FAILOVER"), "OK")
        await_true(lambda: proxy.cuts == 1, "the end of the link")
        self.await_roles(client, replica)
        self.assertIsNone(proxy.cut_before)
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[1], TOKENS - 6)
        await_in_sync(client, replica)
        self.assertEqual(replica.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 6)
        # The next switch is as any other.
        self.assertEqual(client.call("FAILOVER"), "OK")
        self.await_roles(replica, client)

    # Goal: a replica that stood still for long does not become a second primary, since the operator
    # may have given the role to another server by then.
    def test_an_old_yield_counts_for_nothing(self):
        _, client, replica, replica_client = self.start_pair("--repl-timeout", "60s")
        replica.pause()
        words = ("FAILOVER", "TO", "127.0.0.1", str(replica.port), "FORCE", "TIMEOUT", "10")
        self.assertEqual(client.call(*words), "OK")
        await_true(
            lambda: int(fields(client).get("master_link_down_since_seconds", 0)) > 2,
            lambda: fields(client),
        )
        replica.resume()
        replica.wait_for_log("it has yielded to this server too long ago")
        self.await_roles(client, replica_client)

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
        three = self.connect(self.start_replica(first))
        await_in_sync(one, two, three)
        for old, new, port in ((one, two, second.port), (two, one, first.port)):
            self.assertEqual(old.call("FAILOVER", "TO", "127.0.0.1", port), "OK")
            self.await_roles(new, old)
            await_true(lambda p=port: fields(three)["master_port"] == str(p), "a referral")
            await_in_sync(new, old, three)
            # They all go on: none got a copy.
            self.assertEqual(fields(new)["sync_partitions_sent"], "0")

    def test_a_referral_survives_a_restart(self):
        first, one, second, two = self.start_pair()
        own = ("--data-dir", f"{self.directory}/third")
        third = self.start_replica(first, *own, mortal=True)
        client = self.connect(third)
        await_in_sync(one, two, client)
        self.assertEqual(one.call("FAILOVER", "TO", "127.0.0.1", second.port), "OK")
        await_true(lambda: fields(client)["master_port"] == str(second.port), third.log)
        self.assertEqual(third.stop(), 0)
        third = self.start("--replicaof", f"127.0.0.1 {free_port()}", *own)
        client = self.connect(third)
        await_in_sync(two, client)
        self.assertEqual(fields(client)["master_port"], str(second.port))

    def test_a_stopped_primary_has_waited_for_its_replica(self):
        primary, client, _, replica = self.start_pair()
        keys = KEYS[: scaled(1000)]
        ask_all(client, [("RL.TAKE", key, WORDS, "UPTO", TOKENS) for key in keys])
        self.assertEqual(primary.stop(), 0)
        self.promote(replica)
        left = ask_all(replica, [("RL.PEEK", key, WORDS, "COST", 0) for key in keys])
        self.assertEqual([key for key, reply in zip(keys, left) if reply[1] != 0], [])


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
        client, replica = self.reborn()
        self.assertEqual(role_of(client), b"master")
        for words in (("RL.ALLOW", "a", WORDS), ("RL.RESET", "a"), ("PING",)):
            reply = client.call(*words)
            self.assertTrue(str(reply).startswith("READONLY "), (words, reply))
        self.assertEqual(client.call("RL.PEEK", "a", WORDS)[0], 1)
        self.assertEqual(client.call("DBSIZE"), 0)
        # The replica keeps what it has, and may become the primary.
        self.assertEqual(replica.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 1)
        self.promote(replica)
        self.assertEqual(replica.call("RL.ALLOW", "a", WORDS)[1], TOKENS - 2)

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

    def test_or_a_replica(self):
        client, replica = self.reborn()
        self.promote(replica)
        self.follow(client, self.replica)
        self.assertEqual(client.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS - 1)

    # Goal: a server of another deployment, with a later term, does not stop a primary.
    def test_a_stranger_deposes_no_primary(self):
        primary = self.start()
        client = self.connect(primary)
        self.start_replica(primary)
        self.assertEqual(fields(client)["term"], "1")
        refused = self.connect(primary).call(*sync_words(term=9))
        self.assertIn("this server is of another group", str(refused))
        self.assertEqual(fields(client)["deposed"], "0")
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)

    # Goal: the first replica of a primary is in no term that a crash makes the primary forget.
    def test_the_first_replica_joins_a_term_that_is_on_disk(self):
        for term in range(1, 4):
            primary = self.start_mortal("--data-dir", f"{self.directory}/primary")
            primary.wait_for_log("loaded")
            self.assertEqual(fields(self.connect(primary))["term"], str(term - 1))
            replies = []

            def joins(primary=primary, replies=replies):
                replies.append(call_on(primary, *sync_words(term - 1)))
                return isinstance(replies[-1], list)

            await_true(joins, primary.log)
            primary.kill()
            for refused in replies[:-1]:
                self.assertRegex(refused, "^LOADING ")

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

    # Goal: two primaries of one term do not both go on once one hears of the other's history.
    def test_of_two_primaries_of_one_term_the_lesser_id_stops(self):
        primary = self.start()
        ends = [self.start_replica(primary) for _ in range(2)]
        for server in ends:
            self.promote(self.connect(server))
        by_server = {server: fields(self.connect(server)) for server in ends}
        self.assertEqual({shown["term"] for shown in by_server.values()}, {"2"})
        lesser, greater = sorted(ends, key=lambda server: by_server[server]["master_replid"])
        proxy = CuttingProxy(greater.port, seed=1)
        self.addCleanup(proxy.close)
        proxy.calm()
        third = self.connect(self.start_replica(proxy.port))
        proxy.target = lesser.port
        self.assertEqual(third.call("CLIENT", "KILL", "TYPE", "master"), 1)
        client = self.connect(lesser)
        await_true(lambda: fields(client)["deposed"] == "1", lesser.log)
        self.assertTrue(client.call("RL.ALLOW", "a", WORDS).startswith("READONLY "))
        # Nor does the replica of the greater one follow the lesser.
        self.assertEqual(fields(third)["master_link_status"], "down")

    # Goal: a server that was told to follow a primary of an earlier term does so after a restart,
    # and does not depose it.
    def test_a_server_that_was_told_to_follow_keeps_that_in_mind(self):
        port = free_port()
        own = {
            name: ("--data-dir", f"{self.directory}/{name}", "--durability", "always")
            for name in ("first", "second")
        }
        first = self.launch("--port", str(port), *own["first"])
        first.wait_for_log("loaded")
        second = self.start_replica(port, *own["second"], mortal=True)
        self.assertEqual(first.stop(), 0)
        client = self.connect(second)
        self.promote(client)
        self.assertEqual(client.call("RL.ALLOW", "a", WORDS)[0], 1)
        self.assertEqual(client.call("REPLICAOF", "127.0.0.1", port), "OK")
        await_true(lambda: role_of(client) == b"slave", second.log)
        self.assertEqual(second.stop(), 0)
        second = self.connect(self.launch("--port", "0", *own["second"]))
        first = self.connect(self.launch("--port", str(port), *own["first"]))
        await_true(lambda: is_exact(second), lambda: (fields(second), fields(first)))
        self.assertEqual(fields(first)["deposed"], "0")
        self.assertEqual(first.call("RL.PEEK", "a", WORDS, "COST", 0)[1], TOKENS)

    def test_a_restart_does_not_make_it_forget(self):
        options = ("--data-dir", f"{self.directory}/data", "--durability", "always")
        client, replica = self.reborn(*options)
        self.assertEqual(client.call("SAVE"), "OK")
        self.server.kill()
        self.promote(replica)
        server = self.launch("--port", "0", *options)
        client = self.connect(server)
        await_true(lambda: fields(client, "persistence")["loading"] == "0", server.log)
        self.assertEqual(fields(client)["deposed"], "1")
        self.assertTrue(str(client.call("RL.ALLOW", "a", WORDS)).startswith("READONLY "))


if __name__ == "__main__":
    unittest.main()
