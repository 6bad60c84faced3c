"""The policy file: read at the start, and again on SIGHUP and RL.POLICY RELOAD."""

import os
import signal
import unittest

from weir_e2e import NEVER, ServerTest, free_port, run_all, scaled

GOOD = f'[policies]\nfree = ["5/{NEVER}", "9/{NEVER}"]\ninternal = "unlimited"\n'
OTHER = f'[policies]\nfree = ["7/{NEVER},fixed"]\npaid = "50/{NEVER}"\n'
BAD = f'[policies]\nfree = "7/{NEVER}"\npaid = "50/x"\n'
WHY = r"policies\.toml:3: policy 'paid': invalid limit '50/x': unknown unit 'x'"


class PolicyTest(ServerTest):
    def names(self, client):
        return client.call("RL.POLICY", "LIST")

    def test_the_file_is_read_at_the_start(self):
        client = self.connect(self.start("--policies", self.write("policies.toml", GOOD)))
        self.assertEqual(self.names(client), [b"free", b"internal"])
        self.assertEqual(client.call("RL.ALLOW", "k", "@free")[:2], [1, 4])
        self.assertEqual(client.call("RL.ALLOW", "k", "@internal", "COST", 10**9)[0], 1)
        refusal = client.call("RL.POLICY", "SET", "free", "1/s")
        self.assertRegex(refusal, "belongs to the policy file")
        self.assertRegex(client.call("CONFIG", "GET", "policies")[1], rb"/policies\.toml$")

    def test_the_configuration_may_name_it(self):
        self.write("policies.toml", GOOD)
        config = self.write("weir.toml", 'policies = "policies.toml"\n')
        client = self.connect(self.start("--config", config))
        self.assertEqual(self.names(client), [b"free", b"internal"])

    def test_a_bad_file_at_the_start_is_refused(self):
        absent = os.path.join(self.directory, "absent.toml")
        for path, why in (
            (self.write("policies.toml", BAD), WHY),
            (absent, r"cannot read the policy file \S+absent\.toml: No such file or directory"),
            (self.directory, r"cannot read the policy file \S+: Is a directory"),
        ):
            with self.subTest(path):
                self.assertRegex(self.refused("--policies", path), why)

    def test_a_quoted_word_with_a_line_break_is_shown_on_one_line(self):
        path = self.write("policies.toml", '[policies]\n"a\\nb" = "1/s"\n')
        self.assertRegex(self.refused("--policies", path), r"policy name 'a\?b' must be ")

    # Goal: both ways of reloading it do the same, and are in force on every thread. Method: many
    # connections, so that each thread has some, which have all used the policy before.
    def test_it_is_read_again(self):
        for how in ("SIGHUP", "RELOAD"):
            with self.subTest(how):
                path = self.write("policies.toml", GOOD)
                server = self.start("--threads", "4", "--policies", path)
                clients = [self.connect(server) for _ in range(8)]
                for i, client in enumerate(clients):
                    self.assertEqual(client.call("RL.ALLOW", i, "@free")[:2], [1, 4])
                self.write("policies.toml", OTHER)
                if how == "SIGHUP":
                    server.process.send_signal(signal.SIGHUP)
                    server.wait_for_log("received SIGHUP: read the policy file again")
                else:
                    self.assertEqual(clients[0].call("RL.POLICY", "RELOAD"), "OK")
                for i, client in enumerate(clients):
                    self.assertEqual(client.call("RL.ALLOW", i, "@free")[:2], [1, 6])
                    self.assertEqual(client.call("RL.ALLOW", i, "@paid")[:2], [1, 49])
                    self.assertRegex(client.call("RL.ALLOW", i, "@internal"), "is retired")

    def test_a_bad_file_changes_nothing_and_says_why(self):
        server = self.start("--policies", self.write("policies.toml", GOOD))
        client = self.connect(server)
        client.call("RL.ALLOW", "k", "@free")
        self.write("policies.toml", BAD)
        self.assertRegex(client.call("RL.POLICY", "RELOAD"), WHY)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: the policies are unchanged: .*" + WHY)
        self.assertEqual(self.names(client), [b"free", b"internal"])
        self.assertEqual(client.call("RL.ALLOW", "k", "@free")[:2], [1, 3])
        # A corrected file is in force at once.
        self.write("policies.toml", OTHER)
        self.assertEqual(client.call("RL.POLICY", "RELOAD"), "OK")
        self.assertEqual(self.names(client), [b"free", b"internal", b"paid"])

    # Goal: one start without the file loses no ban and no debt.
    def test_a_start_without_the_file_retires_its_policies(self):
        path = self.write("policies.toml", GOOD)
        data = ("--data-dir", os.path.join(self.directory, "data"))

        def start(*options):
            server = self.start(*data, *options)
            server.wait_for_log(r"loaded \d+ buckets")
            return server, self.connect(server)

        server, client = start("--policies", path)
        client.call("RL.POLICY", "OVERRIDE", "free", "banned", "none")
        client.call("RL.ALLOW", "k", "@internal")
        self.assertEqual(server.stop(), 0)
        server, client = start()
        server.wait_for_log("policy 'free' is retired, with 1 overrides")
        self.assertRegex(client.call("RL.ALLOW", "banned", "@free"), "policy 'free' is retired")
        self.assertEqual(server.stop(), 0)
        server, client = start("--policies", path)
        self.assertEqual(client.call("RL.ALLOW", "banned", "@free")[:3], [0, 0, -1])

    # Goal: the cuts of an override or TRIM survive a crash; a reload of the file cuts nothing.
    # Method: waits of days and of minutes.
    def test_a_trim_survives_a_crash(self):
        path = self.write("policies.toml", '[policies]\nfile = "1000/300d"\n')
        data = ("--data-dir", os.path.join(self.directory, "data"), "--durability", "always",
                "--policies", path)
        server = self.launch("--port", str(free_port()), *data)
        server.wait_for_log("loaded 0 buckets")
        client = self.connect(server)
        client.call("RL.POLICY", "SET", "own", "1000/300d")
        for key in ("a", "b", "c"):
            self.assertEqual(client.call("RL.ALLOW", key, "@own", "@file", "COST", 1000)[0], 1)
        self.write("policies.toml", '[policies]\nfile = "100/d"\n')
        self.assertEqual(client.call("RL.POLICY", "RELOAD"), "OK")
        self.assertEqual(client.call("RL.POLICY", "OVERRIDE", "file", "a", "100/d"), "OK")
        self.assertEqual(client.call("RL.POLICY", "OVERRIDE", "own", "a", "100/d"), "OK")
        self.assertEqual(client.call("RL.POLICY", "SET", "own", "200/d", "TRIM"), "OK")
        server.wait_for_log("policy 'file': cut what 1 buckets owe")
        server.wait_for_log("policy 'own': cut what 2 buckets owe")
        for _ in range(2):
            waits = {(key, policy): client.call("RL.PEEK", key, policy)[2]
                     for key in "abc" for policy in ("@own", "@file")}
            for key, policy, most in (("a", "@own", 864_000), ("a", "@file", 864_000),
                                      ("b", "@own", 432_000), ("c", "@own", 432_000)):
                self.assertTrue(0 < waits[key, policy] <= most, waits)
            self.assertGreater(waits["b", "@file"], 200 * 86_400_000)
            server.kill()
            server = self.launch("--port", str(free_port()), *data)
            server.wait_for_log("loaded 6 buckets")
            client = self.connect(server)

    # Four clients ask while a fifth changes what they ask for. Each answer is by one version: a
    # look leaves 7 or 9 tokens, 2 by the override, and is an error while the policy is gone.
    def test_changes_under_load(self):
        server = self.start("--threads", "4")
        self.connect(server).call("RL.POLICY", "SET", "p", "7/s")
        wrong = []

        def ask():
            client = self.connect(server)
            for i in range(scaled(2000)):
                reply = client.call("RL.PEEK", "k", "@p,cost=0")
                gone = isinstance(reply, str) and "unknown policy 'p'" in reply
                if not gone and reply[:2] not in ([1, 7], [1, 9], [1, 2]):
                    wrong.append(reply)
                client.call("RL.ALLOW", i, "@p")

        def change():
            client = self.connect(server)
            for _ in range(scaled(200)):
                client.call("RL.POLICY", "SET", "p", "9/s", "9/m,fixed")
                client.call("RL.POLICY", "OVERRIDE", "p", "k", "2/h")
                client.call("RL.POLICY", "UNOVERRIDE", "p", "k")
                client.call("RL.POLICY", "DEL", "p")
                client.call("RL.POLICY", "SET", "p", "7/s")

        run_all(ask, ask, ask, ask, change)
        self.assertEqual(wrong, [])
        self.assertEqual(self.connect(server).call("RL.PEEK", "k", "@p,cost=0")[:2], [1, 7])

    def test_sighup_without_a_file_is_harmless(self):
        server = self.start()
        client = self.connect(server)
        client.call("RL.POLICY", "SET", "own", "5/s")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("info received SIGHUP: there is no policy file to read")
        self.assertEqual(self.names(client), [b"own"])


if __name__ == "__main__":
    unittest.main()
