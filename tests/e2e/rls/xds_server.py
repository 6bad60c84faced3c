"""A control plane for tests: state of the world over one stream of HTTP/2, with or without TLS."""

import queue
import socket
import ssl
import threading

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from rls_client import UNITS, bytes_field, fields_of, number_field
from weir_e2e import DEADLINE

RULE_TYPE = b"type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"


def rules(name, domain, *descriptors):
    """A RateLimitConfig; a descriptor is `KEY[=VALUE] COUNT/UNIT`."""
    message = bytes_field(1, name.encode()) + bytes_field(2, domain.encode())
    for descriptor in descriptors:
        words, _, limit = descriptor.partition(" ")
        key, _, value = words.partition("=")
        count, _, unit = limit.partition("/")
        number = UNITS.index(unit) if unit in UNITS else 99
        limit = number_field(1, number) + number_field(2, int(count))
        message += bytes_field(3, bytes_field(1, key.encode()) + bytes_field(2, value.encode())
                               + bytes_field(3, limit))
    return message


def response(version, *resources, nonce=None, type_url=RULE_TYPE):
    message = bytes_field(1, version.encode())
    for resource in resources:
        message += bytes_field(2, bytes_field(1, RULE_TYPE) + bytes_field(2, resource))
    return message + bytes_field(4, type_url) + bytes_field(5, (nonce or "n" + version).encode())


class Request:
    """A DiscoveryRequest."""

    def __init__(self, message):
        fields = fields_of(message)
        self.version = fields.get(1, [b""])[0].decode()
        self.node = fields_of(fields[2][0])
        self.type_url = fields[4][0]
        self.nonce = fields.get(5, [b""])[0].decode()
        self.error = fields_of(fields[6][0])[2][0].decode() if 6 in fields else None


class ControlPlane:
    """Accepts one connection after the other. `first` is what each hears at its first request."""

    def __init__(self, first=None, port=0, tls=None, host="127.0.0.1",
                 content_type="application/grpc"):
        self.first, self._tls, self._content_type = first, tls, content_type
        self.requests, self.headers, self.resets = queue.Queue(), {}, queue.Queue()
        self._listener = socket.create_server((host, port))
        self.port = self._listener.getsockname()[1]
        self._connected, self._lock, self._h2, self._stream = None, threading.Lock(), None, None
        self._thread = threading.Thread(target=self._accept_all, daemon=True)
        self._thread.start()

    def close(self):
        """As a process that ends: it listens no longer, and its connection is gone."""
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        self.cut()
        self._thread.join(DEADLINE)

    def cut(self):
        connected = self._connected
        if connected is not None:
            try:
                connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def request(self):
        return self.requests.get(timeout=DEADLINE)

    def send(self, message):
        self.send_body(b"\0" + len(message).to_bytes(4, "big") + message)

    def send_body(self, body):
        """Sends as far as the window permits, and the rest when it opens."""
        with self._lock:
            self._unsent += body
            self._send_some()

    def send_bytes(self, data):
        """Bytes of no protocol."""
        with self._lock:
            self._connected.sendall(data)

    def _send_some(self):
        while self._unsent:
            room = min(self._h2.local_flow_control_window(self._stream),
                       self._h2.max_outbound_frame_size, len(self._unsent))
            if room <= 0:
                break
            self._h2.send_data(self._stream, self._unsent[:room])
            self._unsent = self._unsent[room:]
        self._connected.sendall(self._h2.data_to_send())

    def _accept_all(self):
        while True:
            try:
                connected, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._tls:
                    connected = self._tls.wrap_socket(connected, server_side=True)
                self._serve(connected)
            except (OSError, ssl.SSLError, h2.exceptions.ProtocolError):
                pass
            connected.close()

    def _serve(self, connected):
        self._connected, self._unsent, self._body = connected, b"", b""
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._h2.initiate_connection()
        connected.sendall(self._h2.data_to_send())
        while True:
            received = connected.recv(65536)
            if not received:
                return
            with self._lock:
                for event in self._h2.receive_data(received):
                    self._take(event)
                self._send_some()

    def _take(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self._stream = event.stream_id
            self.headers = {name.decode(): value.decode() for name, value in event.headers}
            self._h2.send_headers(self._stream, [(":status", "200"),
                                                 ("content-type", self._content_type)])
        elif isinstance(event, h2.events.DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self._body += event.data
            self._take_messages()
        elif isinstance(event, h2.events.StreamReset):
            self.resets.put(event.error_code)
            self._unsent = b""

    def _take_messages(self):
        while len(self._body) >= 5:
            size = int.from_bytes(self._body[1:5], "big")
            if len(self._body) < 5 + size:
                return
            request = Request(self._body[5:5 + size])
            self._body = self._body[5 + size:]
            self.requests.put(request)
            if not request.nonce and self.first is not None:
                self._unsent += b"\0" + len(self.first).to_bytes(4, "big") + self.first
