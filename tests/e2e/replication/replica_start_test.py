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


class RestoreTest(ReplicationTest):
    """Servers that start in backups."""

    def kept(self, name):
        data = os.path.join(self.directory, name)
        return ("--data-dir", data, "--backup-dir", data + "-backups")

    def restore(self, name, backup="b"):
        """Puts the backup in the place of the directory, as docs/operations.md says."""
        data = os.path.join(self.directory, name)
        os.rename(data, f"{data}.old")
        os.rename(os.path.join(f"{data}-backups", backup), data)
        return os.path.join(data, "BACKUP")

    # r is the primary for a while, as after a failover, and makes a backup.
    def test_a_backup_carries_no_role(self):
        primary = self.start(*self.kept("p"))
        follows = ("--replicaof", f"127.0.0.1 {primary.port}")
        server = self.start(*self.kept("r"), *follows)
        client, other = self.connect(server), self.connect(primary)
        await_true(lambda: is_exact(client), server.log)
        self.promote(client)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT, "COST", 30)[0], 1)
        self.assertIsInstance(client.call("RL.BACKUP", "b"), list)
        self.follow(other, server)
        self.promote(other)
        self.follow(client, primary)
        self.assertEqual(server.stop(), 0)
        mark = self.restore("r")
        self.assertTrue(os.path.exists(mark))
        server = self.start(*self.kept("r"), *follows)
        server.wait_for_log("the option replicaof gives this server its role")
        client = self.connect(server)
        await_true(lambda: is_exact(client), server.log)
        self.assertEqual(fields(client)["role"], "slave")
        self.assertEqual(self.remaining(client, "k"), 70)
        # It has joined its primary. The mark goes with a save that follows the one of its record.
        await_true(lambda: not os.path.exists(mark), server.log)

    # The documented steps, on a primary whose replica was the primary since the backup.
    def test_a_primary_is_restored_to_a_term_before_its_replicas(self):
        port = free_port()
        primary = self.launch("--port", str(port), *self.kept("p"))
        primary.wait_for_log("loaded")
        replica = self.start_replica(port, *self.kept("r"))
        client, other = self.connect(primary), self.connect(replica)
        await_in_sync(client, other)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT, "COST", 30)[0], 1)
        self.assertIsInstance(client.call("RL.BACKUP", "b"), list)
        for ours, theirs in ((client, other), (other, client)):
            self.assertEqual(ours.call("FAILOVER"), "OK")
            await_true(lambda one=theirs: fields(one)["role"] == "master", primary.log)
            await_true(lambda one=ours: is_exact(one), primary.log)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT, "COST", 30)[0], 1)
        await_in_sync(client, other)
        self.assertEqual(primary.stop(), 0)
        mark = self.restore("p")
        primary = self.launch("--port", str(port), *self.kept("p"))
        primary.wait_for_log("loaded")
        client = self.connect(primary)
        # A restore is an order: the replica, which is in a later history, follows it.
        self.assertEqual(self.remaining(client, "k"), 70)
        await_true(lambda: fields(client)["connected_slaves"] == "1", replica.log)
        await_in_sync(client, other)
        self.assertEqual(self.remaining(other, "k"), 70)
        # It serves in a term of its own.
        await_true(lambda: not os.path.exists(mark), primary.log)

    def test_a_server_of_another_group_changes_nothing(self):
        strangers = self.start(*self.kept("s"))
        member = self.start_replica(strangers, *self.kept("m"))
        await_in_sync(self.connect(strangers), self.connect(member))
        self.assertEqual(member.stop(), 0)
        server = self.start(*self.kept("y"))
        server.wait_for_log("loaded 0 buckets")
        client = self.connect(server)
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[0], 1)
        member = self.start(*self.kept("m"), "--replicaof", f"127.0.0.1 {server.port}")
        member.wait_for_log("it answers: OTHERGROUP this server is of another group")
        server.wait_for_log("refused replica .* OTHERGROUP this server is of another group")
        self.assertEqual(client.call("RL.ALLOW", "k", LIMIT)[0], 1)
        self.assertEqual((fields(client)["deposed"], fields(client)["term"]), ("0", "0"))


if __name__ == "__main__":
    unittest.main()
