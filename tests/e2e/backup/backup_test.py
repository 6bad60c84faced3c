"""RL.BACKUP, RL.BACKUPS and RL.BACKUP DEL, and a restore by a move and a start."""

import os
import re
import resource
import shutil
import stat
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, NEVER, Error, ServerTest, encode, scaled

LIMIT = f"100/{NEVER}"
NO_DISK = "ERR nothing is kept on disk: see --data-dir and --durability"


class BackupTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.directory, "data")
        self.backups = os.path.join(self.directory, "backups")

    def start_loaded(self, *options):
        server = self.start("--data-dir", self.data, *options)
        server.wait_for_log(r"loaded \d+ buckets")
        return server

    def start_with_backups(self, *options):
        return self.start_loaded("--backup-dir", self.backups, *options)

    def restore(self, name):
        """As the documentation says: a backup takes the place of the data directory."""
        shutil.rmtree(self.data)
        os.rename(os.path.join(self.backups, name), self.data)

    def remaining(self, client, key):
        return client.call("RL.PEEK", key, LIMIT, "COST", 0)[1]

    def names(self, client):
        return [name.decode() for name, _, _ in client.call("RL.BACKUPS")]

    # Goal: in each mode that keeps a state, a restored backup is the state at the backup. Method: a
    # long interval, so that only the backup can have saved it; then changes that it must not have.
    def test_a_restore_is_the_state_at_the_backup(self):
        for durability in ("snapshot", "always"):
            server = self.start_with_backups(
                "--durability", durability, "--snapshot-interval", "1h")
            client = self.connect(server)
            client.call("RL.RESET", "u")
            client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
            client.call("RL.POLICY", "SET", "free", "5/w")
            client.call("RL.POLICY", "OVERRIDE", "free", "vip", "500/w")
            size, buckets = client.call("RL.BACKUP", durability)
            self.assertEqual(buckets, client.call("DBSIZE"))
            path = os.path.join(self.backups, durability)
            self.assertEqual(size, sum(entry.stat().st_size for entry in os.scandir(path)))
            ((name, listed_size, made),) = client.call("RL.BACKUPS")
            self.assertEqual((name.decode(), listed_size), (durability, size))
            self.assertAlmostEqual(made, time.time(), delta=DEADLINE)
            client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
            client.call("RL.POLICY", "DEL", "free")
            self.assertEqual(server.stop(), 0)
            self.restore(durability)
            server = self.start_with_backups()
            client = self.connect(server)
            self.assertEqual(self.remaining(client, "u"), 70)
            self.assertEqual(client.call("RL.POLICY", "GET", "free"), [b"5/w"])
            self.assertEqual(client.call("RL.POLICY", "OVERRIDES", "free"), [[b"vip", b"500/w"]])
            self.assertEqual(self.names(client), [])
            self.assertEqual(server.stop(), 0)

    # Goal: the commands of the documentation restore a backup that lies in the data directory.
    # Method: those between the stop and the start of the service, with a directory of the test.
    def test_the_documented_restore(self):
        page = (Path(__file__).parents[3] / "docs/persistence.md").read_text()
        (block,) = re.findall(r"\nsystemctl stop weir\n(.*?)systemctl start weir\n", page, re.S)
        checked, script = block.split("\n", 1)
        self.assertTrue(checked.startswith("weir-check data "), checked)
        nested = ("--backup-dir", f"{self.data}/backups")
        server = self.start_loaded(*nested)
        client = self.connect(server)
        client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
        for name in ("before-upgrade", "other"):
            self.assertEqual(len(client.call("RL.BACKUP", name)), 2)
        client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
        self.assertEqual(server.stop(), 0)
        script = script.replace("/var/lib/weir", self.data)
        subprocess.run(["sh", "-ec", script], check=True)
        client = self.connect(self.start_loaded(*nested))
        self.assertEqual(self.remaining(client, "u"), 70)
        self.assertEqual(self.names(client), ["other"])

    def test_only_its_owner_may_read_a_backup(self):
        client = self.connect(self.start_with_backups())
        client.call("RL.BACKUP", "a")
        for path in (self.backups, os.path.join(self.backups, "a")):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700)

    def test_without_directories_the_error_says_what_to_set(self):
        client = self.connect(self.start("--backup-dir", self.backups))
        self.assertEqual(client.call("RL.BACKUP", "a"), NO_DISK)
        self.assertEqual(client.call("RL.BACKUPS"), NO_DISK)
        none = self.start("--data-dir", self.data, "--durability", "none",
                          "--backup-dir", self.backups)
        self.assertEqual(self.connect(none).call("RL.BACKUP", "a"), NO_DISK)
        self.assertFalse(os.path.exists(self.backups))
        client = self.connect(self.start_loaded())
        unset = "ERR there is no directory of backups: see --backup-dir"
        for words in (("RL.BACKUP", "a"), ("RL.BACKUP", "DEL", "a"), ("RL.BACKUPS",)):
            self.assertEqual(client.call(*words), unset)

    # Goal: a name cannot leave the directory, and an error changes nothing.
    def test_errors_are_clear_and_harmless(self):
        client = self.connect(self.start_with_backups())
        client.call("RL.BACKUP", "a")
        before = {path: files for path, _, files in os.walk(self.directory)}
        name = "must be 1 to 64 of a-z, 0-9 and -$"
        for bad in ("../x", "..", "/tmp/x", "", "A", "a.b", "a" * 65, "DEL"):
            self.assertRegex(client.call("RL.BACKUP", bad), "^ERR invalid backup name '.*" + name)
            self.assertRegex(client.call("RL.BACKUP", "DEL", bad), "^ERR invalid backup name")
        self.assertRegex(client.call("RL.BACKUP", "a"), "^ERR there is already a backup 'a'")
        self.assertEqual(client.call("RL.BACKUP", "DEL", "b"), "ERR there is no backup 'b'")
        self.assertEqual(client.call("RL.BACKUP", "a", "b"), "ERR syntax error")
        self.assertIsInstance(client.call("RL.BACKUP"), Error)
        failed = client.call("INFO", "commandstats").decode()
        self.assertRegex(failed, r"cmdstat_rl\.backup:calls=20,.*,failed_calls=19")
        after = {path: files for path, _, files in os.walk(self.directory)}
        self.assertEqual(after, before)
        shutil.rmtree(self.backups)
        self.assertRegex(client.call("RL.BACKUP", "b"), "backups: No such file or directory$")
        self.assertRegex(client.call("RL.BACKUPS"), "backups: No such file or directory$")

    def test_sixty_four_backups_are_kept_and_sorted(self):
        client = self.connect(self.start_with_backups())
        names = [f"day-{i:02}" for i in range(64)]
        for name in reversed(names):
            self.assertEqual(len(client.call("RL.BACKUP", name)), 2)
        self.assertEqual(client.call("RL.BACKUP", "one-more"),
                         "ERR there are 64 backups already: RL.BACKUP DEL removes one")
        self.assertEqual(self.names(client), names)
        self.assertEqual(client.call("rl.backup", "del", names[5]), "OK")
        self.assertEqual(len(client.call("RL.BACKUP", "one-more")), 2)
        self.assertEqual(self.names(client), [n for n in names if n != names[5]] + ["one-more"])

    # Goal: replies keep their order, and a client that wants none gets none.
    def test_the_replies_of_a_pipeline_keep_their_order(self):
        client = self.connect(self.start_with_backups("--durability", "always"))
        requests = (("ECHO", "1"), ("RL.BACKUP", "a"), ("RL.ALLOW", "u", LIMIT), ("RL.BACKUP", "a"),
                    ("RL.BACKUPS",), ("RL.BACKUP", "DEL", "a"), ("SAVE",), ("ECHO", "2"))
        client.send(b"".join(encode(*words) for words in requests))
        replies = [client.reply() for _ in requests]
        self.assertEqual(replies[0], b"1")
        self.assertEqual([len(replies[1]), len(replies[2])], [2, 5])
        self.assertRegex(replies[3], "^ERR there is already")
        self.assertEqual([name for name, _, _ in replies[4]], [b"a"])
        self.assertEqual(replies[5:], ["OK", "OK", b"2"])
        client.send(encode("CLIENT", "REPLY", "SKIP") + encode("RL.BACKUP", "b"))
        client.send(encode("RL.BACKUPS"))
        self.assertEqual([name for name, _, _ in client.reply()], [b"b"])

    def test_it_is_for_operators_and_runs_alone(self):
        users = self.write(
            "users", "user app on >secret ~* +@limit\nuser default on nopass ~* +@all\n")
        server = self.start_with_backups("--users-file", users)
        client = self.connect(server)
        self.assertEqual(client.call("MULTI"), "OK")
        self.assertRegex(client.call("RL.BACKUP", "a"), "not allowed inside a transaction")
        self.assertRegex(client.call("EXEC"), "^EXECABORT")
        self.assertIn(b"rl.backup", client.call("ACL", "CAT", "dangerous"))
        client.call("AUTH", "app", "secret")
        self.assertRegex(client.call("RL.BACKUP", "a"), "^NOPERM ")
        self.assertRegex(client.call("RL.BACKUPS"), "^NOPERM ")
        self.assertEqual(os.listdir(self.backups), [])

    # Method: a directory on /dev/shm or /var/tmp, one of which is another file system.
    def test_another_file_system_is_refused(self):
        for parent in ("/dev/shm", "/var/tmp"):
            if os.stat(parent).st_dev != os.stat(self.directory).st_dev:
                break
        else:
            self.skipTest("there is one file system")
        with tempfile.TemporaryDirectory(prefix="weir_e2e_", dir=parent) as other:
            server = self.start_loaded("--backup-dir", other)
            client = self.connect(server)
            client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
            self.assertRegex(client.call("RL.BACKUP", "a"), "must be on the same file system$")
            self.assertEqual(os.listdir(other), [])
            self.assertEqual(client.call("SAVE"), "OK")
            self.assertEqual(self.remaining(client, "u"), 70)
            self.assertEqual(server.stop(), 0)

    def test_a_start_refuses_a_directory_that_cannot_be_used(self):
        self.assertRegex(self.refused("--data-dir", self.data, "--backup-dir", self.data),
                         "backup directory .*: it is the data directory")
        missing = os.path.join(self.directory, "no", "where")
        self.assertRegex(self.refused("--data-dir", self.data, "--backup-dir", missing),
                         "backup directory .*: No such file or directory")
        self.start_with_backups()
        self.assertRegex(
            self.refused("--data-dir", self.data + "2", "--backup-dir", self.backups),
            "backup directory .*: another server uses it")

    # Goal: a full disk leaves no half of a backup, and saves work again afterwards. Method: no file
    # may grow any more, which writes see as an error.
    def test_a_full_disk_leaves_no_backup(self):
        server = self.start_with_backups("--snapshot-interval", "1h")
        client = self.connect(server)
        client.call("RL.BACKUP", "before")
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self.assertRegex(client.call("RL.BACKUP", "idle"), "^ERR data directory .*: IO error")
        client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
        self.assertRegex(client.call("RL.BACKUP", "dirty"), "^MISCONF cannot save to disk: ")
        self.assertEqual(self.names(client), ["before"])
        self.assertEqual(os.listdir(self.backups), ["before"])
        self.assertEqual(client.call("RL.BACKUP", "DEL", "before"), "OK")  # makes room
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        self.await_equal(lambda: client.call("SAVE"), "OK")
        self.assertEqual(len(client.call("RL.BACKUP", "after")), 2)
        self.assertEqual(server.stop(), 0)
        self.restore("after")
        self.assertEqual(self.remaining(self.connect(self.start_with_backups()), "u"), 70)

    # Goal: decisions go on while backups are made. Method: one client makes them without pause, the
    # answers of another one are counted.
    def test_decisions_go_on(self):
        client = self.connect(server := self.start_with_backups("--threads", "1"))
        for key in range(1000):
            client.send(encode("RL.ALLOW", f"user:{key}", LIMIT))
        for _ in range(1000):
            client.reply()
        other = self.connect(server)
        for i in range(scaled(20)):
            other.send(encode("RL.BACKUP", "a") + encode("RL.BACKUP", "DEL", "a"))
            self.assertEqual(client.call("RL.ALLOW", f"fresh:{i}", LIMIT)[0], 1)
            self.assertEqual(len(other.reply()), 2)
            self.assertEqual(other.reply(), "OK")


if __name__ == "__main__":
    unittest.main()
