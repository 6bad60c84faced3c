"""Failovers by hand under load, one after the other, with what each one forgets counted.

Goal: in each strength a failover forgets at most what the table of docs/high-availability.md says.
Method: clients take tokens and reserve some without pause. Then the primary is killed, cut off from
its replica and killed, cut off with its clients, stopped cleanly, or frozen for a while, and the
replica is promoted by REPLICAOF NO ONE; or FAILOVER switches the roles. The clients go on there.
The old primary comes back as a replica of the new one, empty or with what is on its disk.
failover_cycles.py has what holds in each cycle. Each strength has a test of its own: -k async,
-k lease, -k ack.

Environment, besides weir_e2e's: WEIR_CRASH_CYCLES, the number of failovers; WEIR_CRASH_SEED.
"""

import os
import time
import unittest

from cutting_proxy import CuttingProxy
from failover_cycles import FailoverCycles, InEachStrength
from replication_servers import await_true, fields, is_exact, role_of
from weir_e2e import scaled


class FailoverCrashTest(InEachStrength, FailoverCycles):
    CYCLES = int(os.environ.get("WEIR_CRASH_CYCLES", scaled(6)))

    def setUp(self):
        super().setUp()
        self.proxy = CuttingProxy(0, self.seed)
        self.proxy.calm()
        self.addCleanup(self.proxy.close)

    # --- The servers ---

    def await_replica(self, replica, primary):
        """Waits until a server follows another, which it is told if its disk says otherwise."""
        role = replica.client.call("ROLE")
        if role[0] != b"slave" or role[2] != primary.port:
            self.follow(replica.client, primary)
        await_true(
            lambda: is_exact(replica.client),
            lambda: (self.where, fields(replica.client), replica.server.log()[-2000:]),
        )

    def launch_replica(self, primary, data):
        replica = self.launch_member(data, "--replicaof", f"127.0.0.1 {primary.port}")
        self.await_replica(replica, primary)
        return replica

    def restarted(self, load, old, primary):
        """The old primary, which runs again, as a replica."""
        old.client.close()
        again = self.launch_replica(primary, self.choose_data(old.data))
        self.rejoined(load, primary)
        return again

    def prepare(self, event, primary, replica):
        if event in (FailoverCrashTest.cut_and_killed, FailoverCrashTest.cut_off):
            self.proxy.target = primary.port
            self.follow(replica.client, self.proxy)

    # --- The events ---

    def promote_for(self, load, replica):
        self.promote(replica.client)
        self.go_to(load, replica)

    def killed(self, load, primary, replica):
        primary.server.kill()
        self.promote_for(load, replica)
        return self.restarted(load, primary, replica)

    def cut_and_killed(self, load, primary, replica):
        self.proxy.cut()
        # It connects again after 100 ms.
        load.go_on(self.random.random() * 0.2)
        return self.killed(load, primary, replica)

    def stopped(self, load, primary, replica):
        load.lose_nothing()
        self.assertEqual(primary.server.stop(), 0, primary.server.log())
        self.promote_for(load, replica)
        return self.restarted(load, primary, replica)

    def switched(self, load, primary, replica):
        load.lose_nothing()
        self.assertEqual(primary.client.call("FAILOVER"), "OK")
        await_true(lambda: role_of(replica.client) == b"master", primary.server.log)
        self.silent_since = time.monotonic_ns()
        load.move()
        load.await_admitted(replica.port)
        return primary

    def frozen(self, load, primary, replica):
        primary.server.pause()
        self.silent_since = time.monotonic_ns()
        try:
            self.promote_for(load, replica)
            load.go_on(self.random.random() * 0.2)
        finally:
            primary.server.resume()
        return self.deposed(load, primary, replica)

    def cut_off(self, load, primary, replica):
        """Nothing comes through between the two, and the primary goes on with its clients."""
        self.proxy.hold()
        load.go_on(self.random.random() * 0.2)
        self.promote_for(load, replica)
        old = self.deposed(load, primary, replica)
        self.proxy.cut()
        return old

    def deposed(self, load, primary, replica):
        """The primary runs beside its successor for a while, and is told to follow it."""
        if self.strength.two_admit:
            load.await_admitted(primary.port)
        load.go_on(self.random.random() * 0.1)
        self.follow(primary.client, replica)
        self.rejoined(load, replica)
        return primary

    EVENTS = (killed, cut_and_killed, stopped, switched, frozen, cut_off)
    BESIDE = (frozen, cut_off)

    def start_group(self):
        """Returns a primary and its replica."""
        primary = self.launch_member(self.choose_data())
        return primary, self.launch_replica(primary, self.choose_data())


if __name__ == "__main__":
    unittest.main()
