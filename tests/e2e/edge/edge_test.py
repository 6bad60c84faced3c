"""Commands that an edge runs, passes on and refuses; and the order of its replies."""

import http.client
import unittest

from edge_servers import EdgeTest, edge_fields
from weir_e2e import NEVER, Error, encode, free_port

# What an edge runs itself; what it passes on, as a conversation with replies that do not depend on
# the time of asking; and what it refuses.
HERE = [
    "PING", "ECHO x", "CLIENT ID", "CLIENT GETNAME", "COMMAND COUNT", "CONFIG GET port",
    "INFO edge", "ACL WHOAMI", "SLOWLOG LEN", "LATENCY LATEST", "TIME", "RL.HELP", "RL.STATS",
    "RL.TOP 1", "ROLE", "SELECT 0", "HELLO",
]  # fmt: skip
PASSED_ON = [
    f"RL.ALLOW k 10/{NEVER}",
    f"RL.ALLOW k 10/{NEVER} COST 0",
    f"RL.ALLOW k 10/{NEVER} WITHLIMITS",
    f"RL.ALLOW k 1/{NEVER},fixed OR l 2/{NEVER},fixed",
    f"RL.ALLOW k 10/{NEVER},shadow",
    "RL.ALLOW k 10",
    "RL.ALLOW k @nosuch",
    f"RL.PEEK k 10/{NEVER} l 2/{NEVER}",
    f"RL.TAKE t 10/{NEVER} UPTO 20",
    f"RL.REFUND t 10/{NEVER} COST 4",
    f"RL.CHARGE d 10/{NEVER} COST 14",
    f"RL.RESERVE h 10/{NEVER} 5,held COST 2 HOLD a TTL 60000",
    f"RL.COMMIT h 10/{NEVER},cost=1 HOLD a",
    "RL.CANCEL h HOLD nosuch",
    f"RL.SLICE sl 100/{NEVER} NEED 2 UNIT 1 UPTO 3 HOLD a TTL 2000",
    "RL.INSPECT nosuch",
    "RL.THROTTLE c 4 1 86400",
    "CL.THROTTLE c 4 1 86400 0",
    "RL.POLICY GET p",
    "RL.POLICY LIST",
    "RL.POLICY OVERRIDES p",
    "RL.ALLOW k @p WITHLIMITS",
    "TTL nosuch",
    "PTTL nosuch",
    "EXISTS k nosuch",
]
REFUSED = [
    "MULTI", "EXEC", "DISCARD", "WATCH k", "SUBSCRIBE c", "PSUBSCRIBE c", "PUBLISH c x",
    "PUBSUB CHANNELS", "RL.RESET k", "RL.POLICY SET p 1/s", "RL.POLICY DEL p",
    "RL.POLICY OVERRIDE p k 1/s", "RL.POLICY UNOVERRIDE p k", "RL.POLICY RELOAD", "DEL k",
    "UNLINK k", "FLUSHALL", "KEYS *", "SCAN 0", "DBSIZE", "WAIT 0 0", "REPLICAOF NO ONE",
    "FAILOVER", "SAVE", "BGSAVE", "RL.BACKUP x", f"RL.WAIT k 1/{NEVER} TIMEOUT 0", "TYPE k",
]  # fmt: skip


