"""RL.WAIT on real clocks and sockets: no early answer, and tokens back from clients that left."""

import re
import threading
import time
import unittest

from weir_e2e import NEVER, Client, ServerTest, encode, scaled

EXIT_SECONDS_MAX = 5.0
LATE_SECONDS_MAX = 5.0  # generous: machines are busy, and what is tested is the lower bound
SLOW = "1/50s"  # a wait for the next token outlasts the test


class WaitTest(ServerTest):
    def blocked(self, client):
        return self.info(client)["blocked_clients"]

    # A client that waits for the second token of SLOW, and already has one of another key.
    def waiter(self, server, other, behind=b""):
        before = self.blocked(other)
        client = self.connect(server)
        wait = encode("RL.WAIT", "k", SLOW, "AND", "l", f"2/{NEVER}", "TIMEOUT", 60_000)
        client.send(wait + behind)
        self.await_equal(lambda: self.blocked(other), before + 1)
        return client

    def waiting_id(self, other):
        """The id of the one connection that waits."""
        lines = other.call("CLIENT", "LIST").decode().splitlines()
        waiting = [line for line in lines if " cmd=rl.wait " in line]
        self.assertEqual(len(waiting), 1, lines)
        return int(re.match(r"id=(\d+) ", waiting[0]).group(1))

    # Whether only the first token of SLOW is taken, and none of the other key. Both are given back,
    # or neither.
    def given_back(self, client):
        of_slow = client.call("RL.PEEK", "k", SLOW)[2] <= 50_000
        of_other_key = client.call("EXISTS", "l") == 0
        self.assertEqual(of_slow, of_other_key)
        return of_slow

    def test_a_wait_ends_when_the_token_is_there(self):
        client = self.connect(self.start())
        begin = time.monotonic()
        self.assertEqual(client.call("RL.ALLOW", "k", "10/3s", "COST", 10)[0], 1)
        admitted, remaining, retry, reset, _ = client.call("RL.WAIT", "k", "10/3s", "TIMEOUT", 9000)
        elapsed = time.monotonic() - begin
        self.assertEqual([admitted, retry], [1, 0])
        self.assertGreaterEqual(elapsed, 0.3)
        self.assertLess(elapsed, 0.3 + LATE_SECONDS_MAX)
        self.assertLessEqual(reset, 3000)
        self.assertLess(remaining, 10)

    def test_requests_behind_a_wait_are_answered_after_it(self):
        server = self.start()
        client, other = self.connect(server), self.connect(server)
        wait = encode("RL.WAIT", "k", "10/s", "TIMEOUT", 9000)
        begin = time.monotonic()
        client.send(encode("RL.ALLOW", "k", "10/s", "COST", 10) + wait + encode("ECHO", "a") + wait)
        client.send(encode("ECHO", "b"))  # half of a request, and the rest
        client.send(encode("ECHO", "c")[:-4])
        self.assertEqual(other.call("PING"), "PONG")
        client.send(encode("ECHO", "c")[-4:])
        self.assertEqual([client.reply()[0], client.reply()[0], client.reply()], [1, 1, b"a"])
        self.assertEqual([client.reply()[0], client.reply(), client.reply()], [1, b"b", b"c"])
        self.assertGreaterEqual(time.monotonic() - begin, 0.2)
        self.assertEqual(client.call("PING"), "PONG")

    # Goal: a client may send on and on while it waits; nothing is lost, and the server holds no
    # more of it than it has said. Method: 40 MB, of which the kernels and the server take a part.
    def test_much_behind_a_wait_is_taken_bit_by_bit(self):
        server = self.start("--threads", "1")
        other = self.connect(server)
        other.call("RL.ALLOW", "k", "1/500ms")
        client = self.connect(server)
        echo = encode("ECHO", "x" * 10_000)
        client.send(encode("RL.WAIT", "k", "1/500ms", "TIMEOUT", 9000))
        sender = threading.Thread(target=client.send, args=(echo * 4000,))
        sender.start()
        self.assertEqual(client.reply()[0], 1)
        for _ in range(4000):
            self.assertEqual(len(client.reply()), 10_000)
        sender.join()

    def test_a_client_that_leaves_while_waiting_gives_back(self):
        for behind in (b"", encode("PING"), encode("RL.WAIT", "k", SLOW, "TIMEOUT", 60_000)):
            for leave in (Client.close, Client.reset, Client.half_close):
                with self.subTest(behind=behind, leave=leave.__name__):
                    server = self.start()
                    other = self.connect(server)
                    other.call("RL.ALLOW", "k", SLOW)
                    client = self.waiter(server, other, behind)
                    self.assertFalse(self.given_back(other))
                    leave(client)
                    self.await_equal(lambda: self.blocked(other), 0)
                    self.assertTrue(self.given_back(other))
                    self.await_equal(lambda: self.info(other)["connected_clients"], 1)

    # Goal: an operator can end a wait: it is denied as if its time had run out, or fails with the
    # bytes that Redis has for that; either gives back, and the connection stays.
    def test_client_unblock_ends_a_wait(self):
        denied = rb"\*5\r\n:0\r\n:0\r\n:(\d+)\r\n:\1\r\n:0\r\n"
        unblocked = rb"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
        for how, told in (([], denied), (["TIMEOUT"], denied), (["error"], unblocked)):
            with self.subTest(how):
                server = self.start("--threads", "2")
                other = self.connect(server)
                other.call("RL.ALLOW", "k", SLOW)
                client = self.waiter(server, other, behind=encode("PING") + encode("QUIT"))
                number = self.waiting_id(other)
                self.assertFalse(self.given_back(other))
                self.assertEqual(other.call("CLIENT", "UNBLOCK", number, *how), 1)
                self.assertRegex(client.rest(), b"^" + told + rb"\+PONG\r\n\+OK\r\n$")
                self.assertTrue(self.given_back(other))
                self.assertEqual(self.blocked(other), 0)
                self.assertEqual(other.call("CLIENT", "UNBLOCK", number, *how), 0)

    # Goal: a stop ends all waits, gives their tokens back, and answers all received requests.
    def test_sigterm_ends_all_waits(self):
        server = self.start()
        other = self.connect(server)
        other.call("RL.ALLOW", "k", "1/s,burst=10", "COST", 10)
        clients = []
        wait = encode("RL.WAIT", "k", "1/s,burst=10", "COST", 10, "TIMEOUT", 60_000)
        for behind in (b"", encode("PING"), wait + encode("PING"), encode("QUIT")):
            clients.append(self.connect(server))
            clients[-1].send(wait + behind)
            self.await_equal(lambda: self.blocked(other), len(clients))
        begin = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - begin, EXIT_SECONDS_MAX)
        self.assertNotIn("cutting", server.log())
        unblocked = b"-UNBLOCKED the server is shutting down\r\n"
        self.assertEqual(clients[0].rest(), unblocked)
        self.assertEqual(clients[1].rest(), unblocked + b"+PONG\r\n")
        denied = rb"\*5\r\n:0\r\n:0\r\n:9\d{3}\r\n:9\d{3}\r\n:0\r\n"
        self.assertRegex(clients[2].rest(), b"^" + unblocked + denied + rb"\+PONG\r\n$")
        self.assertEqual(clients[3].rest(), unblocked + b"+OK\r\n")
        self.assertEqual(other.rest(), b"")

    def test_many_wait_at_once(self):
        server = self.start()
        count = scaled(200)
        clients = [self.connect(server) for _ in range(count)]
        begin = time.monotonic()
        clients[0].call("RL.ALLOW", "k", "200/s", "COST", 200)
        for client in clients:
            client.send(encode("RL.WAIT", "k", "200/s", "TIMEOUT", 60_000))
        for client in clients:
            self.assertEqual(client.reply()[0], 1)
        self.assertGreaterEqual(time.monotonic() - begin, count / 200)
        self.assertEqual(self.blocked(clients[0]), 0)


if __name__ == "__main__":
    unittest.main()
