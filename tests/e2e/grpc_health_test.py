"""Health by gRPC on real sockets: beside HTTP/1.1, TLS, users, a demotion, a stop, a flood."""

import os
import signal
import socket
import ssl
import time
import unittest
import urllib.request

import h2.config
import h2.connection
import h2.events

from tls_servers import TlsServerTest
from weir_e2e import DEADLINE, ServerTest, free_port

CHECK = "/grpc.health.v1.Health/Check"
WATCH = "/grpc.health.v1.Health/Watch"
ASK = b"\0\0\0\0\0"  # about the server
SERVING = b"\0\0\0\0\2\x08\1"
NOT_SERVING = b"\0\0\0\0\2\x08\2"


class GrpcClient:
    """A connection of HTTP/2, which makes calls of gRPC."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(DEADLINE)
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
        self._h2.initiate_connection()
        self.bodies, self.fields, self.ended = {}, {}, set()
        self.go_aways, self.is_closed = [], False

    def begin(self, path, message=ASK, **more):
        stream = self._h2.get_next_available_stream_id()
        fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "weir",
                  "content-type": "application/grpc", "te": "trailers", **more}
        self._h2.send_headers(stream, fields.items())
        self._h2.send_data(stream, message, end_stream=True)
        self.bodies[stream], self.fields[stream] = b"", {}
        self.socket.sendall(self._h2.data_to_send())
        return stream

    def read_until(self, done):
        """Reads until `done` is true, or the server closes."""
        while not done() and not self.is_closed:
            received = self.socket.recv(65536)
            self.is_closed = not received
            for event in self._h2.receive_data(received):
                self._take(event)
            if not self.go_aways:
                self.socket.sendall(self._h2.data_to_send())

    def _take(self, event):
        if isinstance(event, h2.events.DataReceived):
            self.bodies[event.stream_id] += event.data
        elif isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            self.fields[event.stream_id].update(
                (name.decode(), value.decode()) for name, value in event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.go_aways.append((event.last_stream_id, event.error_code))

    def call(self, path, message=ASK, **more):
        """The body and the status of an answer."""
        stream = self.begin(path, message, **more)
        self.read_until(lambda: stream in self.ended)
        return self.bodies[stream], self.fields[stream].get("grpc-status")

    def await_body(self, stream, body):
        self.read_until(lambda: self.bodies[stream] == body)
        return self.bodies[stream]

    def read_to_end(self):
        self.read_until(lambda: False)


class GrpcHealthTest(ServerTest):
    def start_http(self, *options):
        self.http_port = free_port()
        server = self.start(f"--http-port={self.http_port}", *options)
        server.wait_for_log(r"listening on .* for HTTP")
        return server

    def grpc(self, port=None):
        connected = socket.create_connection(("127.0.0.1", port or self.http_port), DEADLINE)
        self.addCleanup(connected.close)
        return GrpcClient(connected)

    def test_health_beside_http1_on_one_port(self):
        server = self.start_http()
        client = self.grpc()
        self.assertEqual(client.call(CHECK), (SERVING, "0"))
        self.assertEqual(client.call(CHECK, b"\0\0\0\0\3\x0a\1x"), (b"", "5"))
        self.assertEqual(client.call("/a.B/C"), (b"", "12"))
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/livez") as answer:
            self.assertEqual(answer.read(), b"ok\n")
        redis = self.connect(server)
        self.assertEqual(self.info(redis)["h2_connections"], 1)
        client.socket.close()
        self.await_equal(lambda: self.info(redis)["h2_connections"], 0)

    def test_a_unix_socket(self):
        path = os.path.join(self.directory, "http.sock")
        self.start(f"--http-unix-socket={path}").wait_for_log(r"listening on .*http\.sock")
        with socket.socket(socket.AF_UNIX) as connected:
            connected.connect(path)
            self.assertEqual(GrpcClient(connected).call(CHECK), (SERVING, "0"))

    def test_health_needs_no_login_and_no_right(self):
        users = self.write("users", "user default off\nuser app on >secret ~app:* +@limit\n")
        self.start_http(f"--users-file={users}")
        client = self.grpc()
        self.assertEqual(client.call(CHECK), (SERVING, "0"))
        self.assertEqual(client.call(CHECK, authorization="Basic YXBwOndyb25n"), (SERVING, "0"))

    def test_a_demotion_ends_each_connection(self):
        primary = self.start_http()
        other = self.start("--port=0")
        client, idle = self.grpc(), self.grpc()
        watch = client.begin(WATCH)
        self.assertEqual(client.await_body(watch, SERVING), SERVING)
        self.assertEqual(idle.call(CHECK), (SERVING, "0"))
        begin = time.monotonic()
        self.assertEqual(self.connect(primary).call("REPLICAOF", "127.0.0.1", other.port), "OK")
        for one in (client, idle):
            one.read_to_end()
            self.assertEqual(one.go_aways[0], (2**31 - 1, 0))
        self.assertEqual(client.bodies[watch], SERVING + NOT_SERVING)
        self.assertLess(time.monotonic() - begin, DEADLINE)
        self.assertEqual(self.grpc().call(CHECK), (NOT_SERVING, "0"))
        again = self.grpc()
        watch = again.begin(WATCH)
        self.assertEqual(again.await_body(watch, NOT_SERVING), NOT_SERVING)
        self.assertEqual(self.connect(primary).call("REPLICAOF", "NO", "ONE"), "OK")
        wanted = NOT_SERVING + SERVING
        self.assertEqual(again.await_body(watch, wanted), wanted)

    def test_a_stop_tells_its_clients(self):
        server = self.start_http()
        client, idle = self.grpc(), self.grpc()
        watch = client.begin(WATCH)
        self.assertEqual(client.await_body(watch, SERVING), SERVING)
        self.assertEqual(idle.call(CHECK), (SERVING, "0"))
        server.process.send_signal(signal.SIGTERM)
        for one in (client, idle):
            one.read_to_end()
            self.assertEqual(one.go_aways, [(1, 0)])
        self.assertEqual(client.bodies[watch], SERVING + NOT_SERVING)
        self.assertEqual(server.wait(), 0)

    def test_a_connection_that_is_too_old_ends(self):
        redis = self.connect(self.start_http("--http-max-connection-age=500ms"))
        idle, watching = self.grpc(), self.grpc()
        self.assertEqual(idle.call(CHECK), (SERVING, "0"))
        watching.begin(WATCH)
        watching.read_until(lambda: watching.go_aways)
        self.assertEqual(watching.go_aways, [(2**31 - 1, 0)])
        idle.read_to_end()
        self.assertEqual(idle.go_aways[0], (2**31 - 1, 0))
        self.assertEqual(redis.call("CONFIG", "SET", "http-max-connection-age", "3600"), "OK")
        self.assertEqual(redis.call("CONFIG", "GET", "http-max-connection-age"),
                         [b"http-max-connection-age", b"3600"])
        self.assertEqual(self.grpc().call(CHECK), (SERVING, "0"))

    def test_a_flood_is_closed_and_others_are_served(self):
        admin = free_port()
        server = self.start_http(f"--admin-port={admin}")
        flood, other = self.grpc(), self.grpc()
        flood.begin(CHECK)
        flood.socket.sendall(2000 * b"\0\0\x08\6\1\0\0\0\0pingpong")
        flood.read_to_end()
        self.assertEqual(flood.go_aways, [(1, 11)])  # ENHANCE_YOUR_CALM
        self.assertEqual(other.call(CHECK), (SERVING, "0"))
        server.wait_for_log(r"closed client .*: it sent too many frames without calls")
        with urllib.request.urlopen(f"http://127.0.0.1:{admin}/metrics") as answer:
            self.assertIn(b'weir_h2_closed_total{reason="control_frames"} 1\n', answer.read())


class GrpcTlsTest(TlsServerTest):
    def connect_by_tls(self, port, *protocols):
        context = ssl.create_default_context(cafile=self.authority.certificate)
        context.set_alpn_protocols(protocols)
        connected = socket.create_connection(("127.0.0.1", port), DEADLINE)
        connected = context.wrap_socket(connected, server_hostname="127.0.0.1")
        self.addCleanup(connected.close)
        return connected

    def test_alpn_names_the_protocol_on_the_port_for_http(self):
        port, redis_port = free_port(), free_port()
        server = self.start(f"--http-tls-port={port}", "--tls-auth-clients=optional",
                            *self.tls_options(redis_port))
        server.wait_for_log(r"listening on .* for HTTP")
        connected = self.connect_by_tls(port, "h2")
        self.assertEqual(connected.selected_alpn_protocol(), "h2")
        self.assertEqual(GrpcClient(connected).call(CHECK), (SERVING, "0"))
        both = self.connect_by_tls(port, "h2", "http/1.1")
        self.assertEqual(both.selected_alpn_protocol(), "http/1.1")
        self.assertIsNone(self.connect_by_tls(port, "redis").selected_alpn_protocol())
        self.assertIsNone(self.connect_by_tls(redis_port, "h2").selected_alpn_protocol())


if __name__ == "__main__":
    unittest.main()
