"""State on disk: what a restart keeps, a disk that fails, and directories that are refused."""

import os
import resource
import signal
import stat
import time
import unittest

from weir_e2e import DEADLINE, NEVER, Error, ServerTest, encode, free_port, scaled

LIMIT = f"100/{NEVER}"


class PersistenceTest(ServerTest):
    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.directory, "data")

    def start_loaded(self, *options):
        server = self.launch("--port", str(free_port()), "--data-dir", self.data, *options)
        server.wait_for_log(r"loaded \d+ buckets")
        return server

    def restart(self, server, *options, how=signal.SIGTERM):
        if how == signal.SIGTERM:
            self.assertEqual(server.stop(), 0, server.log())
        else:
            server.kill()
        return self.start_loaded(*options)

    def remaining(self, client, key):
        return client.call("RL.PEEK", key, LIMIT, "COST", 0)[1]

    def persistence(self, client):
        lines = client.call("INFO", "persistence").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)

    # Goal: a clean stop keeps every kind of state. Method: one of each, and a long interval, so
    # that only the stop can have saved it.
    def test_a_clean_stop_keeps_everything(self):
        server = self.start_loaded("--snapshot-interval", "1h")
        client = self.connect(server)
        client.call("RL.ALLOW", "u", LIMIT, "50/d,fixed", "70/d,sliding", "COST", "3")
        client.call("CL.THROTTLE", "t", 9, 1, 3600, 4)
        client.call("RL.CHARGE", "debt", LIMIT, "50/d,fixed", "70/d,sliding", "COST", "130")
        client.call("RL.POLICY", "SET", "free", "5/w", "9/w,name=x")
        client.call("RL.POLICY", "OVERRIDE", "free", "vip", "500/w")
        client.call("RL.ALLOW", "u", "@free", "COST", "2")
        client.call("RL.ALLOW", "vip", "@free")
        for limit in ("1/h,ban=9d", "1/h,fixed,ban=9d"):
            self.assertEqual([client.call("RL.ALLOW", "bad", limit)[0] for _ in "12"], [1, 0])
        keys = ("u", "t", "vip", "debt", "bad")
        before = [client.call("RL.INSPECT", key) for key in keys]
        client = self.connect(self.restart(server, "--snapshot-interval", "1h"))
        self.assertEqual(self.persistence(client)["unclean_restart"], "0")
        after = [client.call("RL.INSPECT", key) for key in keys]
        self.assertEqual(names_and_states(after), names_and_states(before))
        self.assertEqual(client.call("RL.POLICY", "GET", "free"), [b"5/w", b"9/w,name=x"])
        self.assertEqual(client.call("RL.POLICY", "OVERRIDES", "free"), [[b"vip", b"500/w"]])
        self.assertEqual(client.call("RL.ALLOW", "vip", "@free")[1], 498)

    def test_save_is_on_disk_when_it_is_answered(self):
        server = self.start_loaded("--snapshot-interval", "1h")
        client = self.connect(server)
        client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
        self.assertEqual(client.call("SAVE"), "OK")
        client.call("RL.ALLOW", "u", LIMIT, "COST", "40")
        client = self.connect(self.restart(server, how=signal.SIGKILL))
        self.assertEqual(self.remaining(client, "u"), 70)
        self.assertEqual(self.persistence(client)["unclean_restart"], "1")

    # Method: one client has the only token, another waits for the next one, which comes in an hour.
    def test_a_crash_keeps_the_charge_of_a_waiting_client(self):
        options = ("--snapshot-interval", "1h", "--max-wait", "1h")
        server = self.start_loaded(*options)
        client, waiting = self.connect(server), self.connect(server)
        self.assertEqual(client.call("RL.ALLOW", "u", "1/h")[0], 1)
        waiting.send(encode("RL.WAIT", "u", "1/h", "TIMEOUT", 3_600_000))
        self.await_equal(lambda: self.info(client)["blocked_clients"], 1)
        self.assertEqual(client.call("SAVE"), "OK")
        client = self.connect(self.restart(server, *options, how=signal.SIGKILL))
        self.assertGreater(client.call("RL.PEEK", "u", "1/h")[2], 3_600_000)

    def test_shutdown_nosave_keeps_the_last_save(self):
        for how, remaining in (("NOSAVE", 70), ("SAVE", 40)):
            server = self.start_loaded("--snapshot-interval", "1h")
            client = self.connect(server)
            client.call("RL.RESET", "u")
            client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
            self.assertEqual(client.call("SAVE"), "OK")
            client.call("RL.ALLOW", "u", LIMIT, "COST", "30")
            client.send(encode("SHUTDOWN", how))
            self.assertEqual(client.rest(), b"")
            self.assertEqual(server.wait(), 0)
            server = self.start_loaded()
            self.assertEqual(self.remaining(self.connect(server), "u"), remaining, how)
            self.assertEqual(server.stop(), 0)

    def test_bgsave_saves_and_lastsave_says_when(self):
        server = self.start_loaded("--snapshot-interval", "1h")
        client = self.connect(server)
        client.call("RL.ALLOW", "u", LIMIT)
        saves = self.info(client)["rdb_saves"]
        self.assertEqual(client.call("BGSAVE"), "Background saving started")
        self.await_equal(lambda: self.info(client)["rdb_saves"], saves + 1)
        self.assertAlmostEqual(client.call("LASTSAVE"), time.time(), delta=DEADLINE)
        self.assertEqual(self.info(client)["dirty_buckets"], 0)

    def test_the_directory_is_for_its_owner_only(self):
        self.start_loaded()
        self.assertEqual(stat.S_IMODE(os.stat(self.data).st_mode), 0o700)

    def test_a_second_server_is_refused_with_its_reason(self):
        self.start_loaded()
        line = self.refused("--data-dir", self.data)
        self.assertRegex(line, "data directory .*: another server uses it")

    def test_a_directory_of_something_else_is_refused(self):
        os.mkdir(self.data)
        with open(os.path.join(self.data, "letters.txt"), "w", encoding="ascii"):
            pass
        line = self.refused("--data-dir", self.data)
        self.assertRegex(line, "it holds 'letters.txt' and no database")

    def test_without_a_directory_nothing_is_kept_and_the_log_says_so(self):
        server = self.start()
        server.wait_for_log("the state is not saved to disk")
        client = self.connect(server)
        self.assertIsInstance(client.call("SAVE"), Error)
        self.refused("--durability", "always")

    def test_none_leaves_the_directory_alone(self):
        server = self.start("--data-dir", self.data, "--durability", "none")
        self.assertEqual(self.persistence(self.connect(server))["durability"], "none")
        self.assertFalse(os.path.exists(self.data))

    def test_flushall_and_reset_stay(self):
        server = self.start_loaded("--durability", "always")
        client = self.connect(server)
        for key in ("a", "b"):
            client.call("RL.ALLOW", key, LIMIT)
        client.call("FLUSHALL")
        client.call("RL.ALLOW", "b", LIMIT, "COST", "5")
        client.call("RL.ALLOW", "c", LIMIT)
        client.call("RL.RESET", "c")
        client = self.connect(self.restart(server, how=signal.SIGKILL))
        self.assertEqual([self.remaining(client, key) for key in "abc"], [100, 95, 100])

    # Goal: INFO is answered, and is right, whatever the server does: under load, while it saves,
    # and while it loads. Method: one client decides, and knows how often; another one asks.
    def test_info_is_true_while_it_saves_and_loads(self):
        server = self.start_loaded("--snapshot-interval", "10ms", "--threads", "2")
        client, other = self.connect(server), self.connect(server)
        batch, batches = 1000, scaled(100)
        for i in range(batches):
            keys = range(i * batch, (i + 1) * batch)
            client.send(b"".join(encode("RL.ALLOW", f"key{key}", LIMIT) for key in keys))
            self.assert_true(other, buckets_min=i * batch, buckets_max=(i + 1) * batch)
            for _ in keys:
                self.assertEqual(client.reply()[:2], [1, 99])
        self.assert_true(other, batches * batch, batches * batch)
        self.assertEqual(server.stop(), 0)

        server = self.start("--data-dir", self.data)
        client = self.connect(server)
        while (info := self.info(client))["loading"]:
            self.assertLessEqual(info["loaded_buckets"], batches * batch)
        self.assertEqual(self.info(client)["loaded_buckets"], batches * batch)
        self.assertEqual(client.call("DBSIZE"), batches * batch)

    def assert_true(self, client, buckets_min, buckets_max):
        info = self.info(client)
        self.assertEqual(info["loading"], 0)
        self.assertLessEqual(buckets_min, info["allowed"])
        self.assertLessEqual(info["allowed"], buckets_max)
        self.assertLessEqual(buckets_min, info["buckets"])
        self.assertLessEqual(info["buckets"], buckets_max)
        self.assertLessEqual(info["dirty_buckets"], buckets_max)

    # --- A disk that fails: no file may grow any more, which writes see as an error ---

    def fill_disk(self, server):
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def free_disk(self, server):
        no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, no_limit)

    def test_snapshot_serves_while_the_disk_fails_and_saves_again(self):
        server = self.start_loaded("--snapshot-interval", "20ms")
        client = self.connect(server)
        self.fill_disk(server)
        client.call("RL.ALLOW", "u", LIMIT, "COST", "10")
        self.await_equal(lambda: self.persistence(client)["persist_status"], "failing")
        server.wait_for_log("cannot save")
        self.assertEqual(client.call("RL.ALLOW", "u", LIMIT, "COST", "10")[:2], [1, 80])
        self.assertGreater(int(self.persistence(client)["loss_bound_ms"]), 0)
        self.assertRegex(client.call("SAVE"), "^MISCONF cannot save to disk: ")
        self.free_disk(server)
        self.await_equal(lambda: self.persistence(client)["persist_status"], "ok")
        client = self.connect(self.restart(server, how=signal.SIGKILL))
        self.assertEqual(self.remaining(client, "u"), 80)

    def test_always_refuses_unsaved_changes_and_still_denies(self):
        server = self.start_loaded("--durability", "always", "--snapshot-interval", "20ms")
        client = self.connect(server)
        one = f"1/{NEVER}"
        self.assertEqual(client.call("RL.ALLOW", "spent", one)[0], 1)
        self.assertEqual(client.call("RL.ALLOW", "spent", "1/h,ban=1d")[0], 1)
        self.fill_disk(server)
        self.assertRegex(client.call("RL.ALLOW", "u", LIMIT), "^MISCONF cannot save to disk: ")
        self.await_equal(lambda: self.persistence(client)["persist_status"], "failing")
        for command in ("RL.ALLOW", "RL.WAIT"):
            tail = ("TIMEOUT", "0") if command == "RL.WAIT" else ()
            self.assertRegex(client.call(command, "u", LIMIT, *tail), "^MISCONF ")
            self.assertEqual(client.call(command, "spent", one, *tail)[0], 0)
        self.assertRegex(client.call("RL.ALLOW", "spent", "1/h,ban=1d"), "^MISCONF ")
        self.assertLess(client.call("RL.PEEK", "spent", "1/h,ban=1d")[2], 3_600_001)
        self.assertRegex(client.call("CL.THROTTLE", "t", 1, 1, 60), "^MISCONF ")
        self.assertRegex(client.call("RL.RESET", "spent"), "^MISCONF ")
        client.send(encode("PING") + encode("RL.ALLOW", "u", LIMIT) + encode("RL.PEEK", "u", LIMIT))
        self.assertEqual(client.reply(), "PONG")
        self.assertRegex(client.reply(), "^MISCONF ")
        self.assertEqual(client.reply()[0], 1)
        self.free_disk(server)
        self.await_equal(lambda: self.persistence(client)["persist_status"], "ok")
        self.assertEqual(client.call("RL.ALLOW", "u", LIMIT)[0], 1)

    def test_always_can_be_set_to_serve_unsaved(self):
        server = self.start_loaded("--durability", "always", "--on-persist-error", "serve")
        client = self.connect(server)
        self.fill_disk(server)
        for left in (99, 98, 97):
            self.assertEqual(client.call("RL.ALLOW", "u", LIMIT)[:2], [1, left])
        self.assertRegex(client.call("SAVE"), "^MISCONF ")
        self.free_disk(server)
        self.await_equal(lambda: self.persistence(client)["persist_status"], "ok")

    def test_always_can_be_set_later(self):
        server = self.start_loaded("--durability", "always", "--snapshot-interval", "20ms")
        client = self.connect(server)
        self.fill_disk(server)
        self.assertRegex(client.call("RL.ALLOW", "u", LIMIT), "^MISCONF ")
        self.await_equal(lambda: self.persistence(client)["persist_status"], "failing")
        self.assertEqual(client.call("CONFIG", "SET", "on-persist-error", "serve"), "OK")
        self.assertEqual(client.call("RL.ALLOW", "v", LIMIT)[:2], [1, 99])
        self.assertEqual(client.call("CONFIG", "SET", "on-persist-error", "refuse"), "OK")
        self.assertRegex(client.call("RL.ALLOW", "v", LIMIT), "^MISCONF ")
        self.free_disk(server)
        self.await_equal(lambda: self.persistence(client)["persist_status"], "ok")

    def test_a_stop_that_cannot_save_says_so(self):
        server = self.start_loaded("--snapshot-interval", "1h")
        self.connect(server).call("RL.ALLOW", "u", LIMIT)
        self.fill_disk(server)
        self.assertEqual(server.stop(), 1)
        self.assertRegex(server.log(), "weir-server: data directory .*")

    def test_replies_of_a_pipeline_stay_in_order(self):
        server = self.start_loaded("--durability", "always")
        client = self.connect(server)
        count = 200
        client.send(encode("RL.ALLOW", "k", f"{count // 2}/{NEVER}") * count)
        replies = [client.reply()[:2] for _ in range(count)]
        admitted = [[1, count // 2 - 1 - i] for i in range(count // 2)]
        self.assertEqual(replies, admitted + [[0, 0]] * (count // 2))


def names_and_states(inspected):
    return [sorted((row[0], row[1], row[-1] > 0) for row in rows) for rows in inspected]


if __name__ == "__main__":
    unittest.main()
