"""HTTP on real sockets: the ports, TLS, a Unix socket, slow and many clients, a shutdown."""

import http.client
import os
import signal
import socket
import unittest

from tls_test import TlsServerTest
from weir_e2e import Client, ServerTest, free_port

ADMIN_CLIENTS_MAX = 32
LIVEZ = b"GET /livez HTTP/1.1\r\nHost: weir\r\n\r\n"


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

    # Goal: a request must be complete in ten seconds, and its client is told. Method: one client
    # stops within its head, and one within its body, of which a byte comes now and then.
    def test_slow_requests_are_ended(self):
        self.start_http()
        with Client(self.http_port) as head, Client(self.http_port) as body:
            head.send(LIVEZ[:-2])
            body.send(b"PUT /livez HTTP/1.1\r\nHost: weir\r\nContent-Length: 9\r\n\r\n")
            body.socket.settimeout(1)
            received = b""
            for _ in range(30):
                try:
                    body.send(b"x") if not received else None
                    received += body.socket.recv(4096)
                    break
                except TimeoutError:
                    continue
                except ConnectionError:
                    break
            self.assertTrue(head.rest().startswith(b"HTTP/1.1 408 "))
            self.assertTrue(received.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 405 ")))

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

    def test_a_port_in_use_is_named(self):
        self.start_http()
        line = self.refused("--port=0", f"--http-port={self.http_port}")
        self.assertIn(f"cannot listen on 127.0.0.1:{self.http_port}: Address already in use", line)


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


if __name__ == "__main__":
    unittest.main()
