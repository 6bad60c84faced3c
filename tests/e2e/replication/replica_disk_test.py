"""Acknowledgements after a loss of power, and failovers to a disk that is full.

The servers of a group are killed at once. What each has on its disk then is what its row in
docs/high-availability.md says.
"""

import itertools
import os
import resource
import signal
import unittest

from replication_servers import (
    ReplicationTest,
    ask_all,
    await_in_sync,
    await_true,
    fields,
    is_exact,
    role_of,
)
from weir_e2e import Error, run_all

DURABILITIES = ("always", "snapshot", "none")
REQUESTS = [("RL.ALLOW", f"k{i}", "1/9w") for i in range(100)]
ACKS = ("--ack-replicas", "1", "--ack-timeout", "10s")
NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)


def admitted(client, requests=REQUESTS):
    replies = ask_all(client, requests)
    return sum(reply[0] for reply in replies if not isinstance(reply, Error))


class PowerLossTest(ReplicationTest):
    def keeps(self, name, durability):
        """Options of a server that saves nothing that it does not have to."""
        if durability == "none":
            return ("--durability", "none")
        data = os.path.join(self.directory, name)
        return ("--data-dir", data, "--durability", durability, "--snapshot-interval", "60s")

    def lose_power(self, name, primary_keeps, replica_keeps):
        """Kills a primary and its replica, which have answered all requests; their options."""
        options = [
            self.keeps(f"{name}-primary", primary_keeps),
            (*self.keeps(f"{name}-replica", replica_keeps), *ACKS),
        ]
        primary = self.start_mortal(*options[0], *ACKS)
        replica = self.start_replica(primary, *options[1], mortal=True)
        client = self.connect(primary)
        first = [("RL.ALLOW", "first", "1000/s")]
        await_true(lambda: admitted(client, first) == 1, lambda: fields(client))
        for one in 2 * (client, self.connect(replica)):
            one.call("SAVE")  # The roles are on disk, and no save is due any more.
        self.assertEqual(admitted(client), len(REQUESTS), (name, primary.log(), replica.log()))
        os.kill(primary.pid, signal.SIGKILL)
        os.kill(replica.pid, signal.SIGKILL)
        primary.wait(), replica.wait()
        return options

    def restart(self, *options):
        server = self.start_mortal(*options)
        client = self.connect(server)
        if "--data-dir" in options:
            server.wait_for_log(r"loaded \d+ buckets")
        return server, client

    def check_pair(self, primary_keeps, replica_keeps):
        name = f"{primary_keeps}-{replica_keeps}"
        of_primary, of_replica = self.lose_power(name, primary_keeps, replica_keeps)
        replica, client = self.restart(*of_replica, "--replicaof", "127.0.0.1 1")
        priority = "100" if replica_keeps == "always" else "0"
        self.assertEqual(fields(client)["slave_priority"], priority, name)
        self.promote(client)
        client.call("CONFIG", "SET", "ack-replicas", "0")
        again = admitted(client)
        self.assertEqual(again, 0 if replica_keeps == "always" else len(REQUESTS), name)
        if replica_keeps == "snapshot":
            replica.wait_for_log("it may have forgotten changes that it had acknowledged")

        primary, client = self.restart(*of_primary, "--sentinel", "weir")
        refuses = str(client.call("PING")).startswith("RESTARTED")
        # A server without a state may be one that has lost it.
        self.assertEqual(refuses, primary_keeps != "always", (name, primary.log()))
        client.call("REPLICAOF", "NO", "ONE")
        await_true(lambda: client.call("PING") == "PONG", primary.log)
        again = admitted(client)
        self.assertEqual(again, 0 if primary_keeps == "always" else len(REQUESTS), name)

    def test_each_server_has_what_its_own_durability_says(self):
        pairs = itertools.product(DURABILITIES, DURABILITIES)
        run_all(*(lambda pair=pair: self.check_pair(*pair) for pair in pairs))

    def test_a_replica_is_distrusted_until_it_is_in_sync(self):
        data = self.keeps("replica", "snapshot")
        primary = self.start_mortal(*self.keeps("primary", "snapshot"))
        port = primary.port
        replica = self.start_replica(port, *data, *ACKS, "--sentinel", "weir", mortal=True)
        client = self.connect(replica)
        self.assertEqual(fields(client)["slave_priority"], "100")
        await_true(lambda: client.call("SAVE") == "OK", "a save")
        os.kill(replica.pid, signal.SIGKILL)
        replica.wait()
        self.assertEqual(primary.stop(), 0)
        follows = (*data, *ACKS, "--sentinel", "weir", "--replicaof", f"127.0.0.1 {port}")
        for _ in range(2):  # A clean stop does not help.
            replica, client = self.restart(*follows)
            shown = fields(client)
            self.assertEqual((shown["complete"], shown["slave_priority"]), ("1", "0"))
            client.call("CONFIG", "SET", "ack-replicas", "0")
            self.assertEqual(fields(client)["slave_priority"], "100")
            client.call("CONFIG", "SET", "ack-replicas", "1")
            self.assertEqual(replica.stop(), 0)
        replica, client = self.restart(*follows)
        replica.wait_for_log("may lack what it has acknowledged: it shows Sentinel the priority 0")
        client.call("CLIENT", "SETNAME", "sentinel-12345678-cmd")
        client.call("SLAVEOF", "NO", "ONE")
        replica.wait_for_log("it refuses: it may lack what it has acknowledged")
        self.launch("--port", str(port), *self.keeps("primary", "snapshot")).wait_for_log("loaded")
        await_true(lambda: is_exact(client), lambda: (fields(client), replica.log()))
        self.assertEqual(fields(client)["slave_priority"], "100")
        self.assertEqual(replica.stop(), 0)
        replica, client = self.restart(*follows)
        self.assertEqual(fields(client)["slave_priority"], "100")


