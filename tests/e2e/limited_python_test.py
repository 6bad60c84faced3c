"""examples/python/limited.py, against a server that answers, one that is stopped, and none."""

import functools
import socket
import time
import unittest

import redis

from limited import DEADLINE_SECONDS, Gate, Limited
from limited_cases import limited_cases, one_reply_server
from weir_e2e import DEADLINE, ServerTest, run_all, scaled

# The most seconds that a call may take on a busy machine, with a deadline of 50 ms.
BOUND_SECONDS = 2


class LimitedTest(ServerTest):
    def gate(self, port, **settings):
        gate = Gate(port=port, **settings)
        self.addCleanup(gate.close)
        return gate

    def patient_gate(self, port, **settings):
        """A gate with a deadline that is long enough for a busy machine."""
        return self.gate(port, deadline_seconds=DEADLINE, **settings)

    def test_calls_as_often_as_allowed(self):
        calls = []
        gate = self.patient_gate(self.start().port, fail_open=False)
        work = gate.limited(lambda word, times=1: calls.append(word * times), "work", "2/h", "9/d")
        work("a")
        work("b", times=2)
        with self.assertRaises(Limited) as raised:
            work("c")
        self.assertEqual(calls, ["a", "bb"])
        self.assertEqual(raised.exception.key, "work")
        self.assertGreater(raised.exception.retry_after, 1000)
        self.assertLessEqual(raised.exception.retry_after, 1800)

    # Five replicas of a service share one bucket: two calls of a window pass, of any replicas.
    def test_replicas_share_the_bucket(self):
        server = self.start()
        calls, denials = [], []

        def replica(number):
            work = self.patient_gate(server.port).limited(calls.append, "work", "2/365d,fixed")
            for _ in range(scaled(20)):
                try:
                    work(number)
                except Limited:
                    denials.append(number)

        run_all(*[functools.partial(replica, i) for i in range(5)])
        self.assertEqual(len(calls), 2)
        self.assertEqual(len(denials), 5 * scaled(20) - 2)

    def test_the_key_is_made_of_the_arguments(self):
        gate = self.patient_gate(self.start().port)
        mail = gate.limited(lambda to: f"to {to}", lambda to: f"mail:{to}", "1/h")
        self.assertEqual([mail("ann"), mail("bob")], ["to ann", "to bob"])
        self.assertRaises(Limited, mail, "ann")

    def test_a_request_that_never_passes_has_no_retry_time(self):
        gate = self.patient_gate(self.start().port)
        with self.assertRaises(Limited) as raised:
            gate.check("k", "2/h,cost=3")
        self.assertIsNone(raised.exception.retry_after)

    def test_a_mistake_is_no_outage(self):
        gate = self.patient_gate(self.start().port, fail_open=True)
        with self.assertRaisesRegex(redis.ResponseError, "unknown unit 'x'"):
            gate.check("k", "2/x")

    def test_every_error_is_an_outage_or_a_mistake(self):
        for kind, line in limited_cases():
            with self.subTest(line), one_reply_server(line) as port:
                calls = []
                opened = self.patient_gate(port, fail_open=True).limited(calls.append, "k", "1/h")
                closed = self.patient_gate(port, fail_open=False).limited(calls.append, "k", "1/h")
                if kind == "away":
                    opened(1)
                    self.assertRaises(Limited, closed, 2)
                    self.assertEqual(calls, [1])
                else:
                    self.assertRaises(redis.ResponseError, opened, 1)
                    self.assertRaises(redis.ResponseError, closed, 2)
                    self.assertEqual(calls, [])

    def assert_fails_as_chosen(self, port):
        self.assertEqual(DEADLINE_SECONDS, 0.050)
        begin = time.monotonic()
        self.assertEqual(self.gate(port, fail_open=True).limited(str, "k", "1/h")(7), "7")
        with self.assertRaises(Limited) as raised:
            self.gate(port, fail_open=False).limited(self.fail, "k", "1/h")()
        self.assertIsNone(raised.exception.retry_after)
        self.assertLess(time.monotonic() - begin, 2 * BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(server.port)

    def test_a_server_that_stops_while_it_is_asked(self):
        server = self.start()
        gate = self.gate(server.port, fail_open=False)
        self.await_equal(lambda: self.passes(gate, "100/h,cost=0"), True)
        server.pause()
        self.addCleanup(server.resume)
        self.assertFalse(self.passes(gate, "100/h,cost=0"))
        server.resume()
        self.await_equal(lambda: self.passes(gate, "100/h,cost=0"), True)

    def test_no_server_at_all(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # and does not listen
            self.assert_fails_as_chosen(nobody.getsockname()[1])

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        gate = self.patient_gate(port, fail_open=False)
        self.assertTrue(self.passes(gate, "1/h"))
        self.assertEqual(first.stop(), 0)
        self.assertFalse(self.passes(gate, "1/h"))
        self.launch("--port", str(port)).port  # waits until it listens
        self.assertTrue(self.passes(gate, "1/h"))  # the state was only in memory

    def passes(self, gate, limit):
        try:
            gate.check("k", limit)
        except Limited:
            return False
        return True


if __name__ == "__main__":
    unittest.main()
