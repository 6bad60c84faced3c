"""Envoy's rate limit service over gRPC: rows of calls, reloads, users, replicas, durability."""

import base64
import os
import time
import unittest
import urllib.request

from rls_case import RlsServerTest
from rls_rows import DOMAINS, ROWS, RULES
from weir_e2e import free_port

TWO_A_MINUTE = """
domain: test-domain
descriptors:
- {key: k, rate_limit: {unit: minute, requests_per_unit: 2}}
"""


class RowsTest(RlsServerTest):
    def play(self, client, domain, step):
        call, _, wanted = step.partition(" -> ")
        times = 1
        if " x " in call:
            count, _, call = call.partition(" x ")
            times = int(count)
        wanted, _, limit = wanted.partition(" [")
        for _ in range(times):
            answer = client.ask(call, domain)
            self.assertEqual(str(answer), wanted, step)
            if limit:
                shown = [status.limit for status in answer.statuses if status.limit]
                self.assertEqual(shown[0], limit.rstrip("]"), step)

    def test_rows(self):
        by_rules = {}
        for number, rules, steps in ROWS:
            by_rules.setdefault(rules, []).append((number, steps))
        for name, rows in by_rules.items():
            rules, *options = name.split()
            server = self.start_rls(RULES[rules], *(f"--{option}=true" for option in options))
            client, redis = self.client(), self.connect(server)
            for number, steps in rows:
                def attempt(steps=steps, rules=rules, client=client):
                    for step in steps:
                        self.play(client, DOMAINS.get(rules, "test-domain"), step)
                with self.subTest(row=number):
                    self.within_a_minute(attempt, lambda redis=redis: redis.call("FLUSHALL"))

    def test_resets_are_the_ends_of_windows(self):
        self.start_rls(RULES["B"])
        client = self.client()
        before = int(time.time()) % 3600
        reset = client.ask("key3=a", "test-domain").statuses[0].reset
        self.assertIn((reset + before) % 3600, (0, 1, 3599))
        self.assertTrue(1 <= reset <= 3600)

    def test_metadata(self):
        server = self.start_rls(RULES["E"], "--rls-metadata=true")
        client, redis = self.client(), self.connect(server)

        def attempt():
            for service in (1, 2):
                metadata = client.ask("service=service_1; service=service_2", "rl").metadata
                self.assertEqual(metadata["metadata"], {
                    "service_with_quota": {"name": f"service_{service}"}, "tier": 2})
            over, passing = metadata["descriptors"]
            self.assertTrue(0 < over.pop("retryAfterMs") <= 60_000)
            self.assertEqual(over, {"code": "OVER_LIMIT", "entries": ["service=service_1"]})
            self.assertEqual(passing, {"code": "OK", "entries": ["service=service_2"]})

        self.within_a_minute(attempt, lambda: redis.call("FLUSHALL"))
        self.assertEqual(client.ask("foo=pelle #2", "rl").metadata, {
            "domain": "rl", "descriptors": [{"entries": ["foo=pelle"], "code": "OK"}],
            "hitsAddend": 2})

    def test_headers_of_the_reference(self):
        self.start_rls(RULES["E"], "--rls-headers=reference")
        client = self.client()

        def numbers(call):
            answer = client.ask(call, "rl")
            fields = [answer.headers[f"RateLimit-{name}"]
                      for name in ("Limit", "Remaining", "Reset")]
            return tuple(map(int, fields)), answer.statuses

        seen, statuses = numbers("foo=h; foo=h/bar=b")
        self.assertEqual(seen, (2, 1, statuses[0].reset))
        seen, statuses = numbers("foo=h/bar=banned; foo=h2")
        self.assertEqual(seen, (0, 0, statuses[0].reset))
        for _ in range(2):
            self.assertEqual(numbers("service=service_1")[0][:2], (1, 0))
        self.assertEqual(client.ask("none", "rl").headers, {})

    def test_a_message_that_is_too_long_is_over_the_limit(self):
        self.start_rls(RULES["B"])
        self.assertEqual(str(self.client().ask_too_much()), " | OVER")
        self.start_rls(RULES["B"], "--rls-shadow=true")
        self.assertEqual(str(self.client().ask_too_much()), " | OK")


