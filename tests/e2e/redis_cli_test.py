"""redis-cli is the console: what people type and what they see."""

import re
import unittest

from terminal import Terminal
from weir_e2e import DEADLINE, NEVER, ServerTest, encode

NOON = "1700000000000000000"  # an execution time, for exact answers from several commands


class RedisCliTest(ServerTest):
    # Goal: the first command that anybody types gets exactly this. Method: a fresh bucket, so that
    # no time matters.
    def test_allow_prints_the_five_numbers(self):
        server = self.start()
        self.assertEqual(
            self.redis_cli(server, "RL.ALLOW", "user:42", "10/s", "1000/h"),
            "1) (integer) 1\n2) (integer) 9\n3) (integer) 0\n4) (integer) 3600\n5) (integer) 0\n",
        )

    def test_allow_of_several_keys_shows_its_limits(self):
        server = self.start("--allow-explicit-time")
        self.redis_cli(server, "RL.ALLOW", "user:42", "10/s", "1000/h", "AT", NOON)
        request = "ip:1.2.3.4 100/s AND user:42 10/s 1000/h COST 3 AND tenant:7 1M/d WITHLIMITS"
        self.assertEqual(
            self.redis_cli(server, "RL.ALLOW", *request.split(), "AT", NOON),
            """\
1) (integer) 1
2) (integer) 6
3) (integer) 0
4) (integer) 14400
5) (integer) 1
6) 1) 1) "100/s"
      2) (integer) 1
      3) (integer) 100
      4) (integer) 99
      5) (integer) 0
      6) (integer) 10
   2) 1) "10/s"
      2) (integer) 1
      3) (integer) 10
      4) (integer) 6
      5) (integer) 0
      6) (integer) 400
   3) 1) "1000/h"
      2) (integer) 1
      3) (integer) 1000
      4) (integer) 996
      5) (integer) 0
      6) (integer) 14400
   4) 1) "1M/d"
      2) (integer) 1
      3) (integer) 1000000
      4) (integer) 999999
      5) (integer) 0
      6) (integer) 87
""",
        )

    def test_a_denial_is_an_answer_with_a_retry_time(self):
        server = self.start("--allow-explicit-time")
        for words, numbers in (
            (["user:42", "10/s", "COST", "10"], (1, 0, 0, 1000, 0)),
            (["user:42", "10/s"], (0, 0, 100, 1000, 0)),
            (["user:42", "10/s,cost=3"], (0, 0, 300, 1000, 0)),
            (["user:42", "10/s", "COST", "11"], (0, 0, -1, 1000, 0)),
            (["user:7", "5/s", "AND", "user:42", "10/s"], (0, 0, 100, 1000, 1)),
        ):
            with self.subTest(words):
                lines = [f"{i}) (integer) {number}\n" for i, number in enumerate(numbers, 1)]
                printed = self.redis_cli(server, "RL.ALLOW", *words, "AT", NOON)
                self.assertEqual(printed, "".join(lines))

    def test_bad_words_are_named(self):
        server = self.start()
        for command, message in (
            ("RL.ALLOW k 1/x", "ERR invalid limit '1/x': unknown unit 'x' (us, ms, s, m, h, d, w)"),
            ("RL.ALLOW k", "ERR wrong number of arguments for 'rl.allow' command"),
            ("RL.ALOW k 1", "ERR unknown command 'RL.ALOW', with args beginning with: 'k' '1' "),
            ("CLIENT FOO", "ERR unknown subcommand 'FOO'. Try CLIENT HELP."),
            ("HELLO 9", "NOPROTO unsupported protocol version"),
            ("SELECT 1", "ERR DB index is out of range"),
        ):
            with self.subTest(command):
                printed = self.redis_cli(server, *command.split())
                self.assertEqual(printed.rstrip("\n"), f"(error) {message}")

    # Goal: RESP3 changes no number, only what has names gets them.
    def test_resp3_shows_maps(self):
        server = self.start()
        printed = self.redis_cli(server, "-3", "RL.ALLOW", "k", "10/s", "WITHLIMITS")
        self.assertEqual(
            printed,
            """\
1) (integer) 1
2) (integer) 9
3) (integer) 0
4) (integer) 100
5) (integer) 0
6) 1) 1# "name" => "10/s"
      2# "allowed" => (integer) 1
      3# "limit" => (integer) 10
      4# "remaining" => (integer) 9
      5# "retry_after_ms" => (integer) 0
      6# "reset_after_ms" => (integer) 100
""",
        )
        self.assertIn('1# "server" => "weir"\n', self.redis_cli(server, "-3", "HELLO"))
        databases = '1# "databases" => "1"\n'
        self.assertEqual(self.redis_cli(server, "-3", "CONFIG", "GET", "databases"), databases)
        self.assertEqual(self.redis_cli(server, "-3", "CLIENT", "GETNAME"), "(nil)\n")

    def test_connection_options(self):
        server = self.start()
        self.assertEqual(self.redis_cli(server, "-n", "0", "-e", "ping"), "PONG\n")
        self.assertEqual(self.redis_cli(server, "-r", "3", "PING"), "PONG\n" * 3)
        self.redis_cli(server, "-e", "RL.ALLOW", "k", "10/x", status=1)
        for option, text in (("--csv", "1,9,0,100,0\n"), ("--json", "[1,9,0,100,0]\n")):
            printed, _ = self.run_client(
                "redis-cli", "-p", str(server.port), option, "RL.PEEK", "k", "10/s"
            )
            self.assertEqual(printed, text)

    def test_keys_may_have_any_bytes(self):
        server = self.start()
        key = r'"a\x00b\r\n\xff"'
        self.redis_cli(server, "--quoted-input", "RL.ALLOW", key, f'"3/{NEVER}"')
        printed = self.redis_cli(server, "--quoted-input", "RL.ALLOW", key, f'"3/{NEVER}"')
        self.assertIn("2) (integer) 1\n", printed)
        self.assertEqual(self.redis_cli(server, "EXISTS", "a"), "(integer) 0\n")

    def test_commands_from_a_file(self):
        server = self.start()
        script = b"PING\n\nRL.ALLOW k 10/s,burst=50\nNONSENSE\nEXISTS k\nECHO 'two words'\n"
        printed = self.redis_cli(server, stdin=script)
        self.assertEqual(
            printed,
            "PONG\n"
            "1) (integer) 1\n2) (integer) 49\n3) (integer) 0\n4) (integer) 100\n5) (integer) 0\n"
            "(error) ERR unknown command 'NONSENSE', with args beginning with: \n"
            '(integer) 1\n"two words"\n',
        )

    # Goal: mass insertion: nothing is lost, nothing is answered twice. Method: requests of both
    # forms and empty lines between them; redis-cli ends its input with an ECHO and counts replies.
    def test_pipe_counts_every_reply(self):
        server = self.start()
        requests = []
        for i in range(5000):
            requests.append(b"RL.ALLOW user:%d 10/s\r\n" % i)
            requests.append(encode("RL.ALLOW", f"user:{i}", "10/s"))
            requests.append(b"\r\n" if i % 100 == 0 else b"")
        printed, _ = self.run_client(
            "redis-cli", "-p", str(server.port), "--pipe", stdin=b"".join(requests)
        )
        self.assertIn("errors: 0, replies: 10000\n", printed)
        stats = self.info(self.connect(server))
        self.assertEqual(stats["allowed"] + stats["denied"], 10000)

    def test_latency_is_sampled(self):
        server = self.start()
        printed, _ = self.run_client(
            "redis-cli", "-p", str(server.port), "--raw", "--latency", "-i", "0.1"
        )
        self.assertRegex(printed, r"^\d+ \d+ [\d.]+ \d+\n$")

    def test_shutdown_ends_the_server(self):
        server = self.start()
        self.assertEqual(self.redis_cli(server, "SHUTDOWN"), "")
        self.assertEqual(server.wait(), 0)


