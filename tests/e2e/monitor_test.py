"""MONITOR over sockets: lines from all threads, and clients that do not read them."""

import re
import threading
import unittest

from weir_e2e import MEGABYTE, ServerTest, encode, sanitized

CLIENTS = 4
REQUESTS = 200


class MonitorTest(ServerTest):
    # Goal: a monitor sees the commands of every thread, each client's in their order.
    # Method: clients on all threads number their requests.
    def test_lines_of_all_threads_arrive(self):
        server = self.start("--threads", "2")
        monitor = self.connect(server)
        self.assertEqual(monitor.call("MONITOR"), "OK")
        clients = [self.connect(server) for _ in range(CLIENTS)]

        def talk(number):
            for i in range(REQUESTS):
                clients[number].call("ECHO", f"{number}:{i}")

        threads = [threading.Thread(target=talk, args=(number,)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        seen = {number: [] for number in range(CLIENTS)}
        for _ in range(CLIENTS * REQUESTS):
            number, i = monitor.reply().split('"')[3].split(":")
            seen[int(number)].append(int(i))
        for thread in threads:
            thread.join()
        self.assertEqual(seen, {number: list(range(REQUESTS)) for number in range(CLIENTS)})
        self.assertEqual(monitor.call("RESET"), "RESET")
        clients[0].call("PING")
        self.assertEqual(monitor.call("ECHO", "x"), b"x")

    # Goal: a monitor that does not read costs bounded memory, and no other client's time; it learns
    # how many lines it has missed. Method: one with a small buffer, and a client that gives it far
    # more to read than may wait.
    def test_a_monitor_that_does_not_read_misses_lines(self):
        server = self.start("--threads", "1")
        monitor = self.connect(server, receive_buffer_bytes=4096)
        self.assertEqual(monitor.call("MONITOR"), "OK")
        client = self.connect(server)
        before = server.rss_bytes()
        chunk = encode("ECHO", "x" * 500) * 100
        for _ in range(300):  # 15 MB of lines
            client.send(chunk)
            for _ in range(100):
                client.reply()
        if not sanitized():
            self.assertLess(server.rss_bytes() - before, 16 * MEGABYTE)
        missed = self.info(client)["monitor_lines_dropped"]
        lines = 0
        while lines + missed < 30_000:
            self.assertTrue(monitor.reply().endswith('x"'))
            lines += 1
        self.assertGreater(missed, 20_000)
        client.call("PING")
        told = re.search(r'"\.\.\. \((\d+) more commands\)"$', monitor.reply())
        self.assertIn(int(told.group(1)), (missed, missed + 1))  # the line of INFO, too, or not
        while not (line := monitor.reply()).endswith('"PING"'):
            self.assertTrue(line.endswith('"INFO"'))

    # Goal: a huge request does not close a monitor that reads. Method: one whose words, quoted, are
    # more than may wait for a client.
    def test_a_monitor_that_reads_is_not_closed_for_one_request(self):
        server = self.start("--threads", "1")
        monitor = self.connect(server)
        self.assertEqual(monitor.call("MONITOR"), "OK")
        client = self.connect(server)
        client.call("EXISTS", *["\0" * 1000] * 240)
        client.call("PING")
        self.assertTrue(monitor.reply().endswith(' more arguments)"'))
        self.assertTrue(monitor.reply().endswith('"PING"'))


if __name__ == "__main__":
    unittest.main()
