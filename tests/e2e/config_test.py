"""CONFIG SET on a real server: each change affects connected clients and new ones."""

import os
import unittest

from weir_e2e import NEVER, ServerTest

TOO_MANY = b"-ERR max number of clients reached\r\n"


class ConfigTest(ServerTest):
    def set(self, client, *words):
        self.assertEqual(client.call("CONFIG", "SET", *words), "OK")

    def test_fewer_clients_and_more(self):
        server = self.start("--threads", "2")
        clients = [self.connect(server) for _ in range(3)]
        for client in clients:
            self.assertEqual(client.call("PING"), "PONG")
        self.set(clients[0], "max-clients", 2)
        self.assertEqual(self.info(clients[0])["maxclients"], 2)
        self.assertEqual(self.connect(server).rest(), TOO_MANY)
        for client in clients:
            self.assertEqual(client.call("PING"), "PONG", "no client is closed")
        self.set(clients[0], "max-clients", 4)
        self.assertEqual(self.connect(server).call("PING"), "PONG")
        self.assertEqual(self.connect(server).rest(), TOO_MANY)

    # Goal: no client is promised a place that the system does not have. Method: a hard limit on
    # descriptors that leaves room for fewer clients than are asked for.
    def test_no_more_clients_than_descriptors(self):
        for options in ((), ("--data-dir", "data")):
            with self.subTest(options=options):
                server = self.start("--threads", "2", *options, descriptors_max=300)
                server.wait_for_log("max-clients is")
                client = self.connect(server)
                most = int(client.call("CONFIG", "GET", "maxclients")[1])
                self.set(client, "maxclients", 10)
                error = client.call("CONFIG", "SET", "timeout", 9, "maxclients", most + 1)
                self.assertRegex(error, rf"'maxclients'\) - The operating .*, try with {most}$")
                self.assertEqual(client.call("CONFIG", "GET", "timeout")[1], b"0")
                self.assertEqual(client.call("CONFIG", "GET", "maxclients")[1], b"10")
                self.set(client, "maxclients", most)

    # The one who sets it is idle then, too.
    def test_a_timeout_closes_clients_that_are_idle_already(self):
        server = self.start("--threads", "2")
        clients = [self.connect(server) for _ in range(6)]
        for client in clients:
            self.assertEqual(client.call("PING"), "PONG")
        self.set(clients[0], "timeout", 1)
        for client in clients:
            self.assertEqual(client.rest(), b"")

    def test_the_log_names_each_change_and_its_user(self):
        server = self.start()
        client = self.connect(server)
        self.set(client, "log-level", "error")
        self.set(client, "timeout", 600)
        self.set(client, "log-level", "info")
        self.set(client, "timeout", 0, "max-clients", 99)
        server.wait_for_log(
            r"warning client 127\.0\.0\.1:\d+, user 'default', has set timeout to 0s, it was 600s\n"
            r".* has set max-clients to 99, it was \d+\n"
        )
        self.assertNotIn("to 600s", server.log())

    # Goal: a new interval counts. Method: a server that would save in an hour; after a save that is
    # asked for, the next one comes in its time.
    def test_a_snapshot_interval_counts_from_the_next_save_on(self):
        client = self.connect(self.start("--data-dir", "data", "--snapshot-interval", "1h"))
        self.await_equal(lambda: self.info(client)["loading"], 0)
        self.set(client, "snapshot-interval", "10ms")
        self.assertEqual(client.call("SAVE"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "u", f"9/{NEVER}")[0], 1)
        self.await_equal(lambda: self.info(client)["dirty_buckets"], 0)

    def test_the_file_stays_as_it_is(self):
        path = os.path.join(self.directory, "weir.toml")
        text = b"timeout = '1h'  # ours\n"
        with open(path, "wb") as file:
            file.write(text)
        client = self.connect(self.start("--config", path))
        self.set(client, "timeout", 7)
        error = client.call("CONFIG", "REWRITE")
        self.assertRegex(error, f"^ERR weir does not write its config file: .* edit '{path}'")
        with open(path, "rb") as file:
            self.assertEqual(file.read(), text)
        self.assertEqual(client.call("CONFIG", "GET", "timeout")[1], b"7")


if __name__ == "__main__":
    unittest.main()
