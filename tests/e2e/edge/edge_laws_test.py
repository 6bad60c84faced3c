"""Sums of what edges admit while they are killed, stopped, and out of reach of their primary.

Goal: laws E1, E2 and E4 hold for real processes. Method: greedy clients
count what they are admitted, through edges that a test kills and stops, and the sums are compared
with the limit, in which nothing refills.
"""

import threading
import time
import unittest

from edge_servers import EdgeTest, edge_fields
from weir_e2e import NEVER, Client, Error, encode, free_port, let_others_run, scaled


def pass_time(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        let_others_run()


class SumTest(EdgeTest):
    def greedy(self, port, words, admitted, until, at_once=16):
        """Asks until the time has come; counts the admissions. The server may die."""
        while time.monotonic() < until:
            try:
                with Client(port) as client:
                    while time.monotonic() < until:
                        client.send(encode(*words) * at_once)
                        replies = [client.reply() for _ in range(at_once)]
                        admitted.append(
                            sum(not isinstance(r, Error) and r[0] == 1 for r in replies)
                        )
            except (OSError, EOFError):
                pass_time(0.005)

    def run_greedy(self, ports, words, seconds, meanwhile):
        until = time.monotonic() + seconds
        admitted = []
        threads = [
            threading.Thread(target=self.greedy, args=(port, words, admitted, until))
            for port in ports
        ]
        for thread in threads:
            thread.start()
        while time.monotonic() < until:
            meanwhile()
        for thread in threads:
            thread.join()
        return sum(admitted)

    def test_killed_edges_never_admit_more_than_the_limit(self):
        count = 20_000
        words = ("RL.ALLOW", "k", f"{count}/{NEVER},fixed")
        primary = self.start_primary()
        ports = [free_port() for _ in range(3)]

        def start(port):
            return self.start_mortal(port, "--edge-of", f"127.0.0.1:{primary.port}")

        edges = [start(port) for port in ports]
        turns = [0]

        def kill_one():
            pass_time(0.1)
            i = turns[0] % len(edges)
            turns[0] += 1
            edges[i].kill()
            edges[i] = start(ports[i])

        admitted = self.run_greedy(ports, words, scaled(10), kill_one)
        self.assertGreater(admitted, 0)
        self.assertLessEqual(admitted, count)
        # What is left can be had at the primary, but for what the dead had in hand.
        left = self.connect(primary).call("RL.PEEK", *words[1:], "COST", 0)[1]
        self.assertLessEqual(admitted + left, count)

    def test_a_stopped_edge_spends_nothing_of_the_last_window(self):
        seconds = 2
        count = 1000
        words = ("RL.ALLOW", "k", f"{count}/{seconds}s,fixed")
        primary = self.start_primary()
        edge = self.start_edge(primary.port)
        client, direct = self.connect(edge), self.connect(primary)
        self.await_begin_of_window(seconds)
        client.send(encode(*words) * 100)
        self.assertEqual(sum(client.reply()[0] for _ in range(100)), 100)
        edge.pause()
        client.send(encode(*words) * 50)  # which the edge reads in another window
        pass_time(1.5 * seconds)
        self.await_begin_of_window(seconds)
        direct.send(encode(*words) * count)
        taken = sum(direct.reply()[0] for _ in range(count))
        edge.resume()
        late = [client.reply() for _ in range(50)]
        left = direct.call("RL.PEEK", *words[1:], "COST", 0)
        if left[1] > 0:
            self.skipTest("the machine is too slow: the window has ended")
        admitted = sum(not isinstance(r, Error) and r[0] == 1 for r in late)
        self.assertLessEqual(taken + admitted, count)

    def await_begin_of_window(self, seconds):
        """Waits for the first half of a window in which a second test can be done."""
        while True:
            now_ms = int(time.time() * 1000) % (seconds * 1000)
            if now_ms < 200 * seconds:
                return
            pass_time(0.01)

    def test_a_lost_link_gives_nothing_twice(self):
        count = 5000
        words = ("RL.ALLOW", "k", f"{count}/{NEVER},fixed")
        primary = self.start_primary()
        edge = self.start_edge(primary.port)

        def cut():
            pass_time(0.1)
            with self.connect(primary) as operator:
                operator.call("CLIENT", "KILL", "TYPE", "normal")

        admitted = self.run_greedy([edge.port, edge.port], words, scaled(6), cut)
        self.assertGreater(admitted, 0)
        self.assertLessEqual(admitted, count)
        # The last cut may come after the end of the load.
        self.await_equal(lambda: edge_fields(self.connect(edge))["state"], "connected")


if __name__ == "__main__":
    unittest.main()
