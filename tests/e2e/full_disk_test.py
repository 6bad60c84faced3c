"""A disk that is really full, under load: a small tmpfs in the server's own mount namespace."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from weir_e2e import DEADLINE, MEGABYTE, NEVER, SKIPPED, ServerTest, encode, scaled

LIMIT = f"1G/{NEVER},fixed"
KEYS = 5_000
BATCH = 100  # requests at once
PAGE = 4096
DISK = f"size={64 * MEGABYTE}"
# Runs the program that is named behind it, with an empty disk at ./data.
WITH_DISK = ("unshare", "--map-root-user", "--mount", "sh", "-c",
             f'mount -t tmpfs -o {DISK} none data && exec "$0" "$@"')


class FullDiskTest(ServerTest):
    def ask(self, client):
        """Some requests, each on one of many keys and on one for all; all are admitted."""
        keys = [key % KEYS for key in range(self.asked, self.asked + BATCH)]
        client.send(b"".join(
            encode("RL.ALLOW", f"user:{key}", LIMIT, "AND", "all", LIMIT) for key in keys))
        for _ in keys:
            self.assertEqual(client.reply()[0], 1)
        self.asked += BATCH

    def status(self, client):
        lines = client.call("INFO", "persistence").decode().split("\r\n")
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        return fields["persist_status"], fields["persist_error"]

    def fill(self, ballast):
        """Fills the rest of the disk."""
        with self.assertRaises(OSError) as full:
            while True:
                ballast.write(bytes(PAGE))
        self.assertEqual(full.exception.errno, errno.ENOSPC)

    # Goal: decisions go on, INFO shows the failure, and admissions in the meantime are saved as
    # soon as there is room (D51). Method: a file takes all the room, for ten seconds in which
    # saves fail.
    def test_ten_seconds_without_room(self):
        self.asked = 0
        os.mkdir(os.path.join(self.directory, "data"))
        server = self.start("--data-dir", "data", "--snapshot-interval", "20ms",
                            "--backup-dir", "data/backups", starter=WITH_DISK)
        server.wait_for_log(r"loaded \d+ buckets")
        client = self.connect(server)
        disk = f"/proc/{server.pid}/root{os.path.join(self.directory, 'data')}"
        self.ask(client)
        path = os.path.join(disk, "ballast")
        deadline = time.monotonic() + 2 * DEADLINE
        failing_since = None
        error = ""
        with open(path, "wb", buffering=0) as ballast:
            while failing_since is None or time.monotonic() < failing_since + scaled(10):
                self.assertLess(time.monotonic(), deadline)
                self.fill(ballast)  # also the room that the server has freed
                self.ask(client)
                status, reason = self.status(client)
                error = reason or error
                failing_since = None if status == "ok" else failing_since or time.monotonic()
            self.assertRegex(error, "No space left on device")
            self.assertRegex(client.call("SAVE"), "^MISCONF cannot save to disk: ")
            self.assertRegex(client.call("RL.BACKUP", "full"), "^MISCONF cannot save to disk: ")
            self.assertEqual(os.listdir(os.path.join(disk, "backups")), [])

        os.remove(path)
        self.await_equal(lambda: self.ask(client) or self.status(client), ("ok", ""))
        self.assertEqual(client.call("SAVE"), "OK")
        server.pause()
        kept = os.path.join(self.directory, "kept")
        shutil.copytree(disk, kept, ignore=shutil.ignore_patterns("backups"))
        server.resume()
        restarted = self.start("--data-dir", kept)
        restarted.wait_for_log(r"loaded \d+ buckets")
        client = self.connect(restarted)
        left = client.call("RL.PEEK", "all", LIMIT, "COST", 0)[1]
        self.assertEqual(left, 10**9 - self.asked)
        for key in (0, KEYS // 2, KEYS - 1):
            left = client.call("RL.PEEK", f"user:{key}", LIMIT, "COST", 0)[1]
            self.assertEqual(left, 10**9 - len(range(key, self.asked, KEYS)))


def can_mount():
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "data"))
        tried = subprocess.run((*WITH_DISK, "true"), cwd=directory, capture_output=True)
    return tried.returncode == 0


if __name__ == "__main__":
    if not can_mount():
        print("no disk of one's own can be mounted here")
        sys.exit(SKIPPED)
    unittest.main()
