"""Hostile clients: the server survives, serves other clients, and stays within its caps."""

import os
import random
import re
import resource
import select
import string
import unittest

from weir_e2e import MEGABYTE, NEVER, Error, ServerTest, encode, sanitized, scaled

TOO_MANY = "ERR max number of clients reached"
# Sanitizers shadow memory and keep freed blocks; even so memory is no multiple of the input.
RSS_GROWTH_MAX = (64 if sanitized() else 4) * MEGABYTE
# A socket that accepts nothing for that long is not read by the other side.
STALL_MILLISECONDS = 1000


def send_until_stalled(client, data, bytes_max):
    """Sends `data` again and again and reads nothing; returns how many bytes were taken."""
    client.socket.setblocking(False)
    writable = select.poll()
    writable.register(client.socket, select.POLLOUT)
    sent = 0
    while sent < bytes_max and writable.poll(STALL_MILLISECONDS):
        try:
            sent += client.socket.send(data[sent % len(data) :])
        except BlockingIOError:
            continue
        except ConnectionError:
            break
    client.socket.settimeout(60)
    return sent


class HostileTest(ServerTest):
    def start_warm(self, *options):
        """A server that was in use before, a client of it, and its resident bytes."""
        # Otherwise AddressSanitizer keeps up to 256 MiB of freed memory.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=16"
        server = self.start(*options, environment={"ASAN_OPTIONS": asan})
        other = self.connect(server)
        for _ in range(4):  # threads, as a rule
            client = self.connect(server)
            client.send(b"COMMAND DOCS\r\n" * 20)
            for _ in range(20):
                client.reply()
            client.close()
        self.await_equal(lambda: self.info(other)["connected_clients"], 1)
        return server, other, server.rss_bytes()

    def assert_rests(self, server, clients):
        """Checks that the server is idle for a second in which its clients send nothing."""
        cpu = server.cpu_seconds()
        readable, _, _ = select.select([client.socket for client in clients], [], [], 1)
        self.assertEqual(readable, [])
        self.assertLess(server.cpu_seconds() - cpu, 0.25)


class ConnectionsTest(HostileTest):
    def greet(self, server):
        """A new client and the server's reply to its PING: PONG, an error, or nothing."""
        client = self.connect(server)
        try:
            return client, client.call("PING")
        except (EOFError, ConnectionError):
            return client, None

    def await_greeting(self, server):
        self.await_equal(lambda: self.greet(server)[1], "PONG")

    # Goal: out of descriptors, connected clients are served, new ones get an error, the server does
    # not spin, and when clients leave others can come. Method: the limit is lowered while it runs,
    # since at the start it would lower max-clients.
    def test_out_of_descriptors(self):
        server = self.start()
        first, greeting = self.greet(server)
        self.assertEqual(greeting, "PONG")
        self.limit_descriptors(server, server.descriptors() + 20)
        greetings = [self.greet(server) for _ in range(100)]
        connected = [client for client, greeting in greetings if greeting == "PONG"]
        self.assertIn(len(connected), range(15, 21))
        self.assertEqual({greeting for _, greeting in greetings}, {"PONG", TOO_MANY})
        server.wait_for_log("cannot accept: Too many open files")
        self.assert_rests(server, connected)

        for client in [first, *connected]:
            self.assertEqual(client.call("PING"), "PONG")
        self.assertGreater(self.info(first)["total_connections_received"], 100)
        for client in connected:
            client.close()
        self.await_greeting(server)
        self.assertEqual(first.call("PING"), "PONG")
        self.assertLess(server.log().count("\n"), 20)

    # Goal: nor is there a spin where a client cannot even be refused. Method: so low a limit that a
    # descriptor which the server frees to accept with is above it; the clients wait in the kernel.
    def test_no_descriptor_at_all(self):
        server = self.start()
        first, greeting = self.greet(server)
        self.assertEqual(greeting, "PONG")
        self.limit_descriptors(server, 1)
        waiting = [self.connect(server) for _ in range(10)]
        server.wait_for_log("cannot accept: Too many open files")
        self.assert_rests(server, waiting)
        self.assertEqual(first.call("PING"), "PONG")
        self.limit_descriptors(server, 1000)
        for client in waiting:
            self.assertEqual(client.call("PING"), "PONG")

    # Goal: a low limit of the system is reported at the start.
    def test_few_descriptors_lower_max_clients(self):
        server = self.start("--threads", "2", descriptors_max=100)
        client = self.connect(server)
        self.assertLess(int(client.call("CONFIG", "GET", "max-clients")[1]), 100)
        server.wait_for_log(r"warning max-clients is \d+ instead of 10000: .* is 100\n")

    def limit_descriptors(self, server, count):
        _, most = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (count, most))

    def test_max_clients(self):
        server = self.start("--max-clients", "4")
        clients = []
        for _ in range(4):
            client, greeting = self.greet(server)
            self.assertEqual(greeting, "PONG")
            clients.append(client)
        for _ in range(100):
            self.assertEqual(self.connect(server).rest(), f"-{TOO_MANY}\r\n".encode())
        for client in clients:
            self.assertEqual(client.call("PING"), "PONG")
        self.assertEqual(self.info(clients[0])["rejected_connections"], 100)
        clients[3].close()
        self.await_greeting(server)

    def test_many_idle_clients_cost_little(self):
        server = self.start()
        clients = [self.connect(server) for _ in range(10)]
        for client in clients:
            client.call("PING")
        rss = server.rss_bytes()
        count = scaled(1000)
        clients = [self.connect(server) for _ in range(count)]
        for client in clients:
            self.assertEqual(client.call("PING"), "PONG")
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assert_rests(server, clients[:500])
        for client in clients:
            client.close()
        self.await_equal(lambda: server.rss_bytes() - rss < RSS_GROWTH_MAX / 4, True)

    def test_clients_that_come_and_go_leave_nothing(self):
        server = self.start("--threads", "2")
        other = self.connect(server)
        other.call("PING")
        with self.connect(server) as client:
            client.call("PING")  # each thread then has its memory for a client
        self.await_equal(lambda: self.info(other)["connected_clients"], 1)
        descriptors = server.descriptors()
        for i in range(scaled(1000)):
            with self.connect(server) as client:
                if i % 3 == 0:
                    client.send(b"PING\r\nPI")
                if i % 3 == 1:
                    client.reset()
        self.await_equal(lambda: self.info(other)["connected_clients"], 1)
        self.await_equal(server.descriptors, descriptors)


