"""The cuts of RL.POLICY OVERRIDE and RL.POLICY SET ... TRIM in weir's module survive all loads."""

from host_state import State
from module_test import DEBUG, ModuleTest
from redis_host import main, start_module
from weir_e2e import DEADLINE, encode, scaled


class TrimTest(ModuleTest):
    # Goal: what OVERRIDE and TRIM cut is cut in the AOF, in an RDB file and on replicas, of all
    # databases, and not once more there. Method: a replica, a load of each kind, and the numbers.
    def test_a_trim_is_kept_and_replicated(self):
        options = [*DEBUG, "--appendonly", "yes"]
        primary = start_module(self, options=options)
        client = self.connect(primary)
        replica = self.connect(start_module(
            self, options=[*DEBUG, "--replicaof", "127.0.0.1", str(primary.port)]))
        self.await_equal(lambda: replica.call("ROLE")[3], b"connected")
        client.call("RL.POLICY", "SET", "p", "1000/300d")
        keys = [f"k{i}" for i in range(scaled(5_000))]
        for database in (0, 3):
            client.call("SELECT", database)
            client.send(b"".join(encode("RL.ALLOW", key, "@p", "COST", 1000) for key in keys))
            self.assertTrue(all(client.reply()[0] == 1 for _ in keys))
        client.call("SELECT", 0)
        self.assertEqual(client.call("RL.POLICY", "OVERRIDE", "p", "k0", "100/d"), "OK")
        self.assertLessEqual(client.call("RL.PEEK", "k0", "@p")[2], 864_000)
        self.assertEqual(client.call("RL.POLICY", "SET", "p", "100/2d", "TRIM"), "OK")
        for database in (0, 3):
            client.call("SELECT", database)
            client.send(b"".join(encode("RL.PEEK", key, "@p") for key in keys))
            for key in keys:
                wait = client.reply()[2]
                self.assertTrue(0 < wait <= (864_000 if key == "k0" else 1_728_000), (key, wait))
        client.call("SELECT", 0)
        self.assert_replicated(client, replica, DEADLINE)
        with self.at_one_instant(client):
            before = State(client)
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(before, State(client))
            self.assertEqual(client.call("DEBUG", "RELOAD"), "OK")
            self.assert_same_state(before, State(client))
        log = "".join(primary.log)
        self.assertIn("weir: policy 'p': cut what 2 buckets owe", log)
        self.assertIn(f"weir: policy 'p': cut what {2 * len(keys) - 2} buckets owe", log)


if __name__ == "__main__":
    main()
