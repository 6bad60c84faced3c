"""Decisions that an edge makes itself, on slices of its primary and by denials in force."""

import http.client
import re
import time
import unittest

from edge_servers import EdgeTest, edge_fields
from weir_e2e import DEADLINE, NEVER, Error, encode, free_port, let_others_run


def ask(client, words, count):
    """The replies to as many requests, sent in one piece."""
    client.send(encode(*words) * count)
    return [client.reply() for _ in range(count)]


class HotTest(EdgeTest):
    def heat(self, client, words, seconds=1.5, at_once=20):
        """Asks in pieces until the edge knows the key well; returns all replies."""
        replies = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            replies += ask(client, words, at_once)
            let_others_run()
        return replies

    def counts(self, client):
        return {name: int(text) for name, text in edge_fields(client).items() if text.isdigit()}

    def test_a_hot_key_is_decided_at_the_edge(self):
        primary, edge = self.pair()
        limit = f"1000000/{NEVER}"
        replies = self.heat(edge, ("RL.ALLOW", "k", limit))
        self.assertTrue(all(reply[0] == 1 for reply in replies), replies[:5])
        counts = self.counts(edge)
        self.assertGreater(counts["decided_locally_allowed"], len(replies) // 2)
        self.assertLess(counts["passed_on"], len(replies) // 4)
        self.assertGreater(counts["asks"], 0)
        self.assertGreaterEqual(counts["granted"], counts["spent"])
        self.assertGreater(counts["rtt_us"], 0)
        self.assertEqual(counts["forms"], 1)
        # The replies are those of a server: five numbers, of which `remaining` falls.
        self.assertTrue(all(len(reply) == 5 for reply in replies))
        # The primary has charged at least what was admitted.
        left = primary.call("RL.PEEK", "k", limit, "COST", 0)[1]
        self.assertLessEqual(left, 1000000 - len(replies))

    def test_rows_of_limits_are_those_of_the_primary(self):
        for protocol in (2, 3):
            primary, edge = self.pair()
            for client in (primary, edge):
                client.call("HELLO", protocol)
            words = ("RL.ALLOW", "k", "1000000/s", "5000000/m,name=m", "WITHLIMITS")
            self.heat(edge, words)
            before = self.counts(edge)["decided_locally_allowed"]
            local = ask(edge, words, 10)[-1]
            after = self.counts(edge)["decided_locally_allowed"]
            self.assertGreater(after, before)
            direct = primary.call(*words)
            self.assertEqual(self.shape(local), self.shape(direct))

    def shape(self, reply):
        """A reply without the numbers that change: of tokens and times."""
        head, rows = reply[:5], reply[5]

        def names(row):
            if isinstance(row, dict):
                return [(name, value if name in (b"name", b"limit", b"cost", b"group") else None)
                        for name, value in row.items()]  # fmt: skip
            return [row[0], row[2], len(row)]

        return [head[0], head[2]], [names(row) for row in rows]

    def test_floods_of_denied_requests_end_at_the_edge(self):
        primary, edge = self.pair()
        words = ("RL.ALLOW", "k", f"50/{NEVER},fixed")
        replies = self.heat(edge, words)
        self.assertEqual(sum(reply[0] for reply in replies), 50)
        denied = [reply for reply in replies if reply[0] == 0]
        self.assertTrue(all(reply[1] == 0 and reply[2] > 0 for reply in denied))
        counts = self.counts(edge)
        self.assertGreater(counts["decided_locally_denied"], len(denied) // 2)
        self.assertEqual(primary.call("RL.PEEK", *words[1:], "COST", 0)[1], 0)

    def test_what_comes_back_is_admitted_again(self):
        _, edge = self.pair()
        words = ("RL.ALLOW", "k", "200/s,burst=20")
        replies = self.heat(edge, words, seconds=3)
        admitted = sum(reply[0] for reply in replies)
        self.assertLessEqual(admitted, 20 + 200 * 4)
        self.assertGreater(admitted, 200)

    def test_both_count_each_request_once(self):
        primary, edge = self.pair()
        replies = self.heat(edge, ("RL.ALLOW", "k", "100000/s"))
        replies += self.heat(edge, ("RL.ALLOW", "d", f"50/{NEVER},fixed"))
        self.await_equal(lambda: self.counts(edge)["in_hand"], 0)
        totals = [client.call("RL.STATS")[0] for client in (primary, edge)]
        allowed = sum(total[1] for total in totals)
        denied = sum(total[2] for total in totals)
        self.assertAlmostEqual(allowed, sum(reply[0] for reply in replies), delta=20)
        self.assertAlmostEqual(allowed + denied, len(replies), delta=20)
        self.assertEqual(edge.call("RL.TOP", 1)[0][0], b"d")

    def test_the_metrics_are_the_numbers_of_info(self):
        primary = self.start_mortal(free_port())
        admin = free_port()
        server = self.start_edge(primary.port, f"--admin-port={admin}", "--edge-away=closed")
        server.wait_for_log(r"listening on .* for operators")
        edge = self.connect(server)
        self.heat(edge, ("RL.ALLOW", "k", "100000/s"))
        self.heat(edge, ("RL.ALLOW", "d", f"50/{NEVER},fixed"))
        self.await_equal(lambda: self.counts(edge)["in_hand"], 0)
        self.assertEqual(self.metrics(admin)["connected"], 1)
        primary.kill()
        self.await_connected(server, "away")
        edge.call("RL.ALLOW", "k", "100000/s")
        counts = self.counts(edge)
        self.assertGreater(counts["away_closed"], 0)
        self.assertEqual(self.metrics(admin), {
            "connected": 0, "rtt_seconds": counts["rtt_us"] / 1e6, "forms": counts["forms"],
            "in_hand": 0, "passed_on_total": counts["passed_on"], "asks_total": counts["asks"],
            'decided_locally_total{result="allowed"}': counts["decided_locally_allowed"],
            'decided_locally_total{result="denied"}': counts["decided_locally_denied"],
            **{f'away_total{{answer="{name}"}}': counts[f"away_{name}"]
               for name in ("error", "closed", "open")},
            **{f'slice_tokens_total{{result="{name}"}}': counts[name]
               for name in ("granted", "spent", "settled", "wasted")}})

    def metrics(self, port):
        """The samples of weir_edge_*, by what follows that."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE)
        connection.request("GET", "/metrics")
        page = connection.getresponse().read().decode()
        connection.close()
        return {name: float(number)
                for name, number in re.findall(r"^weir_edge_(\S+) (\S+)$", page, re.M)}

    def test_hot_and_cold_keys_in_one_pipeline_keep_their_order(self):
        _, edge = self.pair()
        hot = ("RL.ALLOW", "hot", "1000000/s")
        self.heat(edge, hot)
        for i in range(50):
            words = [hot, ("RL.PEEK", f"cold{i}", f"{i + 1}/{NEVER}"), hot, ("ECHO", i)] * 5
            edge.send(b"".join(encode(*one) for one in words))
            replies = [edge.reply() for _ in words]
            for one, reply in zip(words, replies):
                if one[0] == "ECHO":
                    self.assertEqual(reply, str(i).encode())
                elif one[0] == "RL.PEEK":
                    self.assertEqual(reply[:2], [1, i])
                else:
                    self.assertEqual(reply[0], 1)
                    self.assertGreater(reply[1], 1000)

    def test_what_is_in_hand_is_spent_while_the_primary_is_away(self):
        primary = self.start_primary("--slice-life", "10s")
        edge_server = self.start_edge(primary.port)
        edge = self.connect(edge_server)
        words = ("RL.ALLOW", "k", "1000000/s")
        self.heat(edge, words)
        primary.pause()
        try:
            # Some of the last piece may have waited for a slice that does not come.
            replies = ask(edge, words, 1)
            self.assertFalse(isinstance(replies[0], Error), replies)
        finally:
            primary.resume()

    # Goal: a stop of the edge loses nothing; only a kill does.
    # Method: the edge is stopped with units in hand, and with no ask under way, since the primary
    # answers in order.
    def test_what_is_in_hand_comes_back_when_the_edge_stops(self):
        primary = self.start_primary("--slice-life", "10s")
        edge_server = self.start_edge(primary.port)
        edge = self.connect(edge_server)
        limit = f"1000000/{NEVER},fixed"
        replies = []
        while True:
            replies += self.heat(edge, ("RL.ALLOW", "k", limit), seconds=0.3)
            asks = self.counts(edge)["asks"]
            edge.call("RL.PEEK", "k", limit)
            counts = self.counts(edge)
            if counts["in_hand"] > 0 and counts["asks"] == asks:
                break
        edge_server.stop()
        admitted = sum(reply[0] for reply in replies)
        with self.connect(primary) as client:
            self.await_equal(lambda: client.call("RL.PEEK", "k", limit, "COST", 0)[1],
                             1000000 - admitted)

    def test_costs_are_units_of_the_slices(self):
        primary, edge = self.pair()
        words = ("RL.ALLOW", "k", f"3000/{NEVER},fixed", "COST", 7)
        replies = self.heat(edge, words)
        admitted = sum(reply[0] for reply in replies)
        self.assertLessEqual(admitted * 7, 3000)
        self.await_equal(lambda: self.counts(edge)["in_hand"], 0)
        self.assertGreater(self.counts(edge)["decided_locally_denied"], 0)
        left = primary.call("RL.PEEK", "k", f"3000/{NEVER},fixed", "COST", 0)[1]
        self.assertLessEqual(admitted * 7 + left, 3000)


if __name__ == "__main__":
    unittest.main()
