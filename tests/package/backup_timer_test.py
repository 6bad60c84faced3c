"""The script that the timer of backups starts: it makes one and keeps the last seven of its own."""

import re
import shlex
import subprocess
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, ServerTest, client_environment

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "contrib/systemd/weir-backup.service"
SCRIPT = ROOT / "contrib/systemd/backup"


class BackupTimerTest(ServerTest):
    def run_script(self, *options, password=None):
        environment = client_environment(self.directory)
        if password:
            environment["REDISCLI_AUTH"] = password
        return subprocess.run([SCRIPT, *options], env=environment, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)

    def start_with_backups(self, *options):
        server = self.start("--data-dir", "data", "--backup-dir", "backups", *options)
        server.wait_for_log(r"loaded \d+ buckets")
        return server

    def names(self, client):
        return [name.decode() for name, _, _ in client.call("RL.BACKUPS")]

    # Method: older backups of the timer and of others are there already.
    def test_the_last_seven_stay_and_those_of_others(self):
        server = self.start_with_backups()
        client = self.connect(server)
        old = [f"auto-20260101-0{i}0000" for i in range(9)]
        others = ["auto-1", "before-upgrade"]
        for name in (*old, *others):
            self.assertEqual(len(client.call("RL.BACKUP", name)), 2)
        done = self.run_script("-p", str(server.port))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        names = self.names(client)
        self.assertEqual([name for name in names if name in others], others)
        kept = [name for name in names if name not in others]
        self.assertEqual(kept[:-1], old[-6:])
        self.assertRegex(kept[-1], r"^auto-\d{8}-\d{6}$")
        self.assertGreater(kept[-1], old[-1])

    def test_a_failure_is_one_of_the_unit(self):
        server = self.start_with_backups("--requirepass", "secret")
        port = ("-p", str(server.port))
        self.assertNotEqual(self.run_script(*port).returncode, 0)
        self.assertEqual(self.run_script(*port, password="secret").returncode, 0)
        client = self.connect(server)
        client.call("AUTH", "secret")
        self.assertEqual(len(self.names(client)), 1)
        self.assertEqual(server.stop(), 0)
        self.assertNotEqual(self.run_script(*port, password="secret").returncode, 0)

    def test_the_unit_asks_the_port_of_the_service(self):
        text = UNIT.read_text()
        options = re.search('^Environment="OPTIONS=(.*)"$', text, re.MULTILINE).group(1)
        self.assertEqual(shlex.split(options), ["-p", "7379"])
        self.assertIn("ExecStart=/usr/libexec/weir/backup $OPTIONS\n", text)


if __name__ == "__main__":
    unittest.main()