class RedisCliTerminalTest(ServerTest):
    def open(self, server, *options):
        command = ["redis-cli", "-p", str(server.port), *options]
        terminal = Terminal(command, self.client_environment(), self.directory)
        self.addCleanup(terminal.close)
        return terminal

    # Goal: redis-cli knows our commands, by COMMAND DOCS. Method: a hint stands behind the cursor
    # and shrinks with each word.
    def test_hints_and_help_know_our_commands(self):
        server = self.start()
        terminal = self.open(server)
        prompt = re.escape(f"127.0.0.1:{server.port}> ")
        terminal.shows(prompt)
        terminal.type("RL.ALLOW ")
        terminal.shows(prompt + re.escape("RL.ALLOW key limit [limit ...] [COST cost] [AND "))
        terminal.type("user:42 ")
        terminal.shows(prompt + re.escape("RL.ALLOW user:42 limit [limit ...] [COST cost] [AND "))
        terminal.type("10/s\r")
        terminal.shows(r"\r\n1\) \(integer\) 1\r\n2\) \(integer\) 9\r\n")
        terminal.shows(prompt)
        terminal.type("help RL.ALLOW\r")
        terminal.shows(r"\n +RL\.ALLOW key limit .*\r\n +summary: .*tokens.*\r\n +since: \d.*\r\n")
        terminal.shows(prompt)
        terminal.type("quit\r")
        self.assertEqual(terminal.process.wait(DEADLINE), 0)

    # Goal: a mistake costs nothing but its line. Method: each line is typed at the prompt after the
    # answer to the line before it.
    def test_a_bad_line_is_answered_and_the_next_works(self):
        server = self.start()
        terminal = self.open(server)
        for line, answer in (
            ("RL.ALLOW k 10/x", r"\n\(error\) ERR invalid limit '10/x': unknown unit 'x' .*\r\n"),
            ("FOO bar", r"\n\(error\) ERR unknown command 'FOO', with args beginning with: 'bar' "),
            ("RL.ALLOW", r"\n\(error\) ERR wrong number of arguments for 'rl\.allow' command"),
            ('ECHO "unbalanced', r"Invalid argument\(s\)"),
            ("HELLO 3", r'\n1# "server" => "weir"'),
            ("PING", r"\r\nPONG\r\n"),
            ("RL.ALLOW k 10/s", r"\n2\) \(integer\) 9\r\n"),
        ):
            with self.subTest(line):
                terminal.shows(f"127.0.0.1:{server.port}> ")
                terminal.type(line + "\r")
                terminal.shows(answer)

    def test_stat_prints_a_row_an_interval(self):
        terminal = self.open(self.start(), "--stat", "-i", "0.01")
        # keys, memory, clients, blocked, requests, connections
        terminal.shows(r"keys +mem +clients +blocked +requests +connections")
        terminal.shows(r"(\d+ +[\d.]+[BKMG] +1 +0 +\d+ \(\+\d+\) +1 +\r\n){3}")


if __name__ == "__main__":
    unittest.main()
