"""examples/javascript/limited.mjs, against a server that answers, one that is stopped, and none.

With Debian's node-redis, or with the package `redis` in the folder that WEIR_NODE_MODULES names.
"""

import os
import shutil
import socket
import subprocess
import time
import unittest
from pathlib import Path

from limited_cases import limited_cases, one_reply_server
from weir_e2e import DEADLINE, ServerTest

EXAMPLE = Path(__file__).parents[2] / "examples" / "javascript" / "limited.mjs"
MODULES = Path(os.environ.get("WEIR_NODE_MODULES", "/usr/share/nodejs"))

# The most seconds that a program may take, with node's start and a deadline of 50 ms.
BOUND_SECONDS = 20

BEGIN = """
import { Gate, Limited } from "./limited.mjs";
const [port, deadlineMs] = process.argv.slice(2).map(Number);
const gates = [];
function newGate(settings) {
  const gate = new Gate({ port, ...settings });
  gates.push(gate);
  return gate;
}
async function say(promise) {
  try {
    console.log(await promise);
  } catch (error) {
    if (error instanceof Limited) console.log("limited", error.key, error.retryAfterMs);
    else console.log("error", error.message);
  }
}
"""
END = "gates.forEach((gate) => gate.close());\n"

ANSWERED = """
const gate = newGate({ failOpen: true, deadlineMs });
const mail = gate.limited((to) => `to ${to}`, (to) => `mail:${to}`, "1/h", "9/d");
await say(mail("ann"));
await say(mail("bob"));
try {
  await mail("ann");
} catch (error) {
  console.log(error.name, error.retryAfterMs > 1e6, error.retryAfterMs <= 3.6e6);
}
await say(gate.check("k", "2/h,cost=3"));
await say(gate.check("k", "2/x"));
"""

NOT_ANSWERED = """
await say(newGate({ failOpen: true }).limited((i) => i + 1, "k", "1/h")(7));
await say(newGate({ failOpen: false }).limited(() => "called", "k", "1/h")());
"""

# Prints for each reply whether the action ran or was limited, or the error that was thrown.
REPLIES = """
const closed = newGate({ failOpen: false, deadlineMs });
const open = newGate({ failOpen: true, deadlineMs });
await say(open.limited(() => "ran", "k", "1/h")());
await say(closed.limited(() => "ran", "k", "1/h")());
"""

# Reads a line whenever the server is another.
COMES_BACK = """
import { createInterface } from "node:readline";
const gate = newGate({ failOpen: false });
async function passes() {
  return gate.check("k", "9/h,cost=0").then(() => true, () => false);
}
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (const wanted of [true, false, true]) {
  while ((await passes()) !== wanted) await new Promise(setImmediate);
  console.log(wanted);
  await lines.next();
}
"""


class LimitedTest(ServerTest):
    def setUp(self):
        super().setUp()
        shutil.copy(EXAMPLE, self.directory)
        os.symlink(MODULES, Path(self.directory) / "node_modules")
        # Debian's node looks there for the modules of Debian's packages; other nodes must be told.
        os.environ["NODE_PATH"] = str(MODULES)

    def command(self, program, port):
        Path(self.directory, "program.mjs").write_text(BEGIN + program + END, encoding="utf-8")
        return "node", "program.mjs", str(port), str(int(DEADLINE * 1000))

    def run_program(self, program, port):
        return self.run_client(*self.command(program, port))[0].splitlines()

    def test_calls_as_often_as_allowed(self):
        self.assertEqual(
            self.run_program(ANSWERED, self.start().port),
            [
                "to ann",
                "to bob",
                "Limited true true",
                "limited k undefined",
                "error ERR invalid limit '2/x': unknown unit 'x' (us, ms, s, m, h, d, w)",
            ],
        )

    def test_every_error_is_an_outage_or_a_mistake(self):
        for kind, line in limited_cases():
            with self.subTest(line), one_reply_server(line) as port:
                mistake = [f"error {line[1:]}"] * 2
                wanted = ["ran", "limited k undefined"] if kind == "away" else mistake
                self.assertEqual(self.run_program(REPLIES, port), wanted)

    def assert_fails_as_chosen(self, port):
        begin = time.monotonic()
        self.assertEqual(self.run_program(NOT_ANSWERED, port), ["8", "limited k undefined"])
        self.assertLess(time.monotonic() - begin, BOUND_SECONDS)

    def test_a_server_that_is_stopped(self):
        server = self.start()
        server.pause()
        self.addCleanup(server.resume)
        self.assert_fails_as_chosen(server.port)

    def test_no_server_at_all(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # and does not listen
            self.assert_fails_as_chosen(nobody.getsockname()[1])

    def test_a_server_that_comes_back(self):
        first = self.start()
        port = first.port
        program = subprocess.Popen(
            self.command(COMES_BACK, port),
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "true\n")
        self.assertEqual(first.stop(), 0)
        program.stdin.write("\n")
        self.assertEqual(program.stdout.readline(), "false\n")
        self.launch("--port", str(port)).port  # waits until it listens
        program.stdin.write("\n")
        self.assertEqual(program.stdout.readline(), "true\n")
        program.stdin.close()
        self.assertEqual(program.wait(DEADLINE), 0)


if __name__ == "__main__":
    unittest.main()
