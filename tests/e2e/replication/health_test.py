"""The verdict about a server: each reason that a process can bring about comes, and passes.

INFO, the live page's /api/now and /metrics say the same. The reasons of the last minute are brought
about only: tests/server/health lets them pass, with a clock of its own.
"""

import contextlib
import http.client
import json
import re
import resource
import signal
import time
import unittest

from replication_servers import ReplicationTest, await_in_sync, fields
from weir_e2e import DEADLINE, NEVER, Client, free_port

NO_LIMIT = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
LIMIT = f"100/{NEVER}"
BATCH = 32  # keys of a request


class HealthTest(ReplicationTest):
    def health(self, client):
        shown = fields(client, "weir")
        return shown["health"], shown["health_reasons"]

    def await_health(self, client, state, *codes):
        self.await_equal(lambda: self.health(client), (state, ",".join(codes)))

    def admin_get(self, path):
        peer = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=DEADLINE)
        with contextlib.closing(peer):
            peer.request("GET", path)
            answer = peer.getresponse()
            body = answer.read().decode()
        self.assertEqual(answer.status, 200, body)
        return body

    def test_the_page_and_the_metric_say_what_info_says(self):
        self.admin_port = free_port()
        server = self.start("--admin-port", str(self.admin_port), "--server-name", "Weir-A",
                            "--data-dir", f"{self.directory}/data", "--snapshot-interval", "20ms")
        client = self.connect(server)
        self.await_health(client, "ok")
        now = json.loads(self.admin_get("/api/now"))
        self.assertEqual(now["server"], f"weir-a:{server.port}")
        self.assertEqual(now["verdict"], {"state": "ok", "reasons": []})
        self.assertIn("\nweir_health 0\n", self.admin_get("/metrics"))
        before = time.time()
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        client.call("RL.ALLOW", "u", LIMIT)
        self.await_health(client, "bad", "save_failing")
        now = json.loads(self.admin_get("/api/now"))
        self.assertEqual(now["verdict"]["state"], "bad")
        (reason,) = now["verdict"]["reasons"]
        self.assertEqual(reason["code"], "save_failing")
        self.assertRegex(reason["text"], r"^saving fails \(.*File too large.*\)$")
        self.assertLess(before - 2, reason["since_ms"] / 1000)
        self.assertLess(reason["since_ms"] / 1000, time.time() + 2)
        self.assertIn("\nweir_health 2\n", self.admin_get("/metrics"))
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, NO_LIMIT)
        self.await_health(client, "ok")

    def events(self):
        """The events so far, as "kind who: text"."""
        events = json.loads(self.admin_get("/api/events"))["events"]
        return [f"{one['kind']} {one['who']}: {one['text']}" for one in events]

    def await_event(self, pattern):
        """Waits for an event that is not seen yet, and counts it as seen."""
        self.await_equal(lambda: any(map(re.compile(pattern).search, self.events()[self.seen:])),
                         True)
        found = [i for i, event in enumerate(self.events()) if re.search(pattern, event)]
        self.seen = found[-1] + 1

    def test_what_happens_is_an_event(self):
        self.admin_port = free_port()
        self.seen = 0
        users = self.write("users", "user default on nopass ~* &* +@all\n")
        policies = self.write("policies.toml", "[policies]\nfree = '10/s'\n")
        options = ("--admin-port", str(self.admin_port), "--data-dir", f"{self.directory}/data",
                   "--snapshot-interval", "20ms", "--users-file", users, "--policies", policies,
                   "--primary-password-file", self.write("password", "secret\n"))
        first = self.launch(*options)
        first.wait_for_log(r"loaded \d+ buckets")
        self.await_event("^start : weir [^;]* has started$")
        first.kill()
        self.seen = 0
        server = self.start(*options)
        client = self.connect(server)
        self.await_event("^start : .*; the last run has not stopped cleanly$")
        self.await_event("^role : is the primary$")
        server.wait_for_log(r"loaded \d+ buckets")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        client.call("RL.ALLOW", "u", LIMIT)
        self.await_event("^health : saving fails")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, NO_LIMIT)
        self.await_event("^health : over: saving fails")
        self.assertEqual(client.call("ACL", "LOAD"), "OK")
        self.await_event("^users default: ACL LOAD$")
        client.call("RL.POLICY", "RELOAD")
        self.await_event("^policy default: RL.POLICY RELOAD$")
        server.process.send_signal(signal.SIGHUP)
        self.await_event("^users : SIGHUP: read primary-password-file again$")
        self.await_event("^policy : SIGHUP: read the policy file again$")
        port = free_port()
        self.assertEqual(client.call("REPLICAOF", "127.0.0.1", port), "OK")
        self.await_event(f"^role : follows 127.0.0.1:{port}$")
        self.await_event("^health : the primary .* is not heard")
        primary = self.launch("--port", str(port), "--requirepass", "secret")
        self.assertEqual(primary.port, port)
        self.await_event("^health : over: the primary .* is not heard")
        self.assertEqual(client.call("REPLICAOF", "NO", "ONE"), "OK")
        self.await_event("^role : is the primary$")
        server.stop()
        self.seen = 0
        self.assertGreater(self.start(*options).port, 0)
        self.await_event("^start : weir [^;]* has started$")

    def test_a_disk_that_refuses(self):
        server = self.start("--data-dir", f"{self.directory}/data", "--durability", "always")
        client = self.connect(server)
        self.await_health(client, "ok")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self.assertRegex(client.call("RL.ALLOW", "u", LIMIT), "^MISCONF ")
        self.await_health(client, "bad", "disk_refuses")
        self.assertEqual(client.call("CONFIG", "SET", "on-persist-error", "serve"), "OK")
        self.await_health(client, "bad", "save_failing")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, NO_LIMIT)
        self.await_health(client, "ok")

    def test_a_replica_without_a_state_and_without_a_primary(self):
        port = str(free_port())
        replica = self.start("--replicaof", f"127.0.0.1 {port}")
        other = self.connect(replica)
        self.await_health(other, "bad", "loading", "link_down")
        primary = self.launch("--port", port)
        self.assertEqual(primary.port, int(port))
        self.await_health(other, "ok")
        primary.kill()
        self.await_health(other, "bad", "link_down")

    def test_replicas_that_are_away_and_too_few(self):
        primary = self.start("--min-replicas-to-write", "1")
        client = self.connect(primary)
        self.await_health(client, "bad", "too_few_replicas")
        port = str(free_port())
        replica = self.start_replica(primary, "--port", port, mortal=True)
        self.assertEqual(replica.port, int(port))
        self.await_health(client, "ok")  # from then on it is missed
        replica.kill()
        self.await_health(client, "bad", "too_few_replicas", "replica_away")
        self.assertEqual(client.call("CONFIG", "SET", "min-replicas-to-write", 0), "OK")
        self.await_health(client, "warn", "replica_away")
        again = self.launch("--port", port, "--replicaof", f"127.0.0.1 {primary.port}")
        self.assertEqual(again.port, int(port))
        self.await_health(client, "ok")

    def test_a_server_that_waits_for_sentinel(self):
        server = self.start("--sentinel", "group", "--sentinel-wait", "3600s")
        client = self.connect(server)
        self.await_health(client, "bad", "gated")
        self.promote(client)
        self.await_health(client, "ok")

    def test_a_primary_that_is_deposed(self):
        port = str(free_port())
        primary = self.launch("--port", port)
        self.assertEqual(primary.port, int(port))
        replica = self.connect(self.start_replica(int(port)))
        with Client(int(port)) as client:
            client.call("RL.ALLOW", "a", LIMIT)
            await_in_sync(client, replica)
        primary.kill()
        reborn = self.launch("--port", port)
        self.assertEqual(reborn.port, int(port))
        client = self.connect(reborn)
        self.await_health(client, "bad", "deposed")
        self.assertEqual(client.call("REPLICAOF", "NO", "ONE"), "OK")
        self.await_health(client, "ok")

    def test_memory_that_is_full(self):
        self.admin_port = free_port()
        self.seen = 0
        client = self.connect(self.start("--max-memory", "32mb", "--admin-port",
                                         str(self.admin_port)))
        self.await_health(client, "ok")
        keys = 0
        while not int(fields(client, "weir")["evicted"]):
            for _ in range(100):
                words = []
                for key in range(keys, keys + BATCH):
                    words += ["AND"] * bool(words) + [f"k{key}", "9/d"]
                keys += BATCH
                self.assertEqual(client.call("RL.ALLOW", *words)[0], 1)
        # On a busy host calls are slow, too.
        self.await_equal(lambda: self.health(client)[1].split(",")[0], "memory_full")
        self.await_event("^health : .*memory")

    def test_clients_that_are_turned_away(self):
        server = self.start("--max-clients", "1")
        client = self.connect(server)
        self.await_health(client, "ok")
        with Client(server.port) as other:
            self.assertRegex(other.reply(), "max number of clients")
        self.await_health(client, "warn", "rejecting_clients")

    def test_errors(self):
        client = self.connect(self.start())

        def health_after_an_error():
            self.assertRegex(client.call("NONSENSE"), "^ERR ")
            return self.health(client)

        self.await_equal(health_after_an_error, ("warn", "errors"))

    def test_a_port_without_a_login(self):
        port = str(free_port())
        server = self.start("--http-bind", "0.0.0.0", "--http-port", port,
                            "--protected-mode=false")
        client = self.connect(server)
        self.await_health(client, "warn", "no_login")
        self.assertTrue(re.search(rf"other hosts can reach 0\.0\.0\.0:{port}", server.log()))
        self.assertEqual(client.call("CONFIG", "SET", "protected-mode", "yes"), "OK")
        self.await_health(client, "ok")


if __name__ == "__main__":
    unittest.main()