class FullDiskFailoverTest(ReplicationTest):
    def check_durability(self, durability):
        primary = self.start()
        data = os.path.join(self.directory, durability)
        options = ("--data-dir", data, "--durability", durability, "--snapshot-interval", "20ms")
        replica = self.start_replica(primary, *options)
        client, other = self.connect(primary), self.connect(replica)
        await_in_sync(client, other)
        self.assertEqual(fields(other)["slave_priority"], "100")
        resource.prlimit(replica.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        client.call("RL.ALLOW", "k", "1/9w")
        await_true(lambda: fields(other, "persistence")["persist_status"] == "failing", replica.log)
        self.assertEqual(fields(other)["slave_priority"], "0")
        to_it = ("TO", "127.0.0.1", replica.port)
        for words in ((), to_it):
            given_up = primary.log().count("the replica cannot save to its disk")
            self.assertEqual(client.call("FAILOVER", *words, "TIMEOUT", 1200), "OK")
            await_true(
                lambda: primary.log().count("the replica cannot save to its disk") > given_up,
                primary.log,
            )
            await_true(  # the log says it first
                lambda: fields(client)["master_failover_state"] == "no-failover", primary.log)
            self.assertEqual(role_of(client), b"master")
            self.assertEqual(client.call("RL.ALLOW", f"still{len(words)}", "1/9w")[0], 1)
        self.assertEqual(client.call("FAILOVER", *to_it, "FORCE", "TIMEOUT", 100), "OK")
        await_true(lambda: role_of(other) == b"master", replica.log)
        resource.prlimit(replica.pid, resource.RLIMIT_FSIZE, NO_LIMIT)
        await_true(lambda: fields(other, "persistence")["persist_status"] == "ok", replica.log)

    def test_a_switch_waits_for_a_replica_that_can_save(self):
        run_all(*(lambda one=one: self.check_durability(one) for one in ("always", "snapshot")))


if __name__ == "__main__":
    unittest.main()
