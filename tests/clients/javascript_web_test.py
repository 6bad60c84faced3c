"""Limits services of Node's own http with the middleware of weir-client, against a real server.

    javascript_web_test.py [FRAMEWORK ...]    of express4, express5, fastify, hono, too

The services are programs/web.mjs. Frameworks are not among Debian's packages that the tests need:
WEIR_NODE_MODULES is a folder that has them.
"""

import http.client
import json
import queue
import shutil
import sys
import tempfile
import unittest

import case_programs
import npm
from cases_test import PATIENT_MS, Program
from weir_e2e import DEADLINE, NEVER, ServerTest, free_port

LIMIT = f"3/{NEVER},fixed,name=few"
PREFLIGHT = {"access-control-request-method": "POST"}


class MiddlewareTests:
    """The tests of one framework; a subclass has its name."""

    framework = ""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        directory = tempfile.TemporaryDirectory(prefix="weir_client_")
        cls.addClassCleanup(directory.cleanup)
        cls.program_directory = directory.name
        npm.link_modules(case_programs.NODE_MODULES, directory.name)
        shutil.copy(case_programs.PROGRAMS / "web.mjs", directory.name)

    def setUp(self):
        super().setUp()
        self.server = self.launch("--port", str(free_port()))
        self.server.port

    def protect(self, limiter=None, **options):
        """Starts the service."""
        url = f"redis://127.0.0.1:{self.server.port}"
        options["limiter"] = {"url": url, "deadlineMs": PATIENT_MS, **(limiter or {})}
        options.setdefault("limits", [LIMIT])
        command = ("node", "web.mjs", self.framework, json.dumps(options))
        self.program = Program(command, self.program_directory)
        self.addCleanup(self.stop, self.program)
        self.port = int(self.program.next_said())

    @staticmethod
    def stop(program):
        program._process.terminate()
        program.end()

    def request(self, method="GET", peer="127.0.0.1", headers=None):
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=DEADLINE, source_address=(peer, 0)
        )
        connection.request(method, "/", headers=headers or {})
        response = connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        answer = response.status, found, response.read().decode()
        connection.close()
        return answer

    def statuses(self, times, **request):
        return [self.request(**request)[0] for _ in range(times)]

    def test_three_of_ten(self):
        self.protect()
        answers = [self.request() for _ in range(10)]
        self.assertEqual([answer[0] for answer in answers], 3 * [200] + 7 * [429])
        _, headers, body = answers[0]
        self.assertEqual(body, "hello few 2")
        self.assertEqual(headers["ratelimit"], '"few";r=2')
        self.assertEqual(headers["ratelimit-policy"], '"few";q=3')
        self.assertNotIn("retry-after", headers)
        _, headers, body = answers[3]
        self.assertRegex(headers["ratelimit"], r'^"few";r=0;t=\d+$')
        self.assertEqual(headers["ratelimit-policy"], '"few";q=3')
        self.assertEqual(headers["retry-after"], headers["ratelimit"].rpartition("=")[2])
        self.assertEqual(headers["content-type"], "application/problem+json")
        self.assertEqual(json.loads(body)["violated-policies"], ["few"])

    def test_each_address_has_its_own(self):
        self.protect()
        self.assertEqual(self.statuses(4, peer="127.0.0.2"), [200, 200, 200, 429])
        self.assertEqual(self.statuses(1, peer="127.0.0.3"), [200])

    def test_trusted_hops(self):
        self.protect(trustedHops=1)
        forwarded = {"x-forwarded-for": "203.0.113.9, 192.0.2.7"}
        self.assertEqual(self.statuses(4, headers=forwarded), [200, 200, 200, 429])
        forwarded = {"x-forwarded-for": "192.0.2.7, 192.0.2.8"}
        self.assertEqual(self.statuses(1, headers=forwarded), [200])
        self.assert_mistake("X-Forwarded-For")

    def test_the_key_of_the_program(self):
        self.protect(key="x-user")
        self.assertEqual(self.statuses(4, headers={"x-user": "ann"}), [200, 200, 200, 429])
        self.assertEqual(self.statuses(1, headers={"x-user": "bob"}), [200])
        self.assert_mistake("one bucket for all callers")

    def assert_mistake(self, text):
        status, _, body = self.request()
        self.assertEqual(status, 500)
        self.assertIn(text, body)

    def test_cost_and_legacy_headers(self):
        self.protect(cost="x-cost", legacyHeaders=True)
        status, headers, _ = self.request(headers={"x-cost": "2"})
        self.assertEqual((status, headers["x-ratelimit-limit"]), (200, "3"))
        self.assertEqual(headers["x-ratelimit-remaining"], "1")
        self.assertEqual(self.statuses(1, headers={"x-cost": "2"}), [429])

    def test_preflights_pass(self):
        self.protect()
        self.assertNotIn(429, self.statuses(5, method="OPTIONS", headers=PREFLIGHT))
        self.assertEqual(self.statuses(4), [200, 200, 200, 429])

    def test_skip(self):
        self.protect(skip="x-health")
        self.assertEqual(self.statuses(5, headers={"x-health": "1"}), 5 * [200])

    # Goal: only failures count. Method: six right answers, then failures.
    def test_responses_that_are_charged(self):
        self.protect(chargeWhen=401)
        self.assertEqual(self.statuses(6), 6 * [200])
        self.assertEqual(self.statuses(4, headers={"x-status": "401"}), [401, 401, 401, 429])
        self.assertEqual(self.statuses(1), [429])

    def test_a_response_of_the_program(self):
        self.protect(denied="slow down")
        status, headers, body = [self.request() for _ in range(4)][3]
        self.assertEqual((status, body), (420, "slow down, few"))
        self.assertIn("retry-after", headers)

    # Goal: a response that says no status is that of a denial.
    def test_a_response_of_the_program_without_a_status(self):
        if self.framework == "hono":
            self.skipTest("Its responses have one always.")
        self.protect(denied="plain")
        status, _, body = [self.request() for _ in range(4)][3]
        self.assertEqual((status, body), (429, "slow down, few"))

    # Goal: a mistake behind the response fails no request.
    def test_an_error_of_charge_when(self):
        self.protect(chargeWhen="throws")
        self.assertEqual(self.statuses(3), 3 * [200])

    # Goal: without weir a closed Limiter answers 503, an open one passes, and each tells it once.
    def test_without_weir(self):
        self.server.kill()
        for fail, status in (("open", 200), ("closed", 503)):
            self.protect({"fail": fail, "deadlineMs": 50})
            answered, headers, _ = self.request()
            self.assertEqual((answered, self.program.next_said()), (status, "connection"))
            self.assertRaises(queue.Empty, self.program.events.get_nowait)
            self.assertNotIn("ratelimit", headers)
            self.assertNotIn("retry-after", headers)


class NodeTest(MiddlewareTests, ServerTest):
    framework = "node"


def load_tests(loader, _tests, _pattern):
    tests = [loader.loadTestsFromTestCase(NodeTest)]
    for name in frameworks:
        case = type(name, (MiddlewareTests, ServerTest), {"framework": name})
        tests.append(loader.loadTestsFromTestCase(case))
    return unittest.TestSuite(tests)


frameworks = sys.argv[1:]

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
