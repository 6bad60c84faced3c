"""Events of decisions on real sockets: from the server, from its HTTP, and from the module."""

import http.client
import json
import os
import unittest

from redis_host import start_module
from weir_e2e import Client, ServerTest, free_port

TWO = "2/1000d,fixed"


class EventsTest(ServerTest):
    def subscribe(self, host):
        client = Client(host.port)
        self.addCleanup(client.close)
        client.call("SUBSCRIBE", "weir:denied", "weir:used")
        client.reply()  # of the second channel
        return client

    def heard(self, subscriber, count):
        """Events, without their times."""
        events = []
        for _ in range(count):
            kind, channel, text = subscriber.reply()
            self.assertEqual(kind, b"message")
            words = text.split(b" ", 2 if channel == b"weir:denied" else 3)
            self.assertGreater(int(words[-2]), 0)
            events.append(b" ".join([channel[5:], *words[:-2], words[-1]]).decode())
        return events

    def check_host(self, host):
        subscriber, client = self.subscribe(host), Client(host.port)
        self.addCleanup(client.close)
        client.call("RL.POLICY", "SET", "free", TWO)
        client.call("RL.PEEK", "a b", TWO, "COST", "3")
        for _ in range(4):
            client.call("RL.ALLOW", "a b", TWO)
        client.call("CL.THROTTLE", "c", 0, 1, 3600)
        client.call("CL.THROTTLE", "c", 0, 1, 3600)
        client.call("MULTI")
        client.call("RL.TAKE", "d", "@free", "UPTO", 9)
        client.call("RL.ALLOW", "d", "@free")
        client.call("EXEC")
        client.call("RL.CHARGE", "e", TWO, "COST", 3)
        client.call("RL.CHARGE", "e", TWO, "COST", 3)
        client.call("RL.RESERVE", "f", "1,held", "HOLD", "x", "TTL", 60_000)
        client.call("RL.ALLOW", "the last", TWO, "COST", 2)
        self.assertEqual(
            self.heard(subscriber, 9),
            [f"used 100 {TWO} a b", f"denied {TWO} a b", "denied cl.throttle c",
             "used 100 @free#0 d", "denied @free#0 d", f"denied {TWO} e", f"used 100 {TWO} e",
             "used 100 1,held f", f"used 100 {TWO} the last"])  # fmt: skip

    def test_the_server_tells(self):
        self.check_host(self.start())

    @unittest.skipUnless(os.environ.get("WEIR_MODULE"), "the module is not built")
    def test_the_module_tells(self):
        self.check_host(start_module(self))

    @unittest.skipUnless(os.environ.get("WEIR_MODULE"), "the module is not built")
    def test_the_module_tells_every_denial_if_it_is_asked_to(self):
        host = start_module(self, "notify-interval", "0")
        subscriber, client = self.subscribe(host), Client(host.port)
        self.addCleanup(client.close)
        for _ in range(3):
            client.call("RL.ALLOW", "k", "1/1000d")
        self.assertEqual(self.heard(subscriber, 2), ["denied 1/1000d k"] * 2)

    @unittest.skipUnless(os.environ.get("WEIR_MODULE"), "the module is not built")
    def test_the_module_tells_the_percentages_that_it_is_asked_for(self):
        host = start_module(self, "notify-at", "50")
        subscriber, client = self.subscribe(host), Client(host.port)
        self.addCleanup(client.close)
        client.call("RL.ALLOW", "k", "10/1000d,fixed", "COST", 9)
        client.call("RL.ALLOW", "k", "10/1000d,fixed")
        client.call("RL.ALLOW", "k", "10/1000d,fixed")
        heard = self.heard(subscriber, 2)
        self.assertEqual(heard, ["used 50 10/1000d,fixed k", "denied 10/1000d,fixed k"])

    def test_decisions_over_http_are_told(self):
        port = free_port()
        server = self.start("--http-port", str(port))
        subscriber = self.subscribe(server)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.addCleanup(connection.close)
        for _ in range(3):
            body = json.dumps({"key": "k", "limits": [TWO]})
            connection.request("POST", "/v1/allow", body, {"Content-Type": "application/json"})
            connection.getresponse().read()
        for _ in range(3):
            connection.request("GET", f"/check?key=l&limit={TWO}")
            connection.getresponse().read()
        self.assertEqual(
            self.heard(subscriber, 4),
            [f"used 100 {TWO} k", f"denied {TWO} k", f"used 100 {TWO} l", f"denied {TWO} l"])


if __name__ == "__main__":
    unittest.main()
