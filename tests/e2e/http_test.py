"""HTTP on real sockets: the ports, TLS, a Unix socket, hostile clients, a shutdown."""

import http.client
import json
import os
import select
import signal
import socket
import unittest

from hostile_test import RSS_GROWTH_MAX, HostileTest, send_until_stalled
from tls_servers import TlsServerTest
from weir_e2e import MEGABYTE, Client, ServerTest, free_port, scaled

ADMIN_CLIENTS_MAX = 32
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n"
METRICS = LIVEZ.replace(b"livez", b"metrics")
OK = b"HTTP/1.1 200 "


def post(path, body, length=None):
    """A request; it is not complete if it is to have more bytes than `body`."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length or len(body)}\r\n\r\n{body}"
    ).encode()


class HttpTest(ServerTest):
    def start_http(self, *options):
        """A server with both ports for HTTP."""
        self.http_port, self.admin_port = free_port(), free_port()
        server = self.start(
            f"--http-port={self.http_port}", f"--admin-port={self.admin_port}", *options
        )
        server.wait_for_log(r"listening on .* for operators")
        return server

    def get(self, port, path):
        """The status and the body."""
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.addCleanup(client.close)
        client.request("GET", path)
        response = client.getresponse()
        return response.status, response.read()

    def test_both_ports_answer_probes_and_the_redis_port_none(self):
        server = self.start_http()
        for port in (self.http_port, self.admin_port):
            for path in ("/livez", "/readyz"):
                self.assertEqual(self.get(port, path), (200, b"ok\n"))
        with Client(server.port) as browser:
            browser.send(LIVEZ)
            self.assertEqual(browser.rest(), b"")

    def test_no_port_is_open_without_an_option(self):
        server = self.start()
        self.assertEqual(server.log().count("listening on"), 1)

    def test_a_connection_is_kept_and_pipelined_requests_are_answered_in_order(self):
        self.start_http()
        with Client(self.http_port) as client:
            client.send(LIVEZ + LIVEZ.replace(b"livez", b"other") + LIVEZ)
            client.send(LIVEZ.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answers = client.rest().split(b"HTTP/1.1 ")[1:]
            self.assertEqual([answer[:3] for answer in answers], [b"200", b"404", b"200", b"200"])

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "http.sock")
        server = self.start(f"--http-unix-socket={path}")
        server.wait_for_log(r"listening on .*http\.sock:0 for HTTP")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            client.sendall(LIVEZ)
            self.assertTrue(client.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n"))
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_the_admin_port_has_few_clients(self):
        self.start_http()
        clients = [self.connect_to(self.admin_port) for _ in range(ADMIN_CLIENTS_MAX)]
        for client in clients:
            client.send(LIVEZ)
            self.assertTrue(client.socket.recv(4096).startswith(b"HTTP/1.1 200 "))
        with Client(self.admin_port) as refused:
            self.assertTrue(refused.rest().startswith(b"HTTP/1.1 503 "))
        self.assertEqual(self.get(self.http_port, "/livez")[0], 200)
        clients.pop().close()
        self.await_equal(lambda: self.get(self.admin_port, "/livez")[0], 200)

    def connect_to(self, port):
        client = Client(port)
        self.addCleanup(client.close)
        return client

    def test_a_shutdown_answers_what_was_received(self):
        server = self.start_http()
        server.pause()
        with Client(self.http_port) as client:
            client.send(LIVEZ)
            server.process.send_signal(signal.SIGTERM)
            server.resume()
            self.assertEqual(server.wait(), 0)
            self.assertIn(client.rest()[:12], (b"HTTP/1.1 200", b""))

    def test_several_ports_are_served_alike(self):
        ports = [free_port() for _ in range(4)]
        text = ",".join(map(str, ports))
        server = self.start(f"--http-port={text}")
        server.wait_for_log(f"listening on 127.0.0.1:{ports[-1]} for HTTP")
        for port in ports:
            self.assertEqual(self.get(port, "/livez")[0], 200)
        redis = self.connect(server)
        self.assertEqual(redis.call("CONFIG", "GET", "http-port"), [b"http-port", text.encode()])

    def test_a_port_of_two_options_is_an_error(self):
        one, two = free_port(), free_port()
        line = self.refused("--port=0", f"--http-port={one},{two}", f"--admin-port={two}")
        self.assertIn(f"option 'admin-port': port {two} of 127.0.0.1 is that of http-port, too",
                      line)

    def test_a_port_in_use_is_named(self):
        self.start_http()
        line = self.refused("--port=0", f"--http-port={self.http_port}")
        self.assertIn(f"cannot listen on 127.0.0.1:{self.http_port}: Address already in use", line)


class HttpHostileTest(HostileTest):
    def start_http(self, *options):
        """A server that was in use before, a Redis client of it, and its resident bytes."""
        self.http_port, self.admin_port = free_port(), free_port()
        server, other, _ = self.start_warm(
            f"--http-port={self.http_port}", f"--admin-port={self.admin_port}", *options
        )
        for _ in range(4):  # threads, as a rule
            with Client(self.http_port) as client, Client(self.admin_port) as scraper:
                client.send(post("/v1/command", json.dumps(["ECHO", "x" * 60_000])))
                scraper.send(METRICS)
                for warm in (client, scraper):
                    self.assertTrue(warm.socket.recv(100).startswith(OK))
        self.await_equal(lambda: self.info(other)["http_connections"], 0)
        return server, other, server.rss_bytes()

    def connect_to(self, port, **settings):
        client = Client(port, **settings)
        self.addCleanup(client.close)
        return client

    def assert_serves(self):
        with Client(self.http_port) as client:
            client.send(LIVEZ)
            self.assertTrue(client.socket.recv(100).startswith(OK))

    # Goal: the server stops reading from a client that does not read, and answers all that it has
    # read. Method: numbered requests, as many as the kernel's buffers take.
    def test_a_client_that_never_reads_costs_and_loses_nothing(self):
        server, other, rss = self.start_http()
        deaf = self.connect_to(self.http_port, receive_buffer_bytes=64 * 1024)
        filler = "x" * 1000
        requests = b"".join(
            post("/v1/command", json.dumps(["ECHO", f"{i:06d}{filler}"])) for i in range(100)
        )
        sent = send_until_stalled(deaf, requests, 100 * MEGABYTE)
        self.assertGreater(sent, len(requests))
        self.assertLess(sent, 100 * MEGABYTE)
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assertEqual(other.call("PING"), "PONG")
        with deaf.socket.makefile("rb") as responses:
            for i in range(sent * 100 // len(requests)):
                self.assertTrue(responses.readline().startswith(OK))
                length = int(http.client.parse_headers(responses)["Content-Length"])
                result = json.loads(responses.read(length))["result"]
                self.assertEqual(result, f"{i % 100:06d}{filler}")

    # Goal: nor does a client cost more that asks little and is answered much. Method: requests for
    # the longest page.
    def test_unread_pages_are_not_held(self):
        server, _, rss = self.start_http()
        clients = [
            self.connect_to(self.admin_port, receive_buffer_bytes=64 * 1024) for _ in range(4)
        ]
        for client in clients:
            send_until_stalled(client, METRICS * 1000, 4 * MEGABYTE)
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assert_serves()
        for client in clients:
            self.assertTrue(client.socket.recv(100).startswith(OK))

    def test_many_idle_clients_cost_little(self):
        server, _, rss = self.start_http()
        clients = [self.connect_to(self.http_port) for _ in range(scaled(1000))]
        for client in clients:
            client.send(LIVEZ)
            self.assertTrue(client.socket.recv(1000).endswith(b"ok\n"))
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        self.assert_rests(server, clients[:500])

    # Goal: a request must be complete in ten seconds, else an answer says so. Method: clients that
    # stop within the head, and clients that send a byte of their body each second, of more than
    # they have seconds for.
    def test_slow_requests_cost_little_and_are_ended(self):
        server, _, rss = self.start_http()
        heads = [self.connect_to(self.http_port) for _ in range(scaled(200))]
        bodies = [self.connect_to(self.http_port) for _ in range(scaled(200))]
        for head in heads:
            head.send(LIVEZ[:-2])
        for body in bodies:
            body.send(post("/v1/allow", "{", 600))
        self.assert_serves()
        self.assertLess(server.rss_bytes() - rss, RSS_GROWTH_MAX)
        slow = bodies
        while slow:
            ended, _, _ = select.select([body.socket for body in slow], [], [], 1)
            slow = [body for body in slow if body.socket not in ended]
            for body in slow:
                try:
                    body.send(b" ")
                except ConnectionError:  # It was ended after the look; its answer has arrived.
                    slow = [other for other in slow if other is not body]
        for client in heads + bodies:
            self.assertTrue(client.rest().startswith(b"HTTP/1.1 408 "))
        self.assert_serves()

    # Goal: the memory of all clients together has a bound, whatever they leave unfinished. Method:
    # heads and bodies nearly as long as they may be.
    def test_unfinished_requests_together_hold_no_more_than_they_may(self):
        server, other, rss = self.start_http("--max-clients-memory", "2mb")
        clients = []
        for i in range(scaled(200)):
            client = self.connect_to(self.http_port)
            clients.append(client)
            try:
                if i % 2:
                    client.send(LIVEZ[:-2] + b"X: " + b"x" * 16_000)
                else:
                    client.send(post("/v1/allow", " " * 900_000, MEGABYTE))
            except ConnectionError:
                pass
            self.assertLessEqual(self.info(other)["mem_clients_normal"], 2 * MEGABYTE)
        self.await_equal(lambda: self.info(other)["evicted_clients"] > len(clients) // 4, True)
        self.assertLess(server.rss_bytes() - rss, 2 * MEGABYTE + RSS_GROWTH_MAX)
        self.assert_serves()
        for client in clients:
            client.close()
        self.await_equal(lambda: self.info(other)["mem_clients_normal"], 0)


class HttpsTest(TlsServerTest):
    def test_https_with_the_certificate_of_the_tls_port(self):
        port = free_port()
        options = [
            option for option in self.tls_options(0) if not option.startswith("--tls-port")
        ]
        server = self.start(f"--http-tls-port={port}", *options)
        server.wait_for_log(r"listening on .* for HTTP for TLS")
        client = http.client.HTTPSConnection(
            "127.0.0.1", port, context=self.context(self.client_files), timeout=60
        )
        self.addCleanup(client.close)
        client.request("GET", "/livez")
        self.assertEqual(client.getresponse().status, 200)

    def test_a_certificate_shows_who_asks(self):
        """A page in a browser can give its own name the server's address, and has none."""
        port = free_port()
        options = [
            option for option in self.tls_options(0) if not option.startswith("--tls-port")
        ]
        server = self.start(f"--http-tls-port={port}", "--tls-auth-clients=optional", *options)
        server.wait_for_log(r"listening on .* for HTTP for TLS")
        for files, status in ((self.client_files, 200), (None, 421)):
            client = http.client.HTTPSConnection(
                "127.0.0.1", port, context=self.context(files), timeout=60
            )
            self.addCleanup(client.close)
            client.request("GET", "/check?key=k&limit=9/h", headers={"Host": "weir.example"})
            self.assertEqual(client.getresponse().status, status)


if __name__ == "__main__":
    unittest.main()
