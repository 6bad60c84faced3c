"""weir's module in a Redis Cluster: buckets move with their slots, and failovers lose little.

A failover forgets only the changes that had not reached the replica, at most one burst a key.
"""

import threading
import time

from redis_cluster import Cluster, ClusterClient, slot_of
from redis_host import main
from weir_e2e import NEVER, Error, ServerTest, scaled

BURST = 20


class ModuleClusterTest(ServerTest):
    def cluster(self, **settings):
        cluster = Cluster(self.directory, 3, 1, **settings)
        self.addCleanup(cluster.kill)
        return cluster

    def client(self, cluster):
        client = ClusterClient(cluster)
        self.addCleanup(client.close)
        return client

    def test_keys_of_several_slots_are_refused_and_hash_tags_help(self):
        cluster = self.cluster()
        client = self.client(cluster)
        limit = f"3/{NEVER}"
        reply = client.call("RL.ALLOW", "a", limit, "AND", "b", limit)
        self.assertRegex(reply, "^CROSSSLOT ")
        reply = client.call("RL.ALLOW", "a", limit, "OR", "b", limit)
        self.assertRegex(reply, "^CROSSSLOT ")
        reply = client.call("RL.WAIT", "a", limit, "AND", "b", limit, "TIMEOUT", 1)
        self.assertRegex(reply, "^CROSSSLOT ")
        reply = client.call("RL.ALLOW", "ip:{t7}", limit, "AND", "user:{t7}", limit)
        self.assertEqual(reply[:2], [1, 2])
        reply = client.call("RL.WAIT", "ip:{t7}", limit, "AND", "user:{t7}", limit, "TIMEOUT", 1)
        self.assertEqual(reply[:2], [1, 1])
        for node in cluster.nodes:
            self.assertEqual(node.call("COMMAND", "GETKEYS", "RL.PEEK", "a", "1/s", "AND", "b",
                                       "1/s", "OR", "c", "1/s"), [b"a", b"b", b"c"])

    def test_policies_are_each_primary_s_own(self):
        cluster = self.cluster()
        for node in cluster.primaries:
            self.assertEqual(node.call("RL.POLICY", "SET", "free", f"3/{NEVER}"), "OK")
            self.assertEqual(node.call("RL.POLICY", "OVERRIDE", "free", "b", f"9/{NEVER}"), "OK")
        client = self.client(cluster)
        keys = [f"user:{i}" for i in range(30)] + ["b"]
        self.assertEqual([client.call("RL.ALLOW", key, "@free")[1] for key in keys], 30 * [2] + [8])
        # A policy's bucket is stored under the policy's name, so it is the same on its new node.
        for key in keys[-2:]:
            source = cluster.owner(slot_of(key))
            target = next(node for node in cluster.primaries if node is not source)
            target.call("RL.POLICY", "SET", f"other-{key}", "1/s")  # other ids than the source has
            cluster.move_slot(slot_of(key), source, target)
        self.assertEqual([client.call("RL.ALLOW", key, "@free")[1] for key in keys], 30 * [1] + [7])

    def load(self, cluster, keys, stop, admitted, errors):
        client = ClusterClient(cluster)
        while not stop.is_set():
            for key in keys:
                reply = client.call("RL.ALLOW", key, f"{BURST}/{NEVER}")
                if isinstance(reply, Error):
                    errors.append(reply)
                else:
                    admitted[key] += reply[0]
        client.close()
        errors.extend(client.redirections - {"MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN"})

    def under_load(self, cluster, keys, disturb):
        """Counts the admissions of each key while the cluster changes."""
        stop, errors = threading.Event(), []
        admitted = {key: 0 for key in keys}
        # Each thread has keys of its own, so that its counts need no lock.
        threads = [threading.Thread(target=self.load,
                                    args=(cluster, keys[i::2], stop, admitted, errors))
                   for i in range(2)]
        for thread in threads:
            thread.start()
        try:
            disturb()
            # The remaining nodes decide on every key: an exhausted bucket denies.
            client = self.client(cluster)
            for key in keys:
                end = time.monotonic() + 60
                while client.call("RL.PEEK", key, f"{BURST}/{NEVER}")[0] == 1:
                    self.assertLess(time.monotonic(), end, key)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(errors, [])
        return admitted

    def test_resharding_makes_no_token(self):
        cluster = self.cluster()
        keys = [f"user:{i}" for i in range(scaled(60))]

        def reshard():
            for key in keys[:scaled(40)]:
                slot = slot_of(key)
                source = cluster.owner(slot)
                target = cluster.primaries[(cluster.primaries.index(source) + 1) % 3]
                cluster.move_slot(slot, source, target)

        admitted = self.under_load(cluster, keys, reshard)
        self.assertEqual(admitted, {key: BURST for key in keys})

    def test_a_failover_forgets_at_most_a_burst(self):
        cluster = self.cluster(timeout_ms=1000)
        (replica,) = cluster.replicas
        keys = [f"user:{i}" for i in range(scaled(60))]

        def fail():
            cluster.primaries[0].kill()
            self.await_equal(lambda: replica.call("ROLE")[0], b"master")

        admitted = self.under_load(cluster, keys, fail)
        for key, count in admitted.items():
            # One admission may have lost its reply with the primary.
            self.assertGreaterEqual(count, BURST - 1, key)
            self.assertLessEqual(count, 2 * BURST, key)


if __name__ == "__main__":
    main()
