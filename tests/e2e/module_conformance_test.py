"""weir's module answers as weir's server does: the same requests at the same instants.

Random requests, stacks of all kinds of limits, takes, refunds, resets, holds that are renewed,
settled or left to expire, and changes of policies and overrides; WEIR_TEST_SCALE multiplies their
number. tests/commands/ has the other cases of both.
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
        if roll < 0.54:
            return [*self.random_hold(generator, keys, request), *options, "AT", now]
        command = "RL.PEEK" if roll < 0.60 else "RL.ALLOW"
        if generator.random() < 0.5:
            request = ["OR" if word == "AND" else word for word in request]
        return [command, *request, *options, "AT", now]

    def random_hold(self, generator, keys, request):
        """A command about a hold; often the same words as before, which renew it."""
        hold = ["HOLD", generator.choice("abc")]
        ttl = ["TTL", generator.choice([1, 900, 2000, 60_000, 3_600_000])]
        roll = generator.random()
        if roll < 0.15:
            return ["RL.TAKE", *request, "UPTO", generator.randint(1, 9), *hold, *ttl]
        if roll < 0.35:
            return ["RL.RESERVE", *request, *hold, *ttl]
        if roll < 0.6:
            joined = generator.choice(["AND", "OR"])
            usual = [keys[0], "10/s", "5,held", "@free", joined, keys[1], "5,held", "4/30d,sliding"]
            return ["RL.RESERVE", *usual[: generator.choice([3, 4, 8])], *hold, *ttl]
        words = ["RL.CANCEL" if roll < 0.7 else "RL.COMMIT", keys[0]]
        if words[0] == "RL.COMMIT" and roll < 0.85:
            words += [generator.choice(["10/s", "@free", "5,held", "3/365d"])]
        if words[0] == "RL.COMMIT" and generator.random() < 0.7:
            words += ["COST", generator.randrange(9)]
        return [*words, *(["AND", keys[1]] if roll > 0.93 else []), *hold]

    own_limits = [limit for limit in LIMITS if not limit.startswith("@")]
    own_limits += ["7/11ms", "3/s,burst=5", "9/2s,sliding", "3/s,fixed,aligned", "2/s,name=x"]
    own_limits += ["9/m,keep=2", "20/day,tz=Europe/Berlin", "8/month,from=15", "3/s,fixed,ban=2s"]
    limits = [*LIMITS, *own_limits, "5,held", "10/x", "1/s,burst=0", "@none", "4/s,cost=3"]

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
                    words = self.random_words(generator, now)
                    if words[0] == "RL.POLICY":
                        # A look settles what is due on a server, but only for its own answer in
                        # the module: before numbers change, both settle.
                        chunk += [["RL.RESET", f"user:{i}", "1/77d"] for i in range(6)]
                    chunk.append(words)
                for client in clients:
                    client.send(b"".join(encode(*words) for words in chunk))
                for words in chunk:
                    ours, theirs = (client.reply() for client in clients)
                    self.assertEqual(theirs, ours, words)
                for key in (f"user:{i}" for i in range(6)):
                    # The order is that of first use, which two processes need not share.
                    ours, theirs = (sorted(client.call("RL.INSPECT", key)) for client in clients)
                    self.assertEqual(theirs, ours, key)
                    ours, theirs = (client.call("RL.INSPECT", key, "HOLDS") for client in clients)
                    self.assertEqual(theirs, ours, key)


if __name__ == "__main__":
    main()
