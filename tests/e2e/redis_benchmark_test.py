"""redis-benchmark: it stops at the first error, so its success says that there was none."""

import unittest

from weir_e2e import ServerTest, scaled

DEPTH = 64  # of the pipelines


class RedisBenchmarkTest(ServerTest):
    def benchmark(self, server, *options):
        stdout, stderr = self.run_client("redis-benchmark", "-p", str(server.port), "-q", *options)
        self.assertNotIn("CONFIG", stderr)  # which it warns of when CONFIG GET fails
        self.assertNotIn("rror", stdout)
        return stdout

    def decisions(self, server):
        stats = self.info(self.connect(server))
        self.assertEqual(stats["total_error_replies"], 0)
        return stats["allowed"] + stats["denied"]

    def decide(self, server, count, request, *options):
        """`count` times the request, in pipelines."""
        return self.benchmark(
            server, *options, "-P", str(DEPTH), "-n", str(count), "RL.ALLOW", *request.split()
        )

    # Goal: under load each request is decided once. Method: pipelines over 50 connections; the
    # server has counted as many verdicts as redis-benchmark has counted replies.
    def test_pipelined_decisions(self):
        count = DEPTH * scaled(3125)
        server = self.start()
        printed = self.decide(server, count, "user:__rand_int__ 10/s", "-r", "100000")
        self.assertIn("requests per second", printed)
        self.assertEqual(self.decisions(server), count)

    def test_resp3(self):
        count = DEPTH * scaled(500)
        server = self.start()
        self.decide(server, count, "user:__rand_int__ 10/s 1000/h WITHLIMITS", "-3", "-r", "100")
        self.assertEqual(self.decisions(server), count)

    def test_several_threads(self):
        count = DEPTH * scaled(500)
        server = self.start()
        request = "user:__rand_int__ 10/s AND tenant:__rand_int__ 100/m COST 2"
        self.decide(server, count, request, "--threads", "2", "-r", "100")
        self.assertEqual(self.decisions(server), count)

    def test_one_request_at_a_time_and_reconnecting(self):
        server = self.start()
        self.benchmark(server, "-n", str(scaled(5000)), "RL.ALLOW", "user", "10/s")
        self.benchmark(server, "-k", "0", "-n", str(scaled(1000)), "RL.ALLOW", "user", "10/s")

    def test_its_own_pings(self):
        count, tests = str(scaled(50_000)), "ping_inline,ping_mbulk"
        printed = self.benchmark(self.start(), "-P", "16", "-n", count, "-t", tests)
        self.assertIn("PING_INLINE: ", printed)
        self.assertIn("PING_MBULK: ", printed)


if __name__ == "__main__":
    unittest.main()
