"""Starts of replicas: with the options of the package, and from directories of all kinds."""

import http.client
import os
import time
import unittest

from replication_servers import LIMIT, ReplicationTest, await_in_sync, await_true, fields, is_exact
from weir_e2e import free_port

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")
PACKAGED = os.path.join(ROOT, "contrib", "config", "weir.toml")


class ReplicaStartTest(ReplicationTest):
    def start_packaged(self, primary_port, name):
        """A replica with the package's options, but for directories and ports."""
        self.admin_port = free_port()
        directory = os.path.join(self.directory, name)
        return self.start(
            "--config", PACKAGED, "--data-dir", directory, "--backup-dir", directory + "-backups",
            "--admin-port", str(self.admin_port), "--replicaof", f"127.0.0.1 {primary_port}",
        )

    def assert_page_answers(self):
        page = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=60)
        self.addCleanup(page.close)
        for path in ("/", "/api/now", "/api/history?step=1"):
            page.request("GET", path)
            answer = page.getresponse()
            self.assertEqual((answer.status, bool(answer.read())), (200, True), path)

    def assert_time_is_the_hosts(self, client):
        self.assertLess(abs(int(client.call("TIME")[0]) - time.time()), 5)

    def test_a_new_replica_of_the_package_runs_before_and_after_its_primary(self):
        port = free_port()
        replica = self.start_packaged(port, "early")
        replica.wait_for_log("loaded 0 buckets")
        client = self.connect(replica)
        self.assert_page_answers()
        self.assert_time_is_the_hosts(client)
        primary = self.launch("--port", str(port))
        self.assertEqual(primary.port, port)
        await_true(lambda: is_exact(client), replica.log)
        other = self.connect(primary)
        other.call("RL.ALLOW", "k", LIMIT, "COST", 30)
        await_in_sync(other, client)
        self.assertEqual(self.remaining(client, "k"), 70)
        self.assert_page_answers()
        self.assert_time_is_the_hosts(client)
        for name in ("late", "late"):  # the second start finds what the first one has saved
            replica = self.start_packaged(port, name)
            client = self.connect(replica)
            await_true(lambda one=client: is_exact(one), replica.log)
            self.assert_page_answers()
            self.assertEqual(replica.stop(), 0)

    def test_a_second_start_without_a_primary_finds_the_same_empty_directory(self):
        for _ in range(2):
            replica = self.start_packaged(1, "alone")
            replica.wait_for_log("loaded 0 buckets")
            self.assert_page_answers()
            client = self.connect(replica)
            self.assertEqual(fields(client)["role"], "slave")
            self.assertEqual(replica.stop(), 0)


if __name__ == "__main__":
    unittest.main()
