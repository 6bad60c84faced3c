"""Routes of checks: a file that is read at the start and at SIGHUP, asked as proxies ask."""

import http.client
import os
import signal
import unittest

from weir_e2e import ServerTest, free_port

GOOD = """[api]
key = "ip:{ip}"
limits = ["2/h,name=hourly"]
[api.answer]
denied = 403
"""
OTHER = GOOD.replace("api", "web")
BAD = OTHER.replace("2/h", "2/x")
WHY = r"checks\.toml:3: route 'web': invalid limit '2/x,name=hourly': unknown unit 'x'"


class CheckTest(ServerTest):
    def start_with(self, path):
        self.http_port = free_port()
        server = self.start(f"--http-port={self.http_port}", f"--checks={path}")
        server.wait_for_log(r"listening on .* for HTTP")
        return server

    def check(self, target, **fields):
        client = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)
        self.addCleanup(client.close)
        client.request("GET", target, headers={"X-Forwarded-For": "192.0.2.7", **fields})
        return client.getresponse()

    def test_a_route_decides(self):
        self.start_with(self.write("checks.toml", GOOD))
        self.assertEqual(self.check("/check/api").status, 200)
        self.assertEqual(self.check("/check/api/v1/x").status, 200)
        denied = self.check("/check/api")
        self.assertEqual(denied.status, 403)
        self.assertEqual(denied.headers["Content-Type"], "application/problem+json")
        self.assertRegex(denied.headers["RateLimit"], r'^"hourly";r=0;t=1[78]\d\d$')
        self.assertRegex(denied.headers["Retry-After"], r"^1[78]\d\d$")
        self.assertEqual(self.check("/check/api", **{"X-Forwarded-For": "192.0.2.8"}).status, 200)
        self.assertEqual(self.check("/check/web").status, 404)
        self.assertEqual(self.check("/check?key=k&limit=1/h").status, 200)

    def test_sighup_replaces_all_routes_or_none(self):
        path = self.write("checks.toml", GOOD)
        server = self.start_with(path)
        self.write("checks.toml", BAD)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: the routes of checks are unchanged: .*" + WHY)
        self.assertEqual(self.check("/check/api").status, 200)
        self.write("checks.toml", OTHER)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for_log("received SIGHUP: read the routes of checks again")
        self.assertEqual(self.check("/check/api").status, 404)
        self.assertEqual(self.check("/check/web").status, 200)

    def test_a_bad_file_at_the_start_is_refused(self):
        self.assertRegex(self.refused("--checks", self.write("checks.toml", BAD)), WHY)
        absent = os.path.join(self.directory, "absent.toml")
        why = "cannot read the file of checks .*absent"
        self.assertRegex(self.refused("--checks", absent), why)
        unknown = self.write("checks.toml", GOOD.replace("[api.", 'user = "nemo"\n[api.'))
        self.assertRegex(self.refused("--checks", unknown), "user 'nemo' is unknown or off")


if __name__ == "__main__":
    unittest.main()
