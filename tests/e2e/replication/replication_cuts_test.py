"""Replicas whose links are cut, stalled and delayed, and servers that are killed, under load.

Goal: law R3: whatever happens to links and processes, once all is quiet both tables are equal, as
law R1 says. Method: clients change buckets, holds and policies at random while a proxy cuts the
links at random bytes, and replicas are stopped, killed and started, and the primary is killed. Then
every key is looked at on both servers, under every limit that was used.

Environment, besides weir_e2e's: WEIR_CUTS_SEED.
"""

import os
import random
import sys
import unittest

from cutting_proxy import CuttingProxy
from replication_servers import ReplicationTest, await_in_sync, await_true, fields, is_exact
from restless_client import RestlessClient, World
from weir_e2e import NEVER, encode, free_port, scaled

CLIENTS = 3
KEYS = [f"key:{i}" for i in range(80)]
LASTING = [
    f"1000/{NEVER}",
    f"900/{NEVER},fixed",
    "800/300d,sliding",
    f"5/{NEVER},ban=9d",
    "700/year",
    "@a",
    "@b",
]
HELD = "9,held"
SHORT = ["50/s", "9/200ms,fixed", "100/2s,sliding"]  # refill while servers are compared
POLICIES = [f"600/{NEVER}", f"500/{NEVER},fixed"]
EVENTS = 16
PAUSE_SECONDS_MAX = 0.4


class Load(RestlessClient):
    """A client that changes something at random until the end, on the port of the primary."""

    def __init__(self, world, seed):
        self.asked = 0
        self._random = random.Random(seed)
        self._holds = 0
        self._name = f"{seed:x}"
        super().__init__(world)

    def ask(self, client):
        requests = [self._request() for _ in range(self._random.randint(1, 40))]
        client.send(b"".join(encode(*words) for words in requests))
        for _ in requests:
            client.reply()
        self.asked += len(requests)

    def _request(self):
        key = self._random.choice(KEYS)
        limit = self._random.choice(LASTING + SHORT)
        cost = self._random.randint(1, 9)
        hold = f"{self._name}:{self._random.randint(0, 30)}"
        chance = self._random.random()
        if chance < 0.6:
            other = self._random.choice(KEYS)
            return "RL.ALLOW", key, limit, "AND", other, LASTING[0], "COST", cost
        if chance < 0.66:
            return "RL.CHARGE", key, limit, "COST", 100 * cost
        if chance < 0.74:
            return "RL.REFUND", key, limit, "COST", cost
        if chance < 0.82:
            return "RL.RESERVE", key, LASTING[0], HELD, "HOLD", hold, "TTL", 3_600_000
        if chance < 0.86:
            return "RL.COMMIT", key, f"{LASTING[0]},cost={cost}", "HOLD", hold
        if chance < 0.90:
            return "RL.CANCEL", key, "HOLD", hold
        if chance < 0.93:
            return "CL.THROTTLE", key, 99, 1, 86_400, cost
        if chance < 0.96:
            return "RL.RESET", key
        return self._rare_request(key)

    def _rare_request(self, key):
        name = self._random.choice("ab")
        chance = self._random.random()
        if chance < 0.5:
            return "RL.POLICY", "OVERRIDE", name, key, f"{self._random.randint(1, 99)}/{NEVER}"
        if chance < 0.7:
            return "RL.POLICY", "UNOVERRIDE", name, key
        if chance < 0.9:
            return "RL.POLICY", "SET", name, self._random.choice(POLICIES)
        if chance < 0.97:
            return "RL.POLICY", "DEL", name
        return ("FLUSHALL",)


class ReplicationCutsTest(ReplicationTest):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_CUTS_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_CUTS_SEED={self.seed} {self.id()}", file=sys.stderr, flush=True)

    # --- The servers, which end and come back ---

    def launch_primary(self, port, *options):
        server = self.launch("--port", str(port), "--threads", "2", *options)
        server.wait_for_log("loaded" if "--data-dir" in options else "listening on")
        return server

    def launch_replica(self, *options):
        follow = f"127.0.0.1 {self.proxy.port}"
        return self.launch("--port", str(free_port()), "--replicaof", follow,
                           "--repl-timeout", "1s", *options)

    def data(self, name):
        return ("--data-dir", os.path.join(self.directory, name), "--snapshot-interval", "20ms")

    def begin(self, backlog, primary_options=()):
        self.backlog = ("--repl-backlog-size", backlog, "--repl-timeout", "1s")
        self.primary_options = (*self.backlog, *primary_options)
        self.world = World(free_port())
        self.primary = self.launch_primary(self.world.port, *self.primary_options)
        self.proxy = CuttingProxy(self.world.port, self.random.random())
        self.addCleanup(self.proxy.close)

    # --- What happens to them ---

    def pause_a_moment(self):
        """Lets the load go on for a random time."""
        self.world.ended.wait(self.random.random() * PAUSE_SECONDS_MAX)

    def cut(self, _):
        self.proxy.cut()

    def stop_and_continue(self, replicas):
        name = self.random.choice(sorted(replicas))
        replicas[name].pause()
        self.world.ended.wait(self.random.choice((0.05, 0.3, 1.5)))
        replicas[name].resume()

    def kill_replica(self, replicas):
        name = self.random.choice(sorted(replicas))
        replicas[name].kill()
        self.pause_a_moment()
        replicas[name] = self.launch_replica(*self.replica_options[name])

    def kill_primary(self, _):
        self.primary.kill()
        self.primary = self.launch_primary(self.world.port, *self.primary_options)

    def live(self, happenings, replicas):
        """Random load and random happenings; returns when the load has ended."""
        loads = [Load(self.world, self.random.randrange(1 << 32)) for _ in range(CLIENTS)]
        try:
            for _ in range(scaled(EVENTS)):
                self.pause_a_moment()
                self.random.choice(happenings)(replicas)
        finally:
            self.world.ended.set()
            for load in loads:
                load.join()
        self.assertEqual(self.world.errors, [])
        self.assertGreater(sum(load.asked for load in loads), 0)

    def assert_equal_at_last(self, replicas):
        self.proxy.calm()
        client = self.connect(self.primary)
        seed = f"WEIR_CUTS_SEED={self.seed}"
        for name, server in sorted(replicas.items()):
            replica = self.connect(server)
            await_true(
                lambda one=replica: is_exact(one),
                lambda one=replica, at=server: f"{seed} {name} {fields(one)} {at.log()[-2000:]}",
            )
            await_in_sync(client, replica)
            with self.subTest(f"{seed} {name}"):
                self.assert_same_buckets(client, replica, KEYS, (*LASTING, HELD), SHORT)

    def run_world(self, happenings, options):
        self.replica_options = options
        replicas = {name: self.launch_replica(*options[name]) for name in options}
        self.live(happenings, replicas)
        self.assert_equal_at_last(replicas)
        sent = fields(self.connect(self.primary))["sync_partitions_sent"]
        print(f"{self.proxy.cuts} cuts, {sent} partitions sent", file=sys.stderr, flush=True)

    def test_cut_links_without_a_backlog(self):
        self.begin("0")
        self.run_world([self.cut], {"a": ()})

    def test_killed_servers(self):
        self.begin("1mb", self.data("primary"))
        happenings = [self.cut, self.stop_and_continue, self.kill_primary, self.kill_replica]
        self.run_world(happenings, {"a": (), "b": self.data("b")})


if __name__ == "__main__":
    unittest.main()
