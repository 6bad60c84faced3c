"""MULTI and EXEC with real sockets and several threads: no other client's command comes between.

differential_test.py compares the replies with Redis's. What a queue may hold is tested in
tests/server/session, and what limits answer in a transaction in tests/commands.
"""

import threading
import unittest

from weir_e2e import NEVER, Client, ServerTest, encode, run_all, scaled

BATCH = 20  # transactions that are sent in one piece, so that the threads meet
BETWEEN = ["PING"] * 30  # so that others have the time to come between


def transaction(*requests):
    """The bytes of MULTI, the requests, EXEC."""
    return b"".join(encode(*request.split(" ")) for request in ("MULTI", *requests, "EXEC"))


def executed(client, queued):
    """EXEC's reply, behind those of MULTI and of `queued` requests."""
    assert client.reply() == "OK"
    for _ in range(queued):
        assert client.reply() == "QUEUED"
    return client.reply()


def exchange(client, requests):
    """Sends the requests and receives all replies, for client.reply() to return."""
    sender = threading.Thread(target=client.send, args=(requests + encode("QUIT"),))
    sender.start()
    client.rest()
    sender.join()


class TransactionTest(ServerTest):
    def execute(self, client, *requests):
        client.send(transaction(*requests))
        return executed(client, len(requests))

    # Goal: an EXEC is decided on one state, and no two of them wait for each other forever. Method:
    # clients take of two keys in opposite orders; each key is always asked after the same history,
    # so both answers of an EXEC are the same, and a look at both sees the same of both. The keys
    # hold half of the tokens that are asked for. Requests are sent in one piece and replies are
    # received as bytes, so that the server's threads meet, and not ours.
    def test_no_client_comes_between(self):
        count = scaled(1000)
        limit = f"{2 * count}/{NEVER}"
        server = self.start("--threads", "4")
        take = [f"RL.ALLOW {key} {limit}" for key in "ab"]
        look = [f"RL.PEEK {key} {limit},cost=0" for key in "ab"]
        both = encode(*f"RL.PEEK a {limit} AND b {limit} WITHLIMITS".split(" "))

        def between(first, second):
            return transaction(first, *BETWEEN, second)

        takers = [self.connect(server) for _ in range(4)]
        lookers = [self.connect(server) for _ in range(2)]
        looker_at_both = self.connect(server)
        run_all(
            lambda: exchange(takers[0], between(*take) * count),
            lambda: exchange(takers[1], between(*take[::-1]) * count),
            lambda: exchange(takers[2], between(*take) * count),
            lambda: exchange(takers[3], between(*take[::-1]) * count),
            lambda: exchange(lookers[0], between(*look) * count),
            lambda: exchange(lookers[1], between(*look[::-1]) * count),
            lambda: exchange(looker_at_both, both * 10 * count),
        )
        admitted = 0
        for client in takers + lookers:
            for _ in range(count):
                replies = executed(client, 2 + len(BETWEEN))
                self.assertEqual(replies[0][:2], replies[-1][:2])
                admitted += replies[0][0] if client in takers else 0
        self.assertEqual(admitted, 2 * count)
        for _ in range(10 * count):
            of_a, of_b = looker_at_both.reply()[5]
            self.assertEqual(of_a[3], of_b[3])

    # Goal: the same of commands about all keys. Method: others make keys all the time.
    def test_no_client_comes_between_commands_about_all_keys(self):
        rounds = scaled(200)
        server = self.start("--threads", "4")
        done = threading.Event()

        def make_keys(name):
            client = self.connect(server)
            number = 0
            while not done.is_set():
                requests = (
                    encode("RL.ALLOW", f"{name}:{number + i}", f"1/{NEVER}") for i in range(BATCH)
                )
                client.send(b"".join(requests))
                number += BATCH
                for _ in range(BATCH):
                    self.assertEqual(client.reply()[0], 1)

        def flush():
            client = self.connect(server)
            allow = f"RL.ALLOW k 3/{NEVER}"
            try:
                for _ in range(rounds):
                    replies = self.execute(client, "FLUSHALL", "DBSIZE", allow, allow, "DBSIZE")
                    remaining = [reply[1] for reply in replies[2:4]]
                    self.assertEqual([*replies[:2], *remaining, replies[4]], ["OK", 0, 2, 1, 1])
            finally:
                done.set()

        run_all(flush, lambda: make_keys("x"), lambda: make_keys("y"))

    # Goal: queued commands are executed by EXEC and by nothing else. Method: each way to end
    # without EXEC; the queued commands would take a token and end the other connection.
    def test_a_client_that_leaves_before_exec_has_done_nothing(self):
        def is_killed(client, other):
            other.call("CLIENT", "KILL", "ID", client.number)
            client.send(encode("EXEC"))
            client.rest()

        def sends_half_of_exec(client, _):
            client.send(encode("EXEC")[:-1])
            client.half_close()
            client.rest()

        ways = (
            is_killed,
            sends_half_of_exec,
            lambda client, _: client.close(),
            lambda client, _: client.reset(),
            lambda client, _: client.call("DISCARD"),
            lambda client, _: client.call("RESET"),
            lambda client, _: client.call("QUIT"),
        )
        server = self.start("--threads", "2")
        other = self.connect(server)
        for way in ways:
            with self.subTest(way):
                client = Client(server.port)
                self.addCleanup(client.close)
                client.number = client.call("CLIENT", "ID")
                client.send(encode("MULTI") + encode("RL.ALLOW", "k", f"5/{NEVER}"))
                client.send(encode("CLIENT", "KILL", "ID", other.call("CLIENT", "ID")))
                self.assertEqual([client.reply() for _ in range(3)], ["OK", "QUEUED", "QUEUED"])
                way(client, other)
                client.close()
                self.await_equal(lambda: self.info(other)["connected_clients"], 1)
                self.assertEqual(other.call("RL.PEEK", "k", f"5/{NEVER},cost=0")[1], 5)

    # A transaction may kill its own client: it runs to its end, once, and is answered.
    def test_a_client_kills_itself_in_exec(self):
        server = self.start()
        client, other = self.connect(server), self.connect(server)
        number = client.call("CLIENT", "ID")
        replies = self.execute(
            client,
            f"RL.ALLOW k 5/{NEVER}",
            f"CLIENT KILL ID {number} SKIPME no",
            f"RL.ALLOW k 5/{NEVER}",
        )
        self.assertEqual([replies[0][1], replies[1], replies[2][1]], [4, 1, 3])
        self.assertEqual(client.rest(), b"")
        self.assertEqual(other.call("RL.PEEK", "k", f"5/{NEVER},cost=0")[1], 3)

    # Goal: of all clients that watch the same state one wins. Method: each reads, and takes one if
    # nothing has changed since; more are never taken than have won.
    def test_one_of_several_watching_clients_wins(self):
        server = self.start("--threads", "4")
        limit = f"1000000/{NEVER}"
        won = []

        def compete():
            client = self.connect(server)
            for _ in range(scaled(200)):
                client.send(encode("WATCH", "k") + encode("RL.PEEK", "k", f"{limit},cost=0"))
                self.assertEqual(client.reply(), "OK")
                before = client.reply()[1]
                replies = self.execute(client, f"RL.ALLOW k {limit}")
                if replies is not None:
                    self.assertEqual(replies[0][1], before - 1)
                    won.append(before)

        run_all(compete, compete, compete, compete)
        left = self.connect(server).call("RL.PEEK", "k", f"{limit},cost=0")[1]
        self.assertEqual(1_000_000 - left, len(won))
        self.assertEqual(len(set(won)), len(won))
        self.assertGreater(len(won), 0)


if __name__ == "__main__":
    unittest.main()
