"""Requests through a real Envoy whose rate limit service is weir: limits, faults, a failover."""

import os
import sys
import time
import unittest

import envoy_case
from weir_e2e import DEADLINE, SKIPPED, let_others_run, run_all

RULES = """
domain: shop
descriptors:
- {key: user, rate_limit: {unit: day, requests_per_unit: 3}}
- {key: tokens, rate_limit: {unit: day, requests_per_unit: 100}}
- {key: flight, rate_limit: {unit: day, requests_per_unit: 2}}
- {key: free, rate_limit: {unit: day, requests_per_unit: 2}, quota_mode: true}
- {key: paid, rate_limit: {unit: day, requests_per_unit: 3}, quota_mode: true}
"""
FAILING = 500  # Envoy's status where the service has failed, and failure_mode_deny is true


def left_in(redis):
    rows = redis.call("RL.INSPECT", "rls:shop:user=ann")
    return rows and rows[0][1]


class LimitsTest(envoy_case.EnvoyTest):
    def test_a_limited_route(self):
        self.start_weir(RULES)
        self.start_envoy()
        for left in (2, 1, 0):
            status, fields = self.get("/", "ann")
            self.assertEqual(status, 200)
            self.assertEqual(fields["x-ratelimit-limit"], "3, 3;w=86400")
            self.assertEqual(fields["x-ratelimit-remaining"], str(left))
            self.assertTrue(1 <= int(fields["x-ratelimit-reset"]) <= 86400)
            self.assertIsNone(fields["x-envoy-ratelimited"])
        status, fields = self.get("/", "ann")
        self.assertEqual((status, fields["x-envoy-ratelimited"]), (429, "true"))
        self.assertEqual(fields["x-ratelimit-remaining"], "0")
        self.assertEqual(self.get("/", "bob")[0], 200)

    def test_values_that_are_long_or_no_text_are_limited(self):
        self.start_weir(RULES)
        self.start_envoy(failure_mode_deny=False)  # so an error would let them pass
        for user in ("x" * 50_000, "\xff\xfe,=:%"):
            statuses = [self.get("/", user)[0] for _ in range(4)]
            self.assertEqual(statuses, [200, 200, 200, 429])

    def test_quota_rules_deny_when_all_are_used_up(self):
        self.start_weir(RULES)
        self.start_envoy(routes=[{
            "match": {"path": "/quota"},
            "route": {"cluster": "web", "rate_limits": [
                {"actions": [{"request_headers": {"header_name": "x-user",
                                                  "descriptor_key": key}}]}
                for key in ("free", "paid")]}}])
        statuses = [self.get("/quota", "ann")[0] for _ in range(4)]
        self.assertEqual(statuses, [200, 200, 200, 429])

    def test_tokens_that_are_reported_when_the_answer_has_ended(self):
        server = self.start_weir(RULES)
        self.start_envoy()
        redis = self.connect(server)
        for calls, status in ((2, 200), (4, 200), (5, 429)):
            self.assertEqual(self.get("/tokens", "ann", **{"x-tokens": "60"})[0], status)
            self.await_equal(lambda: self.info(redis)["rls_calls"], calls)
        self.assertEqual(self.get("/tokens", "bob", **{"x-tokens": "0"})[0], 200)
        self.await_equal(lambda: self.info(redis)["rls_calls"], 7)
        self.assertEqual(self.info(redis)["rls_errors"], 0)

    def test_requests_in_flight(self):
        server = self.start_weir(RULES)
        self.start_envoy()
        redis, statuses = self.connect(server), []

        def get():
            statuses.append(self.get("/flight", "ann")[0])

        def others():
            for _ in range(2):
                self.assertTrue(self.web.waiting.acquire(timeout=DEADLINE))
            for calls in (4, 6):  # Envoy reports the end of what was denied, too.
                self.assertEqual(self.get("/flight", "ann")[0], 429)
                self.await_equal(lambda calls=calls: self.info(redis)["rls_calls"], calls)
            self.web.go_on.set()

        run_all(get, get, others)
        self.assertEqual(statuses, [200, 200])
        self.await_equal(lambda: self.info(redis)["rls_calls"], 8)
        self.assertEqual(self.get("/flight", "ann")[0], 200)


class FaultsTest(envoy_case.EnvoyTest):
    def test_weir_is_gone_and_comes_back(self):
        for denies in (True, False):
            server = self.start_weir(RULES)
            self.start_envoy(failure_mode_deny=denies)
            self.assertEqual(self.get("/", "ann")[0], 200)
            server.stop()
            status = FAILING if denies else 200
            self.assertEqual([self.get("/", "ann")[0] for _ in range(5)], 5 * [status])
            self.start_weir(RULES, f"--http-port={self.http_port}")
            self.await_equal(lambda: self.get("/", "ann")[1].get("x-ratelimit-remaining"), "2")

    def test_weir_hangs(self):
        for denies in (True, False):
            server = self.start_weir(RULES)
            self.start_envoy(failure_mode_deny=denies, timeout="0.2s")
            self.assertEqual(self.get("/", "ann")[0], 200)
            server.pause()
            begin = time.monotonic()
            self.assertEqual(self.get("/", "ann")[0], FAILING if denies else 200)
            self.assertGreater(time.monotonic() - begin, 0.19)
            server.resume()
            self.await_equal(lambda: "x-ratelimit-limit" in self.get("/", "bob")[1], True)

    def test_a_failover(self):
        rules = RULES.replace("requests_per_unit: 3}", "requests_per_unit: 1000000}")
        members = [self.start_weir(rules)]
        ports = [self.http_port]
        for _ in range(2):
            members.append(self.start_weir(rules, f"--replicaof=127.0.0.1 {members[0].port}"))
            ports.append(self.http_port)
        first, second, third = (self.connect(member) for member in members)
        for replica in (second, third):
            self.await_equal(lambda r=replica: b"master_link_status:up" in r.call("INFO"), True)
        self.start_envoy(*ports)
        for left in range(999_999, 999_979, -1):
            self.assertEqual(self.get("/", "ann")[1]["x-ratelimit-remaining"], str(left))
        self.await_equal(lambda: left_in(second), left_in(first))
        self.assertEqual(second.call("REPLICAOF", "NO", "ONE"), "OK")
        for redis in (first, third):
            self.assertEqual(redis.call("REPLICAOF", "127.0.0.1", members[1].port), "OK")
        begin = last = time.monotonic()
        statuses = []
        while last < begin + 4:
            statuses.append(self.get("/", "ann")[0])
            if statuses[-1] != 200:
                last_failure = time.monotonic()
            last = time.monotonic()
        failed = len(statuses) - statuses.count(200)
        print(f"{failed} of {len(statuses)} calls failed, the last after "
              f"{last_failure - begin:.2f} s" if failed else "no call failed", flush=True)
        self.assertEqual(set(statuses[-50:]), {200})
        self.assertEqual(self.info(first)["rls_over_limit"], 0)
        left = int(self.get("/", "ann")[1]["x-ratelimit-remaining"])
        self.assertEqual(left, 999_979 - statuses.count(200))


if __name__ == "__main__":
    if not os.environ.get("WEIR_ENVOY"):
        print("skipped: WEIR_ENVOY names no Envoy (./dev envoy-test fetches it)")
        sys.exit(SKIPPED)
    unittest.main()
