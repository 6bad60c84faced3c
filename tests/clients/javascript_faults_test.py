"""Gives weir-client for JavaScript what a program, a server or a moment may do wrong: connections
that are slow, closed or shared, words and options of wrong types, commits that are lost.
"""

import queue
import threading
import unittest
from pathlib import Path

import javascript_test
from scripted_server import SILENT, ScriptedSentinel, ScriptedServer
from weir_e2e import DEADLINE

# What a program of a test begins with, too.
QUIET = "const quiet = { ...patient, onUnavailable() {} };\n"
SLOW_SECONDS = 1.3  # longer than connecting continues without a call
OK = [1, 9, 0, 900, 0]


def sliced(words, ms=60_000):
    """The answers of a weir that slices."""
    return [3, 6, 0, 900_000, 0, 1000 * ms, 7, []] if words[0] == "RL.SLICE" else OK


class SlowServer(ScriptedServer):
    """Answers a login after a while, and all else at once."""

    def _answer_to(self, login):
        threading.Event().wait(SLOW_SECONDS)
        return super()._answer_to(login)


class SlowSentinel(ScriptedSentinel):
    """Answers after a while."""

    @staticmethod
    def reply(connection, reply):
        threading.Event().wait(SLOW_SECONDS / 4)
        ScriptedSentinel.reply(connection, reply)


