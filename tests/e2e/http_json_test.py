"""JSON over HTTP on a real socket: decisions, batches, commands, users, a crash."""

import http.client
import json
import os
import signal
import socket
import unittest

from weir_e2e import ServerTest


class UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path):
        super().__init__("weir", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class HttpJsonTest(ServerTest):
    def start_http(self, *options, start=None):
        path = os.path.join(self.directory, "http.sock")
        server = (start or self.start)(f"--http-unix-socket={path}", *options)
        server.wait_for_log(r"listening on .*http\.sock:0 for HTTP")
        self.client = UnixConnection(path)
        self.addCleanup(self.client.close)
        return server

    def post(self, path, value, **fields):
        """The status, the fields and the value of the answer."""
        body = json.dumps(value)
        self.client.request(
            "POST", path, body, {"Content-Type": "application/json", **fields}
        )
        response = self.client.getresponse()
        return response.status, response.headers, json.loads(response.read())

    def test_http_and_the_redis_protocol_share_their_buckets(self):
        server = self.start_http()
        request = {"key": "k", "limits": ["2/d"]}
        status, fields, answer = self.post("/v1/allow", request)
        self.assertEqual((status, answer["allowed"], answer["remaining"]), (200, True, 1))
        self.assertEqual(fields["RateLimit-Policy"], '"2/d";q=2;w=86400')
        self.assertTrue(self.redis_cli(server, "RL.ALLOW", "k", "2/d").startswith("1) (integer) 1"))
        status, fields, answer = self.post("/v1/allow?denied=429", request)
        self.assertEqual((status, answer["allowed"]), (429, False))
        self.assertGreater(int(fields["Retry-After"]), 40_000)
        seen = self.redis_cli(server, "INFO", "commandstats")
        self.assertIn("cmdstat_rl.allow:calls=3", seen)

    def test_a_batch_of_a_thousand_and_a_pipeline_on_one_connection(self):
        self.start_http()
        requests = [{"key": f"k{i % 500}", "limits": ["1/d"]} for i in range(1000)]
        for first in (True, False):
            status, _, answer = self.post("/v1/batch", {"requests": requests})
            self.assertEqual(status, 200)
            allowed = [result["allowed"] for result in answer["results"]]
            self.assertEqual(allowed, [first] * 500 + [False] * 500)
        status, _, answer = self.post("/v1/pipeline", [["PING"], ["NONE"]] * 500)
        self.assertEqual((status, len(answer)), (200, 1000))
        self.assertEqual(answer[-2], {"result": "PONG"})
        self.assertIn("unknown command", answer[-1]["error"])

    def test_a_body_in_chunks(self):
        self.start_http()
        body = json.dumps(["ECHO", "x" * 30_000]).encode()
        pieces = (body[at : at + 777] for at in range(0, len(body), 777))
        self.client.request(
            "POST", "/v1/command", pieces, {"Content-Type": "application/json"}, encode_chunked=True
        )
        response = self.client.getresponse()
        self.assertEqual(json.loads(response.read()), {"result": "x" * 30_000})

    def test_a_password_is_asked_for_and_taken(self):
        self.start_http("--requirepass=secret")
        request = {"key": "k", "limits": ["2/d"]}
        status, fields, answer = self.post("/v1/allow", request)
        self.assertEqual((status, answer["error"][:6]), (401, "NOAUTH"))
        self.assertTrue(fields["WWW-Authenticate"].startswith("Basic "))
        self.assertEqual(self.post("/v1/allow", request, Authorization="Bearer secret")[0], 200)
        # A wrong one costs the client a while.
        self.assertEqual(self.post("/v1/allow", request, Authorization="Bearer other")[0], 401)
        basic = "Basic ZGVmYXVsdDpzZWNyZXQ="
        self.assertEqual(self.post("/v1/allow", request, Authorization=basic)[0], 200)

    def test_a_change_is_answered_when_it_is_saved(self):
        options = [f"--data-dir={self.directory}/data", "--durability=always"]
        server = self.start_http("--port=0", *options, start=self.launch)
        server.wait_for_log(r"loaded \d+ buckets")
        request = {"key": "k", "limits": ["2/d"]}
        self.assertEqual(self.post("/v1/allow", request)[2]["remaining"], 1)
        self.assertEqual(self.post("/v1/command", ["SAVE"])[2], {"result": "OK"})
        self.assertEqual(server.stop(signal.SIGKILL), -signal.SIGKILL)
        self.client.close()
        self.start_http(*options).wait_for_log(r"loaded \d+ buckets")
        self.assertEqual(self.post("/v1/peek", request)[2]["remaining"], 0)


if __name__ == "__main__":
    unittest.main()