class CommandTest(EdgeTest):
    def test_what_an_edge_runs_itself_needs_no_primary(self):
        edge = self.start("--edge-of", f"127.0.0.1:{free_port()}")
        client = self.connect(edge)
        for command in HERE:
            with self.subTest(command=command):
                self.assertNotIsInstance(client.call(*command.split()), Error)
        self.assertEqual(client.call("ROLE")[3:], [b"away", 0])

    def test_what_is_passed_on_gets_the_reply_of_the_primary(self):
        asked, reference = [], []
        for to_edge in (True, False):
            for protocol in (2, 3):
                primary = self.start_primary()
                server = self.start_edge(primary.port) if to_edge else primary
                client, operator = self.connect(server), self.connect(primary)
                operator.call("RL.POLICY", "SET", "p", f"10/{NEVER}", f"5/{NEVER},sliding,name=s")
                operator.call("RL.POLICY", "OVERRIDE", "p", "k", f"7/{NEVER}")
                client.call("HELLO", protocol)
                replies = asked if to_edge else reference
                replies.extend(self.settled(client.call(*c.split())) for c in PASSED_ON)
        for i, (edges, primarys) in enumerate(zip(asked, reference)):
            with self.subTest(command=PASSED_ON[i % len(PASSED_ON)]):
                self.assertEqual(edges, primarys)

    def settled(self, reply):
        """A reply without its times, which are long, and counters that differ between servers."""
        if isinstance(reply, list):
            return [self.settled(part) for part in reply]
        if isinstance(reply, dict):
            return {name: self.settled(part) for name, part in reply.items()}
        return int if isinstance(reply, int) and reply > 10_000 else reply

    def test_what_is_refused_names_the_primary(self):
        primary, edge = self.pair()
        for command in REFUSED:
            with self.subTest(command=command):
                reply = edge.call(*command.split())
                self.assertRegex(reply, r"^EDGE send \S+( \S+)? to the primary, 127\.0\.0\.1:\d+$")
        self.assertRegex(edge.call("RL.POLICY", "SET", "p", "1/s"), "^EDGE send RL.POLICY SET to ")
        self.assertEqual(primary.call("DBSIZE"), 0)

    def test_an_edge_of_an_edge_is_refused_at_the_link(self):
        primary = self.start_primary()
        edge = self.start_edge(primary.port)
        second = self.start("--edge-of", f"127.0.0.1:{edge.port}")
        second.wait_for_log("no primary: .*: it is an edge itself")
        self.assertEqual(edge_fields(self.connect(second))["state"], "away")

    def test_http_says_that_it_does_not_decide_yet(self):
        primary = self.start_primary()
        port = free_port()
        self.start_edge(primary.port, "--http-port", str(port))
        for method, path, body in (
            ("GET", "/check?key=k&limit=1/s", None),
            ("POST", "/v1/allow", '{"key": "k", "limits": ["1/s"]}'),
        ):
            with self.subTest(path=path):
                connection = http.client.HTTPConnection("127.0.0.1", port)
                self.addCleanup(connection.close)
                connection.request(method, path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse()
                self.assertEqual(answer.status, 503)
                self.assertIn(b"EDGE this server is an edge", answer.read())


class OrderTest(EdgeTest):
    def test_replies_leave_in_the_order_of_the_commands(self):
        _, edge = self.pair()
        for round_ in range(20):
            words, wanted = [], []
            for i in range(50):
                words.append(("ECHO", f"{round_}:{i}"))
                wanted.append(f"{round_}:{i}".encode())
                words.append(("RL.PEEK", f"k{i}", f"{i + 1}/{NEVER}"))
                wanted.append([1, i])
                words.append(("RL.RESET", "k"))
                wanted.append(Error)
            edge.send(b"".join(encode(*one) for one in words))
            for one, reply in zip(wanted, [edge.reply() for _ in words]):
                if one is Error:
                    self.assertIsInstance(reply, Error)
                else:
                    self.assertEqual(reply[: len(one)], one)

    def test_a_pipeline_that_is_longer_than_a_turn(self):
        primary, edge = self.pair()
        count = 5000
        edge.send(b"".join(encode("RL.ALLOW", f"k{i}", f"{count}/{NEVER}") for i in range(count)))
        self.assertEqual([edge.reply()[:2] for _ in range(count)], [[1, count - 1]] * count)
        self.assertEqual(primary.call("DBSIZE"), count)

    def test_a_client_that_wants_no_replies_gets_none(self):
        _, edge = self.pair()
        edge.send(encode("CLIENT", "REPLY", "SKIP") + encode("RL.PEEK", "k", "1/s"))
        self.assertEqual(edge.call("ECHO", "x"), b"x")

    def test_a_client_that_closes_its_half_gets_its_replies(self):
        _, edge = self.pair()
        edge.send(b"".join(encode("RL.PEEK", "k", f"{i}/{NEVER}") for i in range(1, 101)))
        edge.half_close()
        self.assertEqual([edge.reply()[1] for _ in range(100)], list(range(100)))

    def test_a_client_that_leaves_while_it_waits_harms_nobody(self):
        primary = self.start_primary()
        edge = self.start_edge(primary.port)
        primary.pause()
        try:
            for _ in range(20):
                with self.connect(edge) as leaver:
                    leaver.send(encode("RL.PEEK", "k", "1/s") * 10)
            stayer = self.connect(edge)
            stayer.send(encode("RL.PEEK", "k", f"3/{NEVER}"))
        finally:
            primary.resume()
        self.assertEqual(stayer.reply()[:2], [1, 2])

    def test_a_thousand_clients_wait_at_a_time(self):
        primary = self.start_primary()
        edge = self.start_edge(primary.port)
        clients = [self.connect(edge) for _ in range(1000)]
        primary.pause()
        try:
            for i, client in enumerate(clients):
                client.send(encode("RL.PEEK", "k", f"{i + 1}/{NEVER}"))
        finally:
            primary.resume()
        replies = [client.reply() for client in clients]
        if any(isinstance(reply, Error) for reply in replies):  # the machine was too slow
            self.skipTest("the primary was away for too long")
        self.assertEqual([reply[1] for reply in replies], list(range(1000)))


class UsersTest(EdgeTest):
    USERS = (
        "user edge on >secret resetkeys ~* -@all +@limit +rl.policy|list +ttl +pttl +exists +info\n"
    )

    def test_both_sides_check_their_users(self):
        primary = self.start_primary(
            "--users-file", self.write("primary.users", self.USERS + "user default off\n")
        )
        own = "user default off\nuser app on >a ~app:* -@all +@limit\nuser all on >b ~* +@all\n"
        edge = self.start_edge_with_users(primary, own, "--primary-user", "edge",
                                          "--primary-password", "secret")  # fmt: skip
        app = self.connect(edge)
        self.assertEqual(app.call("RL.PEEK", "app:1", "1/s").split()[0], "NOAUTH")
        self.assertEqual(app.call("AUTH", "app", "a"), "OK")
        self.assertEqual(app.call("RL.PEEK", "app:1", f"1/{NEVER}")[:2], [1, 0])
        self.assertRegex(app.call("RL.PEEK", "other", "1/s"), "^NOPERM ")
        self.assertRegex(app.call("TTL", "app:1"), "^NOPERM ")
        operator = self.connect(edge)
        self.assertEqual(operator.call("AUTH", "all", "b"), "OK")
        self.assertEqual(operator.call("TTL", "app:1"), -2)
        # The primary has the last word.
        self.assertRegex(operator.call("RL.POLICY", "OVERRIDES", "p"), "^NOPERM ")

    def start_edge_with_users(self, primary, users, *options):
        edge = self.start(
            "--edge-of", f"127.0.0.1:{primary.port}",
            "--users-file", self.write("edge.users", users), *options,
        )  # fmt: skip
        edge.wait_for_log("is connected to its primary")
        return edge

    def test_a_wrong_password_is_told_in_the_log(self):
        primary = self.start_primary("--requirepass", "right")
        edge = self.start("--edge-of", f"127.0.0.1:{primary.port}", "--primary-password", "wrong")
        edge.wait_for_log("no primary: .*: it answers: WRONGPASS")
        self.assertNotIn("wrong", edge.log().replace("WRONGPASS", ""))


class OptionTest(EdgeTest):
    def test_an_edge_has_no_state(self):
        for option, value in (
            ("data-dir", self.directory), ("replicaof", "127.0.0.1 1"), ("policies", "p.toml"),
            ("sentinel", "weir"), ("backup-dir", "b"),
        ):  # fmt: skip
            with self.subTest(option=option):
                error = self.refused("--edge-of", "127.0.0.1:1", f"--{option}", value)
                self.assertIn(f"option 'edge-of': does not go with {option}", error)
        error = self.refused("--edge-of", "127.0.0.1:1", "--allow-explicit-time")
        self.assertIn("does not go with allow-explicit-time", error)
        error = self.refused(
            "--edge-of", "127.0.0.1:1", "--rls-config", "r.yaml", "--http-port", "1")
        self.assertIn("does not go with rls-config", error)

    def test_an_edge_has_one_thread_unless_told(self):
        edge = self.start("--edge-of", "127.0.0.1:1")
        self.assertIn(b"io_threads_active:1\r\n", self.connect(edge).call("INFO", "server"))
        more = self.start("--edge-of", "127.0.0.1:1", "--threads", "2")
        self.assertIn(b"io_threads_active:2\r\n", self.connect(more).call("INFO", "server"))


class ObserverTest(EdgeTest):
    def test_commands_are_seen_as_at_a_server(self):
        _, edge = self.pair()
        edge.call("CONFIG", "SET", "slowlog-log-slower-than", "0")
        edge.call("RL.PEEK", "k", "1/s")
        entries = edge.call("SLOWLOG", "GET", "10")
        self.assertIn([b"RL.PEEK", b"k", b"1/s"], [entry[3] for entry in entries])
        stats = edge.call("INFO", "commandstats").decode()
        self.assertIn("cmdstat_rl.peek:calls=1,", stats)
        edge.call("RL.PEEK", "k", "wrong")
        self.assertIn(b"errorstat_ERR:count=1", edge.call("INFO", "errorstats"))


if __name__ == "__main__":
    unittest.main()
