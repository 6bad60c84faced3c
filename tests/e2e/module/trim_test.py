"""The cuts of RL.POLICY OVERRIDE and RL.POLICY SET ... TRIM in weir's module survive all loads."""

from host_state import State
from module_test import DEBUG, ModuleTest
from redis_host import main, start_module
from weir_e2e import Error, encode, scaled


class TrimTest(ModuleTest):
    # Goal: the cuts of OVERRIDE and TRIM are in the AOF, in an RDB file and on replicas, for all
    # databases, and are not made again there. Method: a replica, a load of each kind, and the
    # numbers.
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
        self.assert_replicated(client, replica)
        with self.at_one_instant(client):
            before = State(client)
            client.call("DEBUG", "LOADAOF")
            self.assert_same_state(before, State(client))
            self.assertEqual(client.call("DEBUG", "RELOAD"), "OK")
            self.assert_same_state(before, State(client))
        log = "".join(primary.log)
        self.assertIn("weir: policy 'p': cut what 2 buckets owe", log)
        self.assertIn(f"weir: policy 'p': cut what {2 * len(keys) - 2} buckets owe", log)

    # Goal: no key is cut by numbers that are no longer the policy's. Method: many keys, and another
    # SET while the timer of the first one works.
    def test_a_trim_stops_when_the_policy_is_set_again(self):
        primary = start_module(self, options=DEBUG)
        client = self.connect(primary)
        other = self.connect(primary)
        client.call("RL.POLICY", "SET", "p", "1000/300d")
        keys = [f"k{i}" for i in range(20_000)]
        client.send(b"".join(encode("RL.ALLOW", key, "@p", "COST", 1000) for key in keys))
        self.assertTrue(all(client.reply()[0] == 1 for _ in keys))
        client.send(encode("RL.POLICY", "SET", "p", "100/2d", "TRIM"))
        self.await_equal(lambda: self.info(other)["blocked_clients"], 1)
        self.assertEqual(other.call("RL.POLICY", "SET", "p", "1000/300d"), "OK")
        self.assertIn("stopped before all buckets were cut", str(client.reply()))

    # Goal: SET of a new policy with TRIM is in the AOF, where no client may wait, and on replicas.
    # Method: a load of the AOF; a script, where no client may wait, either.
    def test_a_new_policy_with_trim_is_loaded(self):
        server = start_module(self, options=[*DEBUG, "--appendonly", "yes"])
        client = self.connect(server)
        self.assertEqual(client.call("RL.POLICY", "SET", "new", "10/h", "5/m", "TRIM"), "OK")
        script = "return redis.call('RL.POLICY', 'SET', KEYS[1], '7/h', 'trim')"
        self.assertEqual(client.call("EVAL", script, 1, "other"), "OK")
        refusal = client.call("EVAL", script, 1, "new")
        self.assertIsInstance(refusal, Error)
        self.assertIn("TRIM is answered later", refusal)
        self.assertEqual(client.call("DEBUG", "LOADAOF"), "OK")
        self.assertEqual(client.call("RL.POLICY", "GET", "new"), [b"10/h", b"5/m"])
        self.assertEqual(client.call("RL.POLICY", "GET", "other"), [b"7/h"])


if __name__ == "__main__":
    main()
