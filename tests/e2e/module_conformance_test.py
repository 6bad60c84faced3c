"""weir's module answers what weir's server answers: the same requests at the same instants.

The pages of docs/ show transcripts, which tests of the server hold to be true; those that can be
said with AT are replayed here on both. Then random requests, stacks of all kinds of limits, takes,
refunds, resets and changes of policies, as many as the scale says.
"""

import os
import random
import re

from module_test import LIMITS
from redis_host import main, start_module
from weir_e2e import Client, Error, ServerTest, encode, scaled

DOCS = os.path.join(os.path.dirname(__file__), "..", "..", "docs")
START = 1_767_225_600 * 10**9  # ns since the epoch: where the transcripts begin
UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
         "days": 86400 * 10**9}
TIMED = {"RL.ALLOW", "RL.PEEK", "RL.TAKE", "RL.REFUND"}  # the commands that may say AT
# Others that are answered alike: they look at the latest AT or at no time.
TIMELESS = {"RL.INSPECT", "RL.RESET", "RL.POLICY", "RL.STATS", "RL.TOP"}
# And these, of a period of minutes in a transcript in which no time passes: some ms do.
THROTTLES = {"CL.THROTTLE", "RL.THROTTLE"}


def lines_of(reply, indent=""):
    """A reply as redis-cli prints it."""
    if isinstance(reply, list):
        width = len(str(len(reply)))
        lines = []
        for number, element in enumerate(reply, 1):
            head = f"{number:>{width}}) "
            inner = lines_of(element, indent + " " * len(head))
            lines += [(indent if lines else "") + head + inner[0], *inner[1:]]
        return lines or ["(empty array)"]
    if isinstance(reply, Error):
        return [f"(error) {reply}"]
    if isinstance(reply, bytes):
        text = reply.decode().replace("\\", "\\\\").replace('"', '\\"')
        return [f'"{text}"']
    return [f"(integer) {reply}" if isinstance(reply, int) else str(reply or "(nil)")]


def transcripts(page):
    """The blocks of commands of a page that can be replayed with AT: lists of (line, replies)."""
    with open(os.path.join(DOCS, page), encoding="utf-8") as file:
        blocks = re.findall(r"\n```\n(> .*?)\n```\n", file.read(), re.DOTALL)
    for block in blocks:
        steps = []
        for line in block.split("\n"):
            if line.startswith(("> ", "# ")):
                steps.append((line, []))
            else:
                steps[-1][1].append(line)
        commands = [line[2:].split(" ") for line, _ in steps if line.startswith("> ")]
        stands_still = len(commands) == len(steps)

        def can_be_said(words):
            if words[0] in THROTTLES:
                return stands_still and words[4:5] == ["60"]
            plain = "AT" not in words and '"' not in " ".join(words)
            return words[0] in TIMED | TIMELESS and plain

        if all(can_be_said(words) for words in commands):
            yield steps


class ModuleConformanceTest(ServerTest):
    def clients(self):
        """One of the server, one of the module."""
        server = self.start("--allow-explicit-time")
        clients = [Client(server.port), Client(start_module(self, "allow-explicit-time").port)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def replay(self, client, steps, begin):
        """The steps as this client sees them."""
        now = begin
        for line, _ in steps:
            later = re.fullmatch(r"# (\d+) (\w+) later", line)
            if later:
                now += int(later.group(1)) * UNITS[later.group(2)]
            if not line.startswith("> "):
                yield line, []
                continue
            words = line[2:].split()
            client.call("RL.PEEK", "a clock", "1/s", "AT", now)
            # A look at other keys does no harm, and the latest AT is what INSPECT and RESET go by.
            reply = client.call(*words, *(["AT", now] if words[0] in TIMED else []))
            yield line, lines_of(reply)

    def test_the_transcripts_of_the_documentation(self):
        clients = self.clients()
        replayed = 0
        for page, begin in (("conformance.md", START),
                            ("commands.md", START + 4321 * UNITS["h"] + 123_456_789)):
            for steps in transcripts(page):
                replayed += 1
                for client in clients:
                    client.call("FLUSHALL")
                    client.call("RL.STATS", "RESET")
                    for name in client.call("RL.POLICY", "LIST"):
                        client.call("RL.POLICY", "DEL", name)
                    seen = list(self.replay(client, steps, begin))
                    self.assertEqual(seen, steps, "the module" if client is clients[1] else "weir")
        self.assertGreater(replayed, 20)

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

    def test_bad_words(self):
        clients = self.clients()
        for line in ("RL.ALLOW", "RL.ALLOW k", "RL.ALLOW k 10/x", "RL.ALLOW k 1/s COST",
                     "RL.ALLOW k 1/s COST -1", "RL.ALLOW k 1/s AND", "RL.ALLOW k 1/s UPTO 3",
                     "RL.TAKE k 1/s UPTO 0", "RL.TAKE k 1/s COST 3", "RL.WAIT k 1/s TIMEOUT x",
                     "RL.WAIT k 1/s,fixed TIMEOUT 1", "RL.WAIT k 1/s AND l 2/s TIMEOUT 1",
                     "RL.ALLOW k 1/s AT -1", "RL.ALLOW k @missing", "RL.RESET", "RL.RESET k 1/x",
                     "CL.THROTTLE k 1 2", "CL.THROTTLE k -1 1 1", "CL.THROTTLE k 1 0 1",
                     "CL.THROTTLE k 1 1 x", "CL.THROTTLE k 1 1 1 -1", "RL.THROTTLE k 9 9 9 9 9",
                     "CL.THROTTLE k 9223372036854775806 1 1", "RL.TOP 0", "RL.TOP 1 2",
                     "RL.STATS NOW", "RL.POLICY", "RL.POLICY GET", "RL.POLICY GET x",
                     "RL.POLICY SET x", "RL.POLICY SET x! 1/s", "RL.POLICY SET x @y",
                     "RL.POLICY DEL x", "RL.POLICY OVERRIDE x k 1/s", "RL.POLICY OVERRIDES x",
                     "RL.POLICY NONSENSE", "RL.POLICY HELP", "RL.HELP", "RL.INSPECT a b"):
            with self.subTest(line):
                ours, theirs = (client.call(*line.split()) for client in clients)
                self.assertEqual(theirs, ours)
        for client in clients:
            self.assertEqual(client.call("DBSIZE"), 0)


if __name__ == "__main__":
    main()
