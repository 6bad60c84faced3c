"""Clients on a Unix socket: redis-cli -s, the file's mode, and the file's removal."""

import os
import signal
import stat
import unittest

from weir_e2e import ServerTest


class UnixSocketTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.directory, "weir.sock")

    def start_unix(self, *options):
        server = self.start(f"--unix-socket={self.path}", *options)
        server.wait_for_log(r"listening on .*weir\.sock")
        return server

    def ask(self, *words):
        return self.run_client("redis-cli", "-s", self.path, *words)[0]

    def mode(self):
        return stat.S_IMODE(os.stat(self.path).st_mode)

    def test_redis_cli_is_served(self):
        server = self.start_unix()
        self.assertEqual(self.ask("RL.ALLOW", "k", "10/h").split(), ["1", "9", "0", "360000", "0"])
        self.assertIn(f"addr={self.path}:0 laddr={self.path}:0 ", self.ask("CLIENT", "LIST"))
        # TCP and the Unix socket share one table.
        self.assertIn("(integer) 8", self.redis_cli(server, "RL.ALLOW", "k", "10/h"))

    def test_only_the_owner_may_connect_unless_said(self):
        server = self.start_unix()
        self.assertEqual(self.mode(), 0o700)
        self.assertEqual(server.stop(), 0)
        self.start_unix("--unix-socket-perm=770")
        self.assertEqual(self.mode(), 0o770)

    def test_a_stop_removes_it_and_a_killed_servers_is_taken_over(self):
        server = self.start_unix()
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(self.path))
        killed = self.launch("--port=0", f"--unix-socket={self.path}")
        killed.wait_for_log(r"listening on .*weir\.sock")
        self.assertEqual(killed.stop(signal.SIGKILL), -signal.SIGKILL)
        self.assertTrue(os.path.exists(self.path))
        self.start_unix()
        self.assertEqual(self.ask("PING"), "PONG\n")

    def test_an_obstacle_is_named(self):
        self.start_unix()
        file = os.path.join(self.directory, "letters")
        with open(file, "w", encoding="ascii"):
            pass
        for path, said in (
            (self.path, "Address already in use"),
            (file, "the file exists and is not a socket"),
            (self.directory + "/" + "x" * 108, "that of a Unix socket has at most 107"),
            (self.directory + "/none/s", "No such file or directory"),
        ):
            with self.subTest(said):
                line = self.refused(f"--unix-socket={path}")
                self.assertIn("cannot listen on '", line)
                self.assertIn(said, line)
        self.assertEqual(self.ask("PING"), "PONG\n")


if __name__ == "__main__":
    unittest.main()
