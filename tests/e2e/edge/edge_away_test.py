"""Answers of an edge while its primary is away; and its return."""

import os
import socket
import threading
import unittest

from edge_servers import EdgeTest, edge_fields
from weir_e2e import NEVER, Error, encode, free_port

ALLOW = ("RL.ALLOW", "k", f"1000/{NEVER}")
ANSWERS = {"error": None, "closed": [0, 0, -1, 0, 0], "open": [1, 0, 0, 0, 0]}


class AwayTest(EdgeTest):
    def check_words(self, client):
        for word, answer in ANSWERS.items():
            self.assertEqual(client.call("CONFIG", "SET", "edge-away", word), "OK")
            before = int(edge_fields(client)[f"away_{word}"])
            reply = client.call(*ALLOW)
            if answer:
                self.assertEqual(reply, answer)
            else:
                self.assertRegex(reply, r"^NOPRIMARY .*127\.0\.0\.1:\d+$")
            self.assertEqual(int(edge_fields(client)[f"away_{word}"]), before + 1)
            # Only RL.ALLOW is answered in place of the primary.
            self.assertRegex(client.call("RL.PEEK", *ALLOW[1:]), "^NOPRIMARY ")

    def test_a_primary_that_was_never_there(self):
        edge = self.start("--edge-of", f"127.0.0.1:{free_port()}")
        self.check_words(self.connect(edge))

    def test_a_primary_that_is_killed_and_comes_back(self):
        port = free_port()
        primary = self.start_mortal(port)
        edge = self.start_edge(port)
        client = self.connect(edge)
        self.assertEqual(client.call(*ALLOW)[:2], [1, 999])
        primary.kill()
        self.await_connected(edge, "away")
        self.check_words(client)
        self.start_mortal(port)
        self.await_connected(edge)
        client.call("CONFIG", "SET", "edge-away", "error")
        self.assertEqual(client.call(*ALLOW)[:2], [1, 999])

    def test_what_is_under_way_is_answered_when_the_primary_dies(self):
        primary = self.start_mortal(free_port())
        edge = self.start_edge(primary.port, "--edge-away", "closed")
        client = self.connect(edge)
        primary.pause()
        client.send(encode(*ALLOW) + encode("ECHO", "x") + encode("RL.PEEK", *ALLOW[1:]))
        primary.kill()
        self.assertEqual(client.reply(), ANSWERS["closed"])
        self.assertEqual(client.reply(), b"x")
        self.assertRegex(client.reply(), "^NOPRIMARY ")

    def test_a_primary_that_is_silent_is_away(self):
        primary = self.start_primary()
        edge = self.start_edge(primary.port)
        client = self.connect(edge)
        primary.pause()
        try:
            self.assertRegex(client.call(*ALLOW), "^NOPRIMARY ")
            edge.wait_for_log("no primary: .*: it does not answer")
        finally:
            primary.resume()
        self.await_connected(edge)

    def test_an_edge_is_ready_while_it_is_connected_or_answers_in_place(self):
        port = free_port()
        edge = self.start("--edge-of", "127.0.0.1:1", "--admin-port", str(port))
        self.assertIn(b"503", self.status(port))
        self.connect(edge).call("CONFIG", "SET", "edge-away", "open")
        self.assertIn(b"200", self.status(port))

    def status(self, port):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /readyz HTTP/1.0\r\n\r\n")
            return client.recv(100).split(b"\r\n")[0]

    def test_a_primary_that_sends_garbage(self):
        """Whatever it sends, the edge's clients get an answer, and the edge lives."""
        greeting = b"%1\r\n+server\r\n+weir\r\n"
        info = b"$14\r\nrole:master\r\n \r\n"
        garbage = (
            b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 100_000, b"*1000000000\r\n",
            b"$99999999999\r\n", b"*1\r\n" * 100, greeting, greeting + b"-ERR no\r\n",
            greeting + info + b":1\r\n" * 3, greeting + info + b"?\r\n",
            greeting + info + b">1\r\n+x\r\n" * 100, os.urandom(5000),
        )  # fmt: skip
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]

            def serve():
                for bytes_ in garbage * 2:
                    try:
                        peer, _ = server.accept()
                    except OSError:
                        return
                    with peer:
                        peer.settimeout(5)
                        try:
                            peer.recv(4096)
                            peer.sendall(bytes_)
                            peer.shutdown(socket.SHUT_WR)
                            while peer.recv(4096):
                                pass
                        except OSError:
                            pass

            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            edge = self.start("--edge-of", f"127.0.0.1:{port}")
            client = self.connect(edge)
            for _ in range(300):
                self.assertIsInstance(client.call(*ALLOW), (Error, list, int))
            self.await_equal(lambda: len(edge.log().splitlines()) > 8, True)
        self.assertEqual(client.call("PING"), "PONG")


if __name__ == "__main__":
    unittest.main()