class ReferenceMetricsTest(RlsServerTest):
    def samples(self):
        """Those with the names of the reference, without the begin that all have."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.admin_port}/metrics") as page:
            lines = page.read().decode().splitlines()
        begin = "ratelimit_service_"
        return dict(line[len(begin):].rsplit(" ", 1) for line in lines if line.startswith(begin))

    def test_metrics_have_the_names_of_the_reference(self):
        self.admin_port = free_port()
        rules = TWO_A_MINUTE.replace("minute", "year") + (
            "- {key: ip, value: 10.0.0.1, descriptors: [{key: path, "
            "rate_limit: {unit: year, requests_per_unit: 10}}]}\n")
        self.start_rls(rules, f"--admin-port={self.admin_port}", "--rls-metrics=reference")
        client = self.client()
        for _ in range(3):
            client.ask("k=a", "test-domain")
        client.ask("ip=10.0.0.1/path=x +7", "test-domain")
        client.ask("ip=10.0.0.1/path=x +5", "test-domain")
        client.ask("k=a; k=b", "no-domain")
        self.assertEqual(str(client.ask("none", "")), "!3")
        samples = self.samples()
        wanted = {
            'domain="test-domain",key1="k"': ("3", "1", "1", "2", "0"),
            'domain="test-domain",key1="ip_10_0_0_1",key2="path"': ("12", "2", "2", "7", "0"),
        }
        names = ("total_hits", "over_limit", "near_limit", "within_limit", "shadow_mode")
        for labels, numbers in wanted.items():
            seen = tuple(samples.get(f"rate_limit_{name}{{{labels}}}") for name in names)
            self.assertEqual(seen, numbers, labels)
        self.assertEqual(samples["rate_limit_no_domain_domain_not_found"], "2")
        self.assertEqual(samples['should_rate_limit_error{err_type="service_error"}'], "1")
        self.assertEqual(samples['total_requests{grpc_method="ShouldRateLimit"}'], "7")
        self.assertEqual(samples["config_load_success"], "1")

    def test_by_default_there_are_none(self):
        self.admin_port = free_port()
        self.start_rls(TWO_A_MINUTE, f"--admin-port={self.admin_port}")
        self.client().ask("k=a", "test-domain")
        self.assertEqual(self.samples(), {})


class RulesTest(RlsServerTest):
    def write_rules(self, text):
        """As an editor does: another file takes the name."""
        aside = self.write("aside", text)
        os.rename(aside, os.path.join(self.directory, "rules.yaml"))

    def test_a_mistake_ends_the_start(self):
        path = self.write("bad.yaml", "domain: a\ndescriptors:\n- {kee: b}\n")
        log = self.refused(f"--rls-config={path}", f"--http-port={free_port()}")
        self.assertIn("bad.yaml:3: unknown key 'kee'", log)
        log = self.refused(f"--rls-config={path}")
        self.assertIn("needs an http-port", log)

    def test_rules_that_change_take_effect_and_counts_stay(self):
        server = self.start_rls(TWO_A_MINUTE)
        client, redis = self.client(), self.connect(server)
        day = TWO_A_MINUTE.replace("minute", "day")
        self.write_rules(day)
        server.wait_for_log("have changed: the rules are read")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        self.write_rules(day.replace(": 2}", ": 5}"))
        self.await_equal(lambda: self.info(redis)["rls_config_loads"], 3)
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r3 | OK")
        self.write_rules("domain: test-domain\ndescriptors: [{}]\n")
        server.wait_for_log("the rules are unchanged: .*rules.yaml:2: a descriptor has no key")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r2 | OK")
        info = self.info(redis)
        self.assertEqual((info["rls_config_load_errors"], info["rls_rules"]), (1, 1))
        self.assertIn(b"rls_config_error:", redis.call("INFO"))
        self.assertIn(b"rules.yaml:2: a descriptor has no key", redis.call("INFO"))
        self.assertEqual((info["rls_calls"], info["rls_over_limit"]), (3, 0))

    def test_a_rule_is_a_policy(self):
        server = self.start_rls(TWO_A_MINUTE.replace("minute", "day"))
        client, redis = self.client(), self.connect(server)
        name, key = "rls:test-domain.k", "rls:test-domain:k=a"
        self.assertEqual(str(client.ask("k=a", "test-domain")), "r1 | OK")
        self.assertIn(name.encode(), str(redis.call("RL.POLICY", "LIST")).encode())
        for words in (("SET", name, "5/s"), ("SET", "rls:other", "5/s"), ("DEL", name)):
            self.assertIn("rls-config", str(redis.call("RL.POLICY", *words)))
        self.assertIn("@rls:test-domain.k#0", str(redis.call("RL.STATS")))
        self.assertIn(name, str(redis.call("RL.INSPECT", key)))
        redis.call("RL.POLICY", "OVERRIDE", name, key, "900/d,fixed,aligned")
        answer = client.ask("k=a", "test-domain")
        self.assertEqual((str(answer), answer.statuses[0].limit), ("r898 | OK", "900 DAY"))
        self.assertEqual(str(client.ask("k=b", "test-domain")), "r1 | OK")

    def test_counts_survive_a_restart(self):
        data = os.path.join(self.directory, "data")
        rules = TWO_A_MINUTE.replace("minute", "year")
        server = self.start_rls(rules, f"--data-dir={data}")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r1 | OK")
        self.assertEqual(str(self.client().ask("k=a @9/YEAR", "test-domain")), "r8 | OK")
        server.stop()
        self.start_rls(rules, f"--data-dir={data}")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r0 | OK")
        self.assertEqual(str(self.client().ask("k=a @9/YEAR", "test-domain")), "r7 | OK")

    def test_files_of_one_domain(self):
        folder = os.path.join(self.directory, "folder")
        os.mkdir(folder)
        for name, number in (("a", 10), ("b", 20)):
            self.write(f"folder/{name}.yaml", "domain: test-domain\ndescriptors:\n- "
                       f"{{key: {name}, rate_limit: {{unit: day, requests_per_unit: {number}}}}}\n")
        self.http_port = free_port()
        options = (f"--rls-config={folder}", f"--http-port={self.http_port}")
        self.assertIn("--rls-merge-domains joins them", self.refused(*options))
        self.start(*options, "--rls-merge-domains=true").wait_for_log("listening on .* for HTTP")
        self.assertEqual(str(self.client().ask("a=1; b=1", "test-domain")), "r9 r19 | OK")


class AccessTest(RlsServerTest):
    def test_without_rules_there_is_no_such_method(self):
        self.http_port = free_port()
        self.start(f"--http-port={self.http_port}").wait_for_log("listening on .* for HTTP")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "!12")

    def test_users_and_their_rights(self):
        users = self.write("users", "user default off\n"
                           "user app on >secret ~rls:test-domain:k=a* +rl.allow\n"
                           "user all on >secret ~* +@limit\n")
        self.start_rls(RULES["B"].replace("key2", "k"), f"--users-file={users}")
        client = self.client()

        def ask(call, user="app", password="secret"):
            field = base64.b64encode(f"{user}:{password}".encode()).decode()
            return str(client.ask(call, "test-domain", authorization=f"Basic {field}"))

        self.assertEqual(str(client.ask("k=a", "test-domain")), "!16")
        self.assertEqual(ask("k=a", password="wrong"), "!16")
        self.assertEqual(ask("k=a"), "r19 | OK")
        self.assertEqual(ask("k=b"), "!7")
        self.assertEqual(ask("k=a +1"), "!7")
        self.assertEqual(ask("k=a; k=a +0"), "!7")
        self.assertEqual(ask("k=a +1; k=b -1", user="all"), "r18 r20 | OK")
        self.assertEqual(str(client.ask("k=a", "test-domain")), "!16")

    def test_a_replica_refuses_and_serves_when_it_is_promoted(self):
        primary = self.start_rls(TWO_A_MINUTE.replace("minute", "day"), is_killed=True)
        primary_port = self.http_port
        self.assertEqual(str(self.client(primary_port).ask("k=a", "test-domain")), "r1 | OK")
        replica = self.start_rls(TWO_A_MINUTE.replace("minute", "day"),
                                 f"--replicaof=127.0.0.1 {primary.port}")
        redis = self.connect(replica)
        self.await_equal(lambda: b"master_link_status:up" in redis.call("INFO"), True)
        self.await_equal(lambda: self.info(redis).get("buckets"), 1)
        answer = self.client().ask("k=a", "test-domain")
        self.assertEqual(str(answer), "!14")
        self.assertIn("READONLY", answer.text)
        primary.kill()
        self.assertEqual(redis.call("REPLICAOF", "NO", "ONE"), "OK")
        self.await_equal(lambda: str(self.client().ask("k=b", "test-domain"))[0], "r")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r0 | OK")

    def test_answers_wait_for_the_disk(self):
        data = os.path.join(self.directory, "data")
        rules = TWO_A_MINUTE.replace("minute", "year").replace(": 2}", ": 1000}")
        server = self.start_rls(rules, f"--data-dir={data}", "--durability=always",
                                is_killed=True)
        client = self.client()
        for left in range(999, 949, -1):
            self.assertEqual(str(client.ask("k=a", "test-domain")), f"r{left} | OK")
        server.kill()
        self.start_rls(rules, f"--data-dir={data}", "--durability=always")
        self.assertEqual(str(self.client().ask("k=a", "test-domain")), "r949 | OK")

    def test_a_missing_acknowledgement_is_an_error(self):
        primary = self.start_rls(TWO_A_MINUTE, "--ack-replicas=1", "--ack-timeout=100ms",
                                 "--min-replicas-to-write=1", "--min-replicas-max-lag=60s")
        answer = self.client().ask("k=a", "test-domain")
        self.assertEqual((str(answer), answer.text[:10]), ("!14", "NOREPLICAS"))
        port = self.http_port
        replica = self.start("--port=0", f"--replicaof=127.0.0.1 {primary.port}")
        self.await_equal(lambda: str(self.client(port).ask("k=b", "test-domain")), "r1 | OK")
        replica.pause()
        answer = self.client(port).ask("k=c", "test-domain")
        self.assertEqual((str(answer), answer.text[:5]), ("!14", "NOACK"))
        replica.resume()


if __name__ == "__main__":
    unittest.main()
