"""Every command that takes limits, through a socket, in RESP2 and in RESP3."""

import unittest

from weir_e2e import ServerTest

# The command, and the shape of its reply: types, or the reply itself. Costs of 0 and limits of a
# year make replies the same whenever they are asked for.
COMMANDS = [
    ("RL.ALLOW k 10/365d", [1, 9, 0, int, 0]),
    ("RL.PEEK k 10/365d AND l 5/365d,fixed COST 2", [1, 3, 0, int, 1]),
    ("RL.TAKE t 10/365d UPTO 20", [10, 0, 0, int, 0]),
    ("RL.REFUND t 10/365d COST 4", [1, 4, 0, int, 0]),
    ("RL.CHARGE d 10/365d COST 14", [0, 0, int, int, 0]),
    ("RL.WAIT t 10/365d COST 4 TIMEOUT 1000", [1, 0, 0, int, 0]),
    ("RL.WAIT t 10/365d TIMEOUT 1000", [0, 0, int, int, 0]),
    ("RL.RESERVE h 10/365d 5,held COST 2 HOLD a TTL 60000", [1, 3, 0, int, 1]),
    ("RL.RESERVE h 10/365d 5,held COST 2 HOLD a TTL 60000", [1, 3, 0, int, 1]),
    ("RL.INSPECT h HOLDS", [[b"a", int, 0, b"10/365d", 2, b"5,held", 2]]),
    ("RL.COMMIT h 10/365d,cost=1 HOLD a", [1, 9, 0, int, 0]),
    ("RL.TAKE h 10/365d UPTO 4 HOLD b TTL 60000", [4, 5, 0, int, 0]),
    ("RL.CANCEL h HOLD b", [1, 9, 0, int, 0]),
    ("RL.CANCEL h HOLD nosuch", [0, 0, 0, 0, 0]),
    ("RL.SLICE sl 100/365d NEED 2 UNIT 1 UPTO 3 HOLD a TTL 2000",
     [3, 97, 0, int, 0, 2_000_000, int, list]),
    ("RL.COMMIT sl COST 1 HOLD a", [1, 99, 0, int, 0]),
    ("RL.THROTTLE c 4 1 86400", [0, 5, 4, -1, int]),
    ("CL.THROTTLE c 4 1 86400 0", [0, 5, 4, -1, int]),
    ("RL.POLICY SET p 10/365d 5/365d,sliding,name=s", "OK"),
    ("RL.POLICY GET p", [b"10/365d", b"5/365d,sliding,name=s"]),
    ("RL.POLICY LIST", [b"p"]),
    ("RL.POLICY OVERRIDE p k unlimited", "OK"),
    ("RL.POLICY OVERRIDES p", [[b"k", b"unlimited"]]),
    ("RL.ALLOW k @p", [1, 2**63 - 1, 0, 0, 0]),
    ("RL.POLICY UNOVERRIDE p k", 1),
    ("RL.ALLOW k @p", [1, 4, 0, int, 1]),
    ("RL.INSPECT c", [[b"cl.throttle", -1, int, -1, 0]]),
    ("RL.TOP 1", [[bytes, 1, 0]]),
    ("RL.TOP 1 NEAR", [[bytes, int, 0]]),
    ("RL.TOP 1 LIMIT 10/365d", [[bytes, 1, 0]]),
    ("RL.POLICY DEL p", "OK"),
    ("RL.RESET k", 1),
    ("FLUSHDB", "OK"),
    ("DBSIZE", 0),
    ("RL.STATS RESET", "OK"),
]


class EveryLimitCommandTest(ServerTest):
    def check(self, shape, reply):
        if isinstance(shape, list):
            self.assertEqual(len(reply), len(shape))
            for part, value in zip(shape, reply):
                self.check(part, value)
        elif isinstance(shape, type):
            self.assertIsInstance(reply, shape)
        else:
            self.assertEqual(reply, shape)

    def test_in_both_protocols(self):
        server = self.start()
        for protocol in (2, 3):
            client = self.connect(server)
            client.call("HELLO", protocol)
            for command, shape in COMMANDS:
                with self.subTest(command=command, protocol=protocol):
                    self.check(shape, client.call(*command.split()))

    def test_with_limits_and_statistics(self):
        client = self.connect(self.start())
        self.check(
            [1, 0, 0, int, 0, [[b"x", 1, 1, 0, 0, int, 0, 1, 0]]],
            client.call("RL.ALLOW", "k", "1/365d,name=x", "WITHLIMITS"),
        )
        counts = [1, 0, 0, 1, 0, 0]
        self.assertEqual(client.call("RL.STATS"), [[b"(total)", *counts], [b"x", *counts]])
        client.call("HELLO", 3)
        reply = client.call("RL.PEEK", "k", "1/365d,name=x", "WITHLIMITS")
        fields = "name allowed limit remaining retry_after_ms reset_after_ms group cost keep"
        self.assertEqual(b" ".join(reply[5][0]).decode(), fields)
        numbers = dict.fromkeys((b"denied", b"shadow_denied", b"bans", b"charged_beyond"), 0)
        numbers |= {b"allowed": 1, b"near_limit": 1}
        self.assertEqual(client.call("RL.STATS")[1], {b"name": b"x", **numbers})
        self.assertIn(b"RL.ALLOW", b" ".join(client.call("RL.HELP")))


if __name__ == "__main__":
    unittest.main()