class FaultTest(javascript_test.ClientTest):
    def serve(self, kind=ScriptedServer, **settings):
        """A server whose requests a thread answers by OK, if it is not silent."""
        self.asked = []
        events = queue.Queue()
        server = kind(events)
        self.addCleanup(server.close)
        reply = settings.pop("reply", OK)
        for name, value in settings.items():
            setattr(server, name, value)

        def answer():
            while event := events.get():
                words, connection = event[1]
                self.asked.append(" ".join(words))
                given = reply(words) if callable(reply) else reply
                server.reply(connection, given)

        threading.Thread(target=answer, daemon=True).start()
        self.addCleanup(events.put, None)
        return server

    def sentinel(self, primary, kind=ScriptedSentinel):
        named = ["127.0.0.1", str(primary.port)] if primary else SILENT
        sentinel = kind(named)
        self.addCleanup(sentinel.close)
        return f"127.0.0.1:{sentinel.port}"

    def run_quietly(self, url, code):
        return self.run_program(url, QUIET + code)

    # --- Connections ------------------------------------------------------------------------------

    # Goal: a call whose deadline is longer than a second has all of it to connect.
    def test_a_connection_that_is_slower_than_a_second(self):
        server = self.serve(SlowServer)
        limiter = self.limiter(self.url(server, "app:secret@"))
        self.assertEqual(limiter.call("allow", "k", "1/h"), "allowed 9 0 900 0")

    def test_a_sentinel_that_is_silent_is_passed_over_within_the_deadline(self):
        server = self.serve()
        sentinels = [self.sentinel(None), self.sentinel(server)]
        limiter = javascript_test.Caller(self, sentinels=sentinels, master="main", deadline_ms=3000)
        self.assertEqual(limiter.call("allow", "k", "1/h"), "allowed 9 0 900 0")

    # Goal: a Sentinel that is farther away than the deadline of a call serves a later one.
    def test_a_sentinel_that_is_slower_than_the_deadline(self):
        server = self.serve()
        sentinels = [self.sentinel(server, SlowSentinel)]
        limiter = javascript_test.Caller(self, sentinels=sentinels, master="main", deadline_ms=250)
        self.await_equal(lambda: limiter.call("allow", "k", "1/h"), "allowed 9 0 900 0")

    def test_a_sentinel_that_answers_something_else(self):
        server = self.serve()
        for answer in (5, "OK", ["127.0.0.1"]):
            sentinel = ScriptedSentinel(answer)
            self.addCleanup(sentinel.close)
            sentinels = [f"127.0.0.1:{sentinel.port}", self.sentinel(server)]
            limiter = javascript_test.Caller(self, sentinels=sentinels, master="main")
            self.assertEqual(limiter.call("allow", "k", "1/h"), "allowed 9 0 900 0")

    # --- The end ----------------------------------------------------------------------------------

    # Goal: close() ends calls in flight as unavailable, of all kinds, and then the program.
    def test_close_while_calls_are_in_flight(self):
        server = self.serve(reply=SILENT)
        printed = self.run_quietly(self.url(server), """\
const limiter = new Limiter(url, quiet);
const slice = limiter.slice(5, 1000, "k", "9/s");
const calls = [
  limiter.allow("k", "9/s"),
  limiter.wait(50_000, "k", "9/s"),
  limiter.verify().catch((error) => error),
  limiter.reserve(1000, "k", "9/s").then((hold) => ({ cause: hold.isOpen })),
  slice.spend().then(() => ({ cause: "spent" })),
  slice.spend().then(() => ({ cause: "spent" })),
];
await new Promise((resolve) => setTimeout(resolve, WAIT));
await limiter.close();
for (const { cause } of await Promise.all(calls)) console.log(cause);
console.log(limiter.counts().unavailable.connection);
""".replace("WAIT", "300"))
        wanted = ["connection", "connection", "connection", "false", "spent", "spent", "5"]
        self.assertEqual(printed.split(), wanted)

    # Method: a server that never answers the login, and a deadline that is longer than the test's.
    def test_close_while_the_limiter_logs_in(self):
        server = self.serve(login=SILENT)
        printed = self.run_quietly(self.url(server, "app:secret@"), """\
const limiter = new Limiter(url, quiet);
const call = limiter.allow("k", "9/s");
await new Promise((resolve) => setTimeout(resolve, 100));
await limiter.close();
console.log((await call).cause);
""")
        self.assertEqual(printed, "connection")

    # --- Commands ---------------------------------------------------------------------------------

    # Goal: no caller changes the connection of the others.
    def test_commands_that_would_change_the_connection(self):
        server = self.serve()
        printed = self.run_quietly(self.url(server), """\
const limiter = new Limiter(url, quiet);
const commands = [
  ["MULTI"], ["auth", "app", "secret"], [Buffer.from("Hello"), 3], ["SUBSCRIBE", "c"], ["monitor"],
  ["client", "reply", "off"], ["RL.WAIT", "k", "1/h", "TIMEOUT", 1000], ["RESET"], ["QUIT"],
];
for (const words of commands) {
  const error = await limiter.command(...words).catch((error) => error);
  if (!(error instanceof Mistake)) console.log(words, error);
}
await limiter.command("CLIENT", "GETNAME");
console.log((await limiter.allow("k", "1/h")).reason);
""")
        self.assertEqual((printed, self.asked), ("allowed", ["RL.ALLOW k 1/h"]))

    # --- Slices -----------------------------------------------------------------------------------

    def slice_with_commits(self, *replies, others=()):
        """A Limiter whose slice has been given back; the commits are answered so, and then by 1.

        With other keys the slice is a hold.
        """
        left = list(replies)

        def reply(words):
            if words[0] == "RL.COMMIT":
                return left.pop(0) if left else OK
            if words[0] == "RL.SLICE":
                return sliced(words)
            return [3, 6, 0, 900, 0, [["9/h", 1, 9, 6, 0, 900, group, 1, 0] for group in (0, 1)]]

        limiter = self.limiter(self.url(self.serve(reply=reply)))
        limiter.call("slice", 3, 60000, "k", "9/h", *others)
        self.assertEqual([limiter.call("spend") for _ in range(2)], 2 * ["passes"])
        self.assertEqual(limiter.call("give_back"), "ok")
        return limiter

    def names(self):
        return [words.partition(" ")[0] for words in self.asked]

    def test_a_commit_without_an_answer_is_repeated(self):
        limiter = self.slice_with_commits("lost", "lost", "-MISCONF no", "lost", OK)
        for _ in range(2):
            self.assertEqual(limiter.call("beats"), "1")
            limiter.call("clock", 1000)
        self.assertEqual(self.names(), ["RL.SLICE", *5 * ["RL.COMMIT"]])
        self.assertEqual(len(set(self.asked)), 2)
        self.assertEqual((limiter.call("beats"), limiter.call("causes")), ("0", "connection"))

    def test_a_repeated_commit_of_a_slice_that_comes_too_late_changes_nothing(self):
        limiter = self.slice_with_commits("lost", "lost", [0, 0, 0, 0, 0])
        limiter.call("clock", 1000)
        self.assertEqual(self.names(), ["RL.SLICE", *3 * ["RL.COMMIT"]])
        self.assertEqual(limiter.call("beats"), "0")

    def test_a_commit_is_not_repeated_when_the_slice_has_lapsed(self):
        limiter = self.slice_with_commits("lost", "lost", "lost")
        limiter.call("clock", 60000)
        commits = len(self.names()) - 1
        self.assertLess(commits, 63)
        limiter.call("clock", 60000)
        self.assertEqual((len(self.names()) - 1, limiter.call("beats")), (commits, "0"))

    def test_a_repeated_commit_of_a_hold_that_comes_too_late_is_followed_by_a_charge(self):
        others = ("AND", "l", "9/h")
        limiter = self.slice_with_commits("lost", "lost", [0, 0, 0, 0, 0], others=others)
        self.assertEqual(limiter.call("spend"), "passes")
        limiter.call("clock", 1000)
        self.assertEqual(self.asked[-1], "RL.CHARGE k 9/h COST 2 AND l 9/h COST 2")
        commits = 2 * ["RL.COMMIT"]
        self.assertEqual(self.names()[1:], [*commits, "RL.TAKE", "RL.COMMIT", "RL.CHARGE"])
        self.assertEqual(limiter.call("beats"), "1")  # that of the present slice

    # --- What callers pass ------------------------------------------------------------------------

    def test_wrong_times_and_counts(self):
        server = self.serve()
        printed = self.run_quietly(self.url(server), """\
const limiter = new Limiter(url, quiet);
const times = ["1000", null, undefined, true, NaN, Infinity, [5], {}, 10n];
const counts = ["5", null, true, NaN, 1.5, -1, [5], {}];
const limit = "9/h,cost={}";
const calls = [
  ...times.map((ms) => () => limiter.wait(ms, "k", "1/h")),
  ...times.map((ms) => () => limiter.reserve(ms, "k", "1/h")),
  ...times.map((ms) => () => limiter.lease(ms, "k", "1,held")),
  ...times.map((ms) => () => limiter.slice(5, ms, "k", "1/h")),
  ...[...counts, 0].map((size) => () => limiter.slice(size, 1000, "k", "1/h")),
  ...counts.map((estimate) => () => limiter.reserve(1000, "k", limit, { estimate })),
  ...[0, -5].map((ms) => () => limiter.reserve(ms, "k", "1/h")),
  ...[0, -5].map((ms) => () => limiter.slice(5, ms, "k", "1/h")),
];
async function check(call) {
  try {
    await call();
    console.log("no error of", String(call));
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof Mistake)) console.log(error);
  }
}
for (const call of calls) await check(call);
const held = await limiter.reserve(1000, "k", limit, { estimate: 5 });
for (const used of counts) await check(() => held.settle(used));
console.log(held.isOpen, await held.settle(3));
""")
        self.assertEqual(printed, "true true")
        self.assertEqual(self.names(), ["RL.RESERVE", "RL.COMMIT"])

    # Goal: bytes that a caller changes later are sent as they were.
    def test_bytes_that_are_used_again(self):
        server = self.serve(reply=sliced)
        self.run_quietly(self.url(server), """\
const limiter = new Limiter(url, quiet);
const key = Buffer.from("ann");
const first = limiter.allow(key, "1/h");
const slice = limiter.slice(5, 1000, key, "9/s");
key.write("bob");
await first;
await slice.spend();
await limiter.allow(new Uint8Array([107]), "1/h");
""")
        wanted = ["RL.ALLOW ann 1/h", "RL.SLICE ann 9/s", "RL.ALLOW k 1/h"]
        self.assertEqual([words.partition(" NEED")[0] for words in self.asked], wanted)

    # Goal: another server is a mistake that is counted, and not a denial.
    def test_an_answer_that_is_no_decision(self):
        for reply in ("OK", 5, None, [], ["a", "b", "c", "d", "e"], [1, 9, 0, 900, 0, 7],
                      [1, 9, 0, 900, 0, [[]]]):
            limiter = self.limiter(self.url(self.serve(reply=reply)))
            self.assertRegex(limiter.call("details", "k", "1/h"), "^mistake ")
            self.assertEqual(limiter.call("counts"), "asked 1 mistakes 1")

    # Goal: a time that is longer than Node's timers is no time of 1 ms.
    def test_times_that_are_longer_than_timers(self):
        server = self.serve(reply=lambda words: sliced(words, 2**33))
        self.run_quietly(self.url(server), """\
const limiter = new Limiter(url, quiet);
const slot = await limiter.lease(2 ** 33, "k", "1,held");
const slice = limiter.slice(5, 2 ** 33, "k", "9/s");
await slice.spend();
for (let i = 0; i < 20; ++i) await new Promise((resolve) => setTimeout(resolve, 5));
await slot.release();
await slice.giveBack();
""")
        self.assertEqual(self.names(), ["RL.RESERVE", "RL.SLICE", "RL.COMMIT", "RL.COMMIT"])

    # --- Options ----------------------------------------------------------------------------------

    def test_wrong_options(self):
        printed = self.run_program("redis://127.0.0.1", """\
const types = [
  () => new Limiter(undefined),
  () => new Limiter(null),
  () => new Limiter({ url: undefined }),
  () => new Limiter({ host: 5 }),
  () => new Limiter({ unixSocket: {} }),
  () => new Limiter(url, { username: null }),
  () => new Limiter(url, { password: 5 }),
  () => new Limiter({ sentinels: [5], master: "main" }),
];
const mistakes = [
  () => new Limiter({ unixSocket: "" }),
  () => new Limiter("rediss://h", { tls: false }),
  () => new Limiter("rediss://h?ca=/ca.pem", { tls: { ca: "text" } }),
  () => new Limiter("rediss://h?ca=/nowhere/ca.pem"),
  () => new Limiter("rediss://h", { tls: { cert: "text" } }),
];
for (const [kind, calls] of [[TypeError, types], [Mistake, mistakes]]) {
  for (const call of calls) {
    try {
      call();
      console.log("no error of", String(call));
    } catch (error) {
      if (!(error instanceof kind)) console.log(String(call), error);
    }
  }
}
""")
        self.assertEqual(printed, "")

    # Goal: a URL may say TLS, and the options what it needs.
    def test_options_of_tls_beside_a_url_of_tls(self):
        server = self.start_tls()
        certificate, key, authority = (
            Path(file).read_text() for file in (*self.client_files, self.authority.certificate)
        )
        tls = {"ca": authority, "cert": certificate, "key": key}
        limiter = self.limiter(f"rediss://127.0.0.1:{server.tls_port}", tls=tls)
        self.assertRegex(limiter.call("allow", "k", "1/s"), "^allowed ")

    def test_a_password_is_not_shown(self):
        printed = self.run_program("redis://app:s3cret@127.0.0.1", """\
import { inspect } from "node:util";
const limiter = new Limiter(url, { onUnavailable() {}, tls: { passphrase: "s3cret" } });
const error = await limiter.verify().catch((error) => error);
const all = { depth: 20, showHidden: true };
console.log([limiter, error].map((each) => inspect(each, all) + each + JSON.stringify(each)));
""")
        self.assertNotIn("s3cret", printed)
        self.assertIn("unavailable", printed)

    # --- Middleware -------------------------------------------------------------------------------

    def test_wrong_limits(self):
        printed = self.run_program("redis://127.0.0.1", """\
import { rateLimit } from "weir-client/express";
const limiter = new Limiter(url);
const wrong = [
  () => rateLimit({ limiter, limits: ["10/s", undefined] }),
  () => rateLimit({ limiter, limits: [10] }),
  () => rateLimit({ limiter: url, limits: ["10/s"] }),
];
for (const call of wrong) {
  try {
    call();
    console.log("no error of", String(call));
  } catch (error) {
    if (!(error instanceof TypeError)) console.log(error);
  }
}
""")
        self.assertEqual(printed, "")

    # Goal: what key() throws never lets a request pass. Method: it throws what is no Error.
    def test_a_key_that_throws_something_else(self):
        server = self.serve()
        printed = self.run_quietly(self.url(server), """\
import { rateLimit } from "weir-client/express";
const limiter = new Limiter(url, quiet);
const nexts = [undefined, null, "route", new Error("mine")].map((thrown) => {
  const key = () => Promise.reject(thrown);
  const limit = rateLimit({ limiter, limits: ["1/h"], key });
  const request = { method: "GET", headers: {}, socket: { remoteAddress: "127.0.0.1" } };
  return new Promise((resolve) => limit(request, {}, resolve));
});
for (const error of await Promise.all(nexts)) console.log(error instanceof Error, error?.message);
""")
        self.assertEqual(printed.splitlines(), [
            "true undefined", "true null", "true route", "true mine",
        ])

    # Goal: a request that has been answered, as by a timeout, is not answered again.
    def test_a_request_that_has_been_answered(self):
        server = self.serve(reply=[0, 0, 500, 900, 0])
        printed = self.run_quietly(self.url(server), """\
import { createServer, get } from "node:http";
import { rateLimit } from "weir-client/express";
const limiter = new Limiter(url, quiet);
const limit = rateLimit({ limiter, limits: ["1/h"] });
const service = createServer((request, response) => {
  limit(request, response, (error) => console.log("next", error));
  response.end("too late");
});
service.listen(0, "127.0.0.1", () => {
  get(service.address(), (response) => response.resume().on("end", async () => {
    await limiter.command("RL.RESET", "k"); // it is answered behind the request
    setImmediate(() => console.log(response.statusCode));
    service.close();
  }));
});
""")
        self.assertEqual(printed, "200")


if __name__ == "__main__":
    unittest.main()
