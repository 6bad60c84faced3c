"""Debian's python3-redis, and RESP3 through a raw socket, which that version does not read."""

import threading
import unittest

import redis
from redis.commands import CommandsParser

from weir_e2e import DEADLINE, NEVER, ServerTest, Verbatim, scaled


class PythonRedisTest(ServerTest):
    def open(self, server, **settings):
        client = redis.Redis(port=server.port, socket_timeout=DEADLINE, **settings)
        self.addCleanup(client.close)
        return client

    def test_a_decision_is_a_list_of_numbers(self):
        client = self.open(self.start())
        self.assertTrue(client.ping())
        self.assertEqual(
            client.execute_command("RL.ALLOW", "user:42", "10/s", "1000/h"), [1, 9, 0, 3600, 0]
        )
        self.assertEqual(
            client.execute_command("RL.PEEK", "user:7", "10/s", "COST", 11, "WITHLIMITS"),
            [0, 10, -1, 0, 0, [[b"10/s", 0, 10, 10, -1, 0]]],
        )
        self.assertEqual(client.echo("a\r\nb"), b"a\r\nb")

    def test_a_key_may_be_any_bytes(self):
        client = self.open(self.start())
        keys = (b"", b"a", b"a\0", b"a\r\n", b"\xff", b"AND", b"x" * 65_536)
        for key in keys:
            self.assertEqual(client.execute_command("RL.ALLOW", key, f"3/{NEVER}")[:2], [1, 2])
        for key in keys:
            self.assertEqual(client.execute_command("RL.ALLOW", key, f"3/{NEVER}")[:2], [1, 1])

    def test_the_cluster_client_finds_the_keys(self):
        client = self.open(self.start(), decode_responses=True)
        parser = CommandsParser(client)
        for words, keys in (
            ("RL.ALLOW a 1/s", ["a"]),
            ("RL.ALLOW a 1/s AND b 1/s 9/m AND c 1/s", ["a", "b", "c"]),
            ("RL.RESET a", ["a"]),
            ("DEL a b", ["a", "b"]),
        ):
            with self.subTest(words):
                self.assertEqual(parser.get_keys(client, *words.split()), keys)

    def test_an_error_is_raised_and_the_connection_stays(self):
        client = self.open(self.start(), single_connection_client=True)
        number = client.client_id()
        for command, text in (
            ("RL.ALLOW k 1/x", "invalid limit '1/x': unknown unit 'x' (us, ms, s, m, h, d, w)"),
            ("RL.ALLOW k", "wrong number of arguments for 'rl.allow' command"),
            ("NONSENSE", "unknown command 'NONSENSE', with args beginning with: "),
            ("SELECT 1", "DB index is out of range"),
        ):
            with self.subTest(command), self.assertRaises(redis.ResponseError) as raised:
                client.execute_command(*command.split())
            self.assertEqual(str(raised.exception), text)
        self.assertEqual(client.client_id(), number)

    def test_a_long_pipeline_is_answered_in_order(self):
        client = self.open(self.start())
        count = 10_000
        pipeline = client.pipeline(transaction=False)
        for i in range(count):
            if i % 100 == 50:
                pipeline.execute_command("RL.ALLOW", "user", f"{i}/x")
            else:
                pipeline.execute_command("RL.ALLOW", "user", f"{count}/{NEVER}")
        remaining = count
        for i, reply in enumerate(pipeline.execute(raise_on_error=False)):
            if i % 100 == 50:
                self.assertIsInstance(reply, redis.ResponseError)
                self.assertIn(f"invalid limit '{i}/x'", str(reply))
            else:
                remaining -= 1
                self.assertEqual(reply[:3], [1, remaining, 0])

    # Goal: a bucket admits exactly its burst, to any clients. Method: threads of one pool ask for
    # three times the burst; every token is given out once, so all `remaining` differ.
    def test_threads_share_a_bucket_exactly(self):
        burst = scaled(2000)
        client = self.open(self.start(), max_connections=8)
        answers = [[] for _ in range(8)]

        def take(mine):
            for _ in range(3 * burst // 8 + 1):
                mine.append(client.execute_command("RL.ALLOW", "shared", f"{burst}/{NEVER}"))

        threads = [threading.Thread(target=take, args=(mine,)) for mine in answers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        every = [answer for mine in answers for answer in mine]
        remaining = sorted(answer[1] for answer in every if answer[0] == 1)
        self.assertEqual(remaining, list(range(burst)))
        self.assertEqual({answer[1] for answer in every if answer[0] == 0}, {0})

    def test_names_and_decoding(self):
        server = self.start()
        client = self.open(
            server, client_name="billing", decode_responses=True, username="default", password="x"
        )
        self.assertEqual(client.client_getname(), "billing")
        decision = client.execute_command("RL.PEEK", "k", "10/s", "WITHLIMITS")
        self.assertEqual(decision[5][0][0], "10/s")
        self.assertEqual(self.open(server).client_getname(), None)
        (mine,) = [line for line in client.client_list() if line["name"] == "billing"]
        self.assertEqual(mine["cmd"], "client|list")
        self.assertEqual(mine["db"], "0")
        self.assertEqual(mine["id"], str(client.client_id()))

    def test_an_idle_connection_checks_its_health(self):
        client = self.open(self.start(), health_check_interval=1e-9)
        for _ in range(10):
            self.assertEqual(client.execute_command("RL.PEEK", "k", "10/s"), [1, 9, 0, 100, 0])
        self.assertGreaterEqual(client.info()["total_commands_processed"], 20)  # a PING before each

    def test_a_restarted_server_is_found_again(self):
        first = self.start()
        client = self.open(first, retry_on_timeout=True)
        self.assertTrue(client.ping())
        port = first.port
        self.assertEqual(first.stop(), 0)
        with self.assertRaises(redis.ConnectionError):
            client.ping()
        second = self.launch("--port", str(port))
        second.port  # waits
        self.assertTrue(client.ping())
        self.assertEqual(second.stop(), 0)

    def test_tools_read_the_server(self):
        server = self.start("--max-clients", "100")
        client = self.open(server)
        info = client.info()
        self.assertEqual(info["redis_mode"], "standalone")
        self.assertEqual(info["role"], "master")
        self.assertEqual(info["loading"], 0)
        self.assertEqual(info["tcp_port"], server.port)
        self.assertEqual(info["process_id"], server.pid)
        self.assertEqual(info["connected_clients"], 1)
        self.assertRegex(info["run_id"], "^[0-9a-f]{40}$")
        self.assertRegex(info["redis_version"], r"^7\.")
        self.assertNotIn("db0", info)
        self.assertEqual(client.info("replication")["role"], "master")
        self.assertEqual(client.info("nonsense"), {})
        self.assertEqual(client.config_get("maxclients"), {"maxclients": "100"})
        settings = client.config_get("max*clients")
        known = {"max-clients": "100", "maxclients": "100", "maxmemory-clients": "67108864"}
        self.assertEqual(settings, known)
        self.assertEqual(client.config_get("nonsense"), {})
        self.assertEqual(client.config_get("save"), {"save": ""})
        seconds, micros = client.time()
        self.assertGreater(seconds, 1_600_000_000)
        self.assertLess(micros, 1_000_000)
        commands = client.command()
        self.assertEqual(commands["rl.allow"]["arity"], -3)
        self.assertEqual(commands["rl.allow"]["first_key_pos"], 1)
        self.assertEqual(client.command_count(), len(commands))
        keys = client.command_getkeys("RL.ALLOW", "a", "1/s", "AND", "b", "1/s")
        self.assertEqual(keys, ["a", "b"])

    def test_keys_exist_while_their_buckets_are_not_full(self):
        client = self.open(self.start())
        client.execute_command("RL.ALLOW", "a", f"10/{NEVER}")
        client.execute_command("RL.ALLOW", "b", "100/100s")
        self.assertEqual(client.dbsize(), 2)
        self.assertEqual(client.exists("a", "b", "c"), 2)
        self.assertEqual(client.type("a"), b"bucket")
        self.assertEqual(client.type("c"), b"none")
        self.assertIn(client.pttl("b"), range(1, 1001))
        self.assertEqual(client.ttl("b"), 1)
        self.assertEqual(client.ttl("c"), -2)
        self.assertEqual(client.delete("a", "c"), 1)
        self.assertEqual(client.execute_command("RL.INSPECT", "a"), [])
        self.assertEqual(client.execute_command("RL.PEEK", "a", f"10/{NEVER}")[:2], [1, 9])
        self.assertTrue(client.flushall())
        self.assertEqual(client.dbsize(), 0)

    def test_hello_2_changes_nothing(self):
        client = self.open(self.start(), single_connection_client=True)
        greeting = client.execute_command("HELLO", 2, "AUTH", "default", "any", "SETNAME", "me")
        self.assertEqual(greeting[:6], [b"server", b"weir", b"version", greeting[3], b"proto", 2])
        self.assertEqual(client.client_getname(), "me")
        self.assertEqual(client.execute_command("RL.PEEK", "k", "10/s"), [1, 9, 0, 100, 0])

    def test_resp3_has_maps_nulls_and_the_same_numbers(self):
        client = self.connect(self.start())
        greeting = client.call("HELLO", 3)
        self.assertEqual(
            list(greeting), [b"server", b"version", b"proto", b"id", b"mode", b"role", b"modules"]
        )
        self.assertEqual(greeting[b"server"], b"weir")
        self.assertEqual(greeting[b"proto"], 3)
        self.assertEqual(greeting[b"modules"], [])
        self.assertEqual(client.call("RL.ALLOW", "k", f"10/{NEVER}")[:3], [1, 9, 0])
        (limit,) = client.call("RL.PEEK", "k", f"10/{NEVER},name=mine", "COST", 0, "WITHLIMITS")[5]
        self.assertEqual(
            list(limit),
            [b"name", b"allowed", b"limit", b"remaining", b"retry_after_ms", b"reset_after_ms"],
        )
        self.assertEqual((limit[b"name"], limit[b"limit"], limit[b"remaining"]), (b"mine", 10, 9))
        self.assertIsNone(client.call("CLIENT", "GETNAME"))
        self.assertEqual(client.call("CONFIG", "GET", "databases"), {b"databases": b"1"})
        info = client.call("INFO", "replication")
        self.assertIsInstance(info, Verbatim)
        self.assertIn(b"role:master\r\n", info)


if __name__ == "__main__":
    unittest.main()
