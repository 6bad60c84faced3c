"""A test whose server has rules of Envoy's rate limit service."""

import socket
import time

from rls_client import RlsClient
from weir_e2e import DEADLINE, ServerTest, free_port


def minute():
    return int(time.time()) // 60


class RlsServerTest(ServerTest):
    def start_rls(self, rules, *options, is_killed=False):
        path = self.write("rules.yaml", rules)
        self.http_port = free_port()
        start = self.launch if is_killed else self.start
        server = start("--port=0", f"--rls-config={path}", f"--http-port={self.http_port}",
                       *options)
        server.wait_for_log(r"listening on .* for HTTP")
        if any(option.startswith("--data-dir") for option in options):
            server.wait_for_log("loaded .* buckets")
        return server

    def client(self, port=None):
        connected = socket.create_connection(("127.0.0.1", port or self.http_port), DEADLINE)
        self.addCleanup(connected.close)
        return RlsClient(connected)

    def within_a_minute(self, attempt, begin=lambda: None):
        """Makes the attempt again if a minute has ended within it: its windows were others."""
        while True:
            begin()
            started = minute()
            try:
                return attempt()
            except AssertionError:
                if minute() == started:
                    raise