class MemoryTest(HostileTest):
    # Goal: the server stops reading from a client that does not read. Method: 100 MB of requests,
    # or as many as the kernel's buffers take; the requests are numbered, and then every one of
    # them is answered.
    def test_a_client_that_never_reads_costs_and_loses_nothing(self):
        server, other, rss = self.start_warm()
        deaf = self.connect(server, receive_buffer_bytes=64 * 1024)
        filler = "x" * 1000
        requests = b"".join(encode("ECHO", f"{i:06d}{filler}") for i in range(100))
        request_bytes = len(requests) // 100
        sent = send_until_stalled(deaf, requests, 100 * MEGABYTE)
        self.assertGreater(sent, len(requests))
        self.assertLess(sent, 100 * MEGABYTE)
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assertEqual(other.call("PING"), "PONG")
        for i in range(sent // request_bytes):
            self.assertEqual(deaf.reply()[:6], b"%06d" % (i % 100))

    # Goal: nor does the kernel hold much for who never reads: it is our memory, too, where it is
    # counted. Method: replies that end in its queue; it would take 4 MB of a connection.
    def test_unread_replies_are_not_left_to_the_kernel(self):
        server, other, _ = self.start_warm()
        deaf = self.connect(server, receive_buffer_bytes=64 * 1024)
        send_until_stalled(deaf, b"COMMAND DOCS\r\n" * 1000, 100 * MEGABYTE)
        self.assertIn(server.unread_bytes(deaf), range(1, MEGABYTE // 2))
        self.assertEqual(other.call("PING"), "PONG")

    # Goal: nor does who asks little and is answered much. Method: each request of 14 bytes is
    # answered with the documentation of all commands.
    def test_amplified_replies_are_not_held(self):
        server, other, rss = self.start_warm()
        clients = [self.connect(server, receive_buffer_bytes=64 * 1024) for _ in range(4)]
        for client in clients:
            send_until_stalled(client, b"COMMAND DOCS\r\n" * 1000, 4 * MEGABYTE)
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assertEqual(other.call("PING"), "PONG")
        for client in clients:
            self.assertIn(b"rl.allow", client.reply())

    # Goal: 200 of them together are bearable, and leave nothing. Method: half never read, half fill
    # a transaction to its bound and beyond; bench/hostile_clients.py has more kinds.
    def test_two_hundred_hostile_clients(self):
        server, other, rss = self.start_warm()
        clients = []
        for i in range(scaled(200)):
            client = self.connect(server, receive_buffer_bytes=64 * 1024)
            client.send(b"COMMAND DOCS\r\n" * 100 if i % 2 else b"MULTI\r\n" + b"PING\r\n" * 5000)
            clients.append(client)
        self.assertEqual(other.call("PING"), "PONG")
        for i, client in enumerate(clients):
            if i % 2 == 0:
                replies = [client.reply() for _ in range(5001)]
                self.assertIn("transaction is too large", replies[-1])
        self.assertLess(server.rss_bytes() - rss, 4 * RSS_GROWTH_MAX)
        for client in clients:
            client.close()
        self.await_equal(lambda: server.rss_bytes() - rss < RSS_GROWTH_MAX / 4, True)

    # Goal: the memory of all clients together has a bound, logged in or not, and a client that
    # holds little is not disturbed. Method: transactions and incomplete requests nearly as long as
    # they may be, and one short transaction.
    def test_clients_together_hold_no_more_than_they_may(self):
        server, other, rss = self.start_warm("--max-clients-memory", "8mb")
        small = self.connect(server)
        self.assertEqual([small.call("MULTI"), small.call("ECHO", "x")], ["OK", "QUEUED"])
        word = "x" * 60_000
        clients = []
        for i in range(max(20, scaled(200))):  # more than the memory is for
            client = self.connect(server)
            clients.append(client)
            try:
                if i % 2:
                    client.send(encode("ECHO", word, word, word, word)[:-1])
                else:
                    client.send(encode("MULTI") + encode("ECHO", word) * 17)
                    for _ in range(18):
                        client.reply()
            except (ConnectionError, EOFError):
                pass
            self.assertLessEqual(self.info(other)["mem_clients_normal"], 8 * MEGABYTE)
        self.assertGreater(self.info(other)["evicted_clients"], len(clients) // 4)
        server.wait_for_log("closed client .*more than max-clients-memory")
        self.assertLess(server.rss_bytes() - rss, 8 * MEGABYTE + RSS_GROWTH_MAX)
        self.assertEqual(small.call("EXEC"), [b"x"])
        for client in clients:
            client.close()
        self.await_equal(lambda: self.info(other)["mem_clients_normal"], 0)

    def test_a_flood_does_not_starve_the_others(self):
        server = self.start("--threads", "1")
        flood, other = self.connect(server), self.connect(server)
        count = scaled(70_000)
        flood.socket.setblocking(False)
        requests = encode("RL.ALLOW", "k", "10/s") * 1000
        answers = 0
        for _ in range(count // 1000):
            try:
                flood.socket.send(requests)
            except BlockingIOError:
                flood.socket.setblocking(True)
                flood.socket.recv(1 << 20)
                flood.socket.setblocking(False)
            answers += other.call("PING") == "PONG"
        self.assertEqual(answers, count // 1000)

    def test_client_list_shows_half_a_request(self):
        server = self.start()
        other = self.connect(server)
        client = self.connect(server)
        client.send(b"*2\r\n$4\r\nPING\r\n$60000\r\n" + b"x" * 50_000)

        def pending():
            lines = other.call("CLIENT", "LIST").decode().splitlines()
            return max(int(re.search(r" qbuf=(\d+) ", line)[1]) for line in lines) >= 50_000

        self.await_equal(pending, True)
        client.send(b"x" * 10_000 + b"\r\n")
        self.assertEqual(len(client.reply()), 60_000)
        self.await_equal(pending, False)

    # Goal: a declared number allocates nothing. Method: the largest that are allowed,
    # of many clients, and larger ones.
    def test_declared_sizes_allocate_nothing(self):
        server, other, rss = self.start_warm()
        clients = []
        for _ in range(scaled(170)):
            client = self.connect(server)
            client.send(b"*1024\r\n$65536\r\nx")
            clients.append(client)
        for huge in (b"*1048576", b"*2147483647", b"*9223372036854775807", b"*2\r\n$536870912"):
            client = self.connect(server)
            client.send(huge + b"\r\n")
            error = rb"^-ERR Protocol error: invalid (multibulk|bulk) length\r\n$"
            self.assertRegex(client.rest(), error)
        self.assertEqual(other.call("PING"), "PONG")
        self.await_equal(lambda: self.info(other)["connected_clients"], len(clients) + 1)
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        for client in clients:
            client.close()

    def test_too_much_is_refused_and_not_held(self):
        server, other, rss = self.start_warm()
        limit = b"$65536\r\n" + b"x" * 65536 + b"\r\n"
        for request, error in (
            (b"A" * MEGABYTE, b"too big inline request"),
            (b"*" + b"1" * MEGABYTE, b"too big mbulk count string"),
            (b"*2\r\n$" + b"1" * MEGABYTE, b"too big bulk count string"),
            (b"*5\r\n" + limit * 5, b"too big request"),
            (b"PING " + b"a " * 2000 + b"\r\n", b"too many arguments in inline request"),
        ):
            with self.subTest(error):
                for _ in range(scaled(20)):
                    client = self.connect(server)
                    try:
                        client.send(request)
                    except ConnectionError:
                        pass
                    self.assertEqual(client.rest(), b"-ERR Protocol error: " + error + b"\r\n")
        self.assertEqual(other.call("PING"), "PONG")
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)

    # Goal: nor does a flood of keys, once their buckets are full. Method: long keys, as the length
    # of a key is to cost nothing; enough of them for any sweep to give memory back.
    def test_a_flood_of_keys_is_forgotten(self):
        server, other, rss = self.start_warm()
        filler, batch, peak = "x" * 1000, 1000, 0
        # So many that their buckets take more than the bound, whatever the scale of other tests.
        count = scaled(300_000) if sanitized() else 300_000
        for i in range(0, count, batch):
            other.send(
                b"".join(encode("RL.ALLOW", f"{filler}{i + j}", "1/15s") for j in range(batch))
            )
            for _ in range(batch):
                self.assertEqual(other.reply()[0], 1)
            peak = max(peak, server.rss_bytes())
        # A bucket is full, and swept, after 15 s: all are there by then, but with a sanitizer.
        if not sanitized():
            self.assertGreater(peak - rss, 2 * RSS_GROWTH_MAX)
        self.await_equal(lambda: other.call("DBSIZE"), 0)
        self.await_equal(lambda: server.rss_bytes() - rss < RSS_GROWTH_MAX, True)

    def test_the_largest_request_is_served(self):
        client = self.connect(self.start())
        key = b"k" * 65_536
        self.assertEqual(client.call("RL.ALLOW", key, f"3/{NEVER}")[:2], [1, 2])
        limits = [f"{i}/s" for i in range(1, 65)]
        self.assertEqual(client.call("RL.ALLOW", "k", *limits)[:2], [1, 0])
        self.assertRegex(client.call("RL.ALLOW", "k", *limits, "65/s"), "^ERR .*64")
        self.assertEqual(client.call("EXISTS", *(b"%d" % i for i in range(1023))), 0)


class GarbageTest(ServerTest):
    # Goal: bytes of no meaning end nothing but their own connection. Method: pieces of requests and
    # random bytes, mixed, from a seed that is printed.
    def test_garbage_hurts_no_other_client(self):
        server = self.start()
        other = self.connect(server)
        frames = [b"\r\n", b"\n", b"*1\r\n", b"*2\r\n", b"*-1\r\n", b"$4\r\n", b'"', b"\0"]
        words = [b"PING", b"RL.ALLOW", b" k 1/s"]
        for seed in range(scaled(170)):
            with self.subTest(seed=seed), self.connect(server) as client:
                chance = random.Random(seed)
                garbage = b"".join(
                    chance.choice(frames + words + [chance.randbytes(chance.randrange(20))])
                    for _ in range(chance.randrange(100))
                )
                try:
                    client.send(garbage)
                    client.half_close()
                except OSError:
                    pass
                for line in client.rest().split(b"\r\n"):
                    self.assertRegex(line, rb"^([-+:$*].*|[^\r\n]*)$")
                self.assertEqual(other.call("PING"), "PONG")

    # Goal: no word of the client's can end an error early and pass for a reply. Method: every byte
    # that could, wherever an error quotes a word.
    def test_errors_quote_printable_bytes_only(self):
        client = self.connect(self.start())
        evil = bytes(range(256)) + b"\r\n+OK\r\n"
        for words in (
            (evil,),
            ("FOO", evil, evil),
            ("CLIENT", evil),
            ("COMMAND", evil),
            ("RL.ALLOW", "k", evil),
            ("RL.ALLOW", "k", b"10/" + evil),
            ("RL.ALLOW", "k", b"10/s," + evil),
            ("RL.ALLOW", "k", "10/s", "COST", evil),
            ("HELLO", evil),
            ("HELLO", "3", evil),
            ("SELECT", evil),
            ("SHUTDOWN", evil),
            ("FLUSHALL", evil),
            ("CLIENT", "SETNAME", evil),
            ("CLIENT", "LIST", "TYPE", evil),
            ("CLIENT", "SETINFO", evil, "x"),
            ("COMMAND", "GETKEYS", evil),
            ("CONFIG", "SET", evil, evil),
        ):
            with self.subTest(words[:2]):
                client.send(encode(*words) + encode("ECHO", "after"))
                error = client.reply()
                self.assertIsInstance(error, Error)
                self.assertLess(len(error), 512)
                self.assertLessEqual(set(error), set(string.printable) - set("\t\n\r\x0b\x0c"))
                self.assertEqual(client.reply(), b"after")

    def test_the_log_is_not_flooded(self):
        server = self.start()
        other = self.connect(server)
        count = scaled(700)
        for _ in range(count):
            client = self.connect(server)
            client.send(b"*nonsense \x1b[31m\r\n")
            client.rest()
            client.close()
        self.assertEqual(self.info(other)["protocol_errors"], count)
        self.assertLess(len(server.log()), 16 * 1024)
        self.assertTrue(set(server.log()) <= set(string.printable))


if __name__ == "__main__":
    unittest.main()
