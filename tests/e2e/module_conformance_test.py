"""weir's module answers as weir's server does: the same requests at the same instants.

Random requests, stacks of all kinds of limits, takes, refunds, resets, and changes of policies and
overrides; WEIR_TEST_SCALE multiplies their number. tests/commands/ has the other cases of both.
"""

import random

from module_test import LIMITS
from redis_host import main, start_module
from weir_e2e import Client, ServerTest, encode, scaled

START = 1_767_225_600 * 10**9  # ns since the epoch


class ModuleConformanceTest(ServerTest):
    def clients(self):
        """A client of the server and a client of the module, with one clock."""
        server = self.start("--allow-explicit-time")
        clients = [Client(server.port), Client(start_module(self, "allow-explicit-time").port)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def random_words(self, generator, now):
        keys = [f"user:{generator.randrange(6)}" for _ in range(2)]
        limits = [generator.choice(self.limits) for _ in range(generator.randint(1, 4))]
        request = [keys[0], *limits, "COST", generator.choice([0, 1, 1, 1, 2, 5])]
        if generator.random() < 0.3:
            request += ["AND", keys[1], *limits[:2]]
        roll = generator.random()
        if roll < 0.04:
            return ["RL.POLICY", "SET", generator.choice(["free", "paid"]),
                    *generator.sample(self.own_limits, 2)]
        if roll < 0.06:
            return ["RL.POLICY", "OVERRIDE", "free", keys[0], generator.choice(self.own_limits)]
        if roll < 0.07:
            return ["RL.POLICY", generator.choice(["DEL", "OVERRIDES"]), "paid"]
        if roll < 0.08:
            return ["RL.POLICY", "UNOVERRIDE", "free", keys[0]]
        if roll < 0.12:
            return ["RL.RESET", keys[0], *limits[: generator.randrange(3)]]
        if roll < 0.18:
            return ["RL.TAKE", *request, "UPTO", generator.randint(1, 9), "AT", now]
        if roll < 0.24:
            return ["RL.REFUND", *request, "AT", now]
        if roll < 0.28:
            return ["RL.CHARGE", *request, "AT", now]
        options = ["WITHLIMITS"] if generator.random() < 0.3 else []
        command = "RL.PEEK" if roll < 0.34 else "RL.ALLOW"
        return [command, *request, *options, "AT", now]

    own_limits = [limit for limit in LIMITS if not limit.startswith("@")]
    own_limits += ["7/11ms", "3/s,burst=5", "9/2s,sliding", "3/s,fixed,aligned", "2/s,name=x"]
    limits = [*LIMITS, *own_limits, "10/x", "1/s,burst=0", "@none", "4/s,cost=3"]

    def test_random_requests(self):
        for protocol in (2, 3):
            clients = self.clients()
            for client in clients:
                client.call("HELLO", protocol)
            generator = random.Random(protocol)
            now = START
            for _ in range(scaled(200)):
                chunk = []
                for _ in range(100):
                    now += generator.choice([0, 1, 10**6, 10**8, 10**9, 10**9, 3600 * 10**9])
                    chunk.append(self.random_words(generator, now))
                for client in clients:
                    client.send(b"".join(encode(*words) for words in chunk))
                for words in chunk:
                    ours, theirs = (client.reply() for client in clients)
                    self.assertEqual(theirs, ours, words)
                for key in (f"user:{i}" for i in range(6)):
                    # The order is that of first use, which two processes need not share.
                    ours, theirs = (sorted(client.call("RL.INSPECT", key)) for client in clients)
                    self.assertEqual(theirs, ours, key)


if __name__ == "__main__":
    main()
