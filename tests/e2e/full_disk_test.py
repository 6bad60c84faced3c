"""A disk that is really full, under load: a small tmpfs in a mount namespace of the server's."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from redis_host import SKIPPED
from weir_e2e import DEADLINE, MEGABYTE, NEVER, ServerTest, encode, scaled

LIMIT = f"1000/{NEVER}"
ALL = f"1G/{NEVER},fixed"
BATCH = 100  # requests at once
DISK = f"size={64 * MEGABYTE}"
# Becomes the program that is named behind it, with an empty disk at ./data.
WITH_DISK = ("unshare", "--map-root-user", "--mount", "sh", "-c",
             f'mount -t tmpfs -o {DISK} none data && exec "$0" "$@"')


class FullDiskTest(ServerTest):
    def ask(self, client):
        """Some requests, each on a new key and on one of all; counts those that were admitted."""
        keys = range(self.asked, self.asked + BATCH)
        client.send(b"".join(
            encode("RL.ALLOW", f"user:{key}", LIMIT, "AND", "all", ALL) for key in keys))
        for _ in keys:
            self.assertEqual(client.reply()[0], 1)
        self.asked += BATCH

    def status(self, client):
        lines = client.call("INFO", "persistence").decode().split("\r\n")
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        return fields["persist_status"], fields["persist_error"]

    # Goal: who asks does not notice; who looks sees it; what was admitted meanwhile is saved as
    # soon as there is room (D51). Method: a file takes all the room, for ten seconds.
    def test_ten_seconds_without_room(self):
        self.asked = 0
        os.mkdir(os.path.join(self.directory, "data"))
        server = self.start("--data-dir", "data", "--snapshot-interval", "20ms", starter=WITH_DISK)
        server.wait_for_log(r"loaded \d+ buckets")
        client = self.connect(server)
        disk = f"/proc/{server.pid}/root{os.path.join(self.directory, 'data')}"
        self.ask(client)
        ballast = os.path.join(disk, "ballast")
        with open(ballast, "wb", buffering=0) as file, self.assertRaises(OSError) as full:
            while True:
                file.write(bytes(MEGABYTE // 16))
        self.assertEqual(full.exception.errno, errno.ENOSPC)

        begun = time.monotonic()
        while time.monotonic() < begun + scaled(10) or self.status(client)[0] == "ok":
            self.assertLess(time.monotonic(), begun + DEADLINE, self.status(client))
            self.ask(client)
        self.assertRegex(self.status(client)[1], "No space left on device")
        self.assertRegex(client.call("SAVE"), "^MISCONF cannot save to disk: ")

        os.remove(ballast)
        self.await_equal(lambda: self.ask(client) or self.status(client), ("ok", ""))
        self.assertEqual(client.call("SAVE"), "OK")
        server.pause()
        kept = os.path.join(self.directory, "kept")
        shutil.copytree(disk, kept)
        server.resume()
        restarted = self.start("--data-dir", kept)
        restarted.wait_for_log(r"loaded \d+ buckets")
        client = self.connect(restarted)
        left = client.call("RL.PEEK", "all", ALL, "COST", 0)[1]
        self.assertEqual(left, 10**9 - self.asked)
        for key in (0, self.asked // 2, self.asked - 1):
            self.assertEqual(client.call("RL.PEEK", f"user:{key}", LIMIT, "COST", 0)[1], 999)


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
