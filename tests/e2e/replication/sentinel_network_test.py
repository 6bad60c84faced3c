"""Three servers and three Sentinels on three hosts, whose network and processes fail.

Goal: laws R4 to R6 and R9, and no lock-out: whatever fails, a key that never refills gets no token
more than the table of docs/high-availability.md allows, and when the failure is over, one server is
the primary, the others follow it, and it admits. Method: hosts are network namespaces on a bridge.
Clients ask all the time: those of network_load.py, and elsewhere on the bridge the installed client
libraries, with the page's settings (client_programs.py). Failures come one after the other
(network_failures.py); after each the group must become calm, all clients must be admitted, and the
history of the keys that were asked meanwhile is judged.

The table is about a lease, or acknowledgements, of all replicas that may be promoted, so both want
two of three servers here. The old primary and the new one then never admit at the same time, and a
primary that is cut off is told nothing new; but a group of two servers admits nothing, until the
third is back. With one replica instead the group would admit without the third, and the table would
promise nothing for the case that Sentinel promotes the other replica.

WEIR_TEST_SCALE 1 runs the first failures without either, which takes 40 s; 2 to 10 all of them in
each strength, in eight minutes; 12 all of that twice. A server with a sanitizer is too slow
for Sentinel's times.

Environment:
    WEIR_NETWORK_SEED      of the order of the failures and of the clients; printed
    WEIR_NETWORK_EVENTS    the numbers of the failures to run instead, in this order: "0,4"
    WEIR_NETWORK_STRENGTH  the only strength to run: async, lease or acks
"""

import contextlib
import math
import os
import random
import sys
import time
import unittest

from client_programs import start_programs
from host_network import HostNetwork, why_not
from network_failures import FAILURES, LAG, LEASE_SECONDS, LINK, NOTHING, STRENGTHS, TWO, wait
from network_load import (
    DRAINED, HOSTS, PORT, REFUSALS, SECOND, SENTINEL_PORT, TOKENS, WORDS, Load, lag_ms,
)  # fmt: skip
from replication_checker import Request
from replication_servers import SLACK_MS, ReplicationTest, ask_all, await_true, is_exact
from sentinels import GROUP, Sentinel
from weir_e2e import NEVER, SKIPPED, Client, Error, sanitized

SCALE = float(os.environ.get("WEIR_TEST_SCALE", "1"))
FIRST = 3  # failures at WEIR_TEST_SCALE 1
FILLED = 100_000  # keys that make a full sync last
BACK_WITHIN = 30  # seconds after a failure; then the group has a primary that admits
READY_WITHIN = 60  # seconds in which the Sentinels, too, have seen all of that
DEPOSED_WITHIN = 8  # seconds in which an old primary that is back still admits, at most
SNAPSHOT_MS = 1000  # --snapshot-interval
LOG_END = 2000  # characters of the log of a server that has ended


class Group(ReplicationTest):
    """Servers and Sentinels on hosts."""

    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("WEIR_NETWORK_SEED", random.randrange(1 << 32)))
        self.random = random.Random(self.seed)
        print(f"WEIR_NETWORK_SEED={self.seed}", file=sys.stderr, flush=True)
        self.network = HostNetwork(self, HOSTS)
        self.hosts = self.network.hosts
        self.servers, self.sentinels, self.replaced_logs = {}, {}, []
        self.programs = []  # of client libraries
        self.strength = None
        self.struck = 0  # the time in ns at which the primary failed, or whatever it was
        self.broken = 0  # the time at which that was complete
        self.mending = 0  # the time at which that began to end

    def start_group(self, strength):
        self.strength = strength
        first, *others = self.hosts
        self.start_server(first, "--sentinel-wait", "1ms")
        for host in others:
            self.start_server(host, "--replicaof", f"{first.address} {PORT}")
        await_true(lambda: all(self.is_exact(host) for host in others), self.story)
        self.fill(first)
        for host in self.hosts:
            self.start_sentinel(host, first)
        await_true(self.calm_primary, self.story)
        await_true(self.sentinels_are_ready, self.story)
        addresses = [f"{host.sentinel_address}:{SENTINEL_PORT}" for host in self.hosts]
        self.programs = start_programs(self, addresses)

    def fill(self, host):
        with host.entered(), Client(PORT) as client:
            words = f"9/{NEVER}"
            await_true(lambda: client.call("RL.ALLOW", "first", words)[0] == 1, self.story)
            filled = ask_all(client, [("RL.ALLOW", f"filled:{i}", words) for i in range(FILLED)])
        refused = [reply for reply in filled if isinstance(reply, Error)]
        self.assertEqual({reply.split()[0] for reply in refused} - {"NOACK"}, set())

    def strike(self):
        """Notes that the primary has failed now."""
        self.struck = self.broken = time.monotonic_ns()

    def last(self, seconds):
        """Lets a failure last that is complete now."""
        self.broken = time.monotonic_ns()
        wait(seconds)
        self.mending = time.monotonic_ns()

    def start_server(self, host, *options):
        server = self.launch(
            "--bind", f"127.0.0.1,{host.address}", "--port", str(PORT), "--threads", "2",
            "--protected-mode=false", "--sentinel", GROUP, "--log-level", "info",
            "--data-dir", self.data_of(host), *self.strength.options, *options,
            starter=host.starter,
        )  # fmt: skip
        if host in self.servers:
            self.replaced_logs.append(f"{host.address}, before:\n{self.servers[host].log()}")
        self.servers[host] = server
        server.wait_for_log(r"listening on 10\.")

    def data_of(self, host):
        return os.path.join(self.directory, f"data{host.index}")

    def start_sentinel(self, host, primary):
        # The last `bind` counts. Replies of other hosts come to the address that it asks from.
        address = host.sentinel_address
        more = f"bind 127.0.0.1 {address}\nbind-source-addr {address}"
        sentinel = Sentinel(self.directory, PORT, host=primary.address, bind=address, more=more,
                            port=SENTINEL_PORT, starter=host.starter, down_after=2000)
        self.addCleanup(sentinel.stop)
        self.sentinels[host] = sentinel

    def call(self, host, *words):
        """What the server of a host answers there; an error if it does not."""
        try:
            with host.entered(), Client(PORT) as client:
                client.socket.settimeout(2)
                return client.call(*words)
        except (EOFError, OSError) as error:
            return Error(f"GONE {error}")

    def is_exact(self, host):
        with contextlib.suppress(EOFError, OSError), host.entered(), Client(PORT) as client:
            client.socket.settimeout(2)
            return is_exact(client)
        return False

    def ask_sentinel(self, host, *words):
        try:
            with host.entered():
                return self.sentinels[host].call("SENTINEL", *words)
        except (EOFError, OSError) as error:
            return Error(f"GONE {error}")

    def primary(self):
        """The only primary; None if there is not one alone that all others follow."""
        roles = {host: self.call(host, "ROLE") for host in self.hosts}
        primaries = [host for host, role in roles.items() if role[0] == b"master"]
        if len(primaries) != 1:
            return None
        following = [b"slave", primaries[0].address.encode(), PORT, b"connected"]
        followed = all(roles[host][:4] == following for host in self.network.others(primaries[0]))
        return primaries[0] if followed else None

    def calm_primary(self):
        """The only primary, if all Sentinels name it too; or None."""
        primary = self.primary()
        named = {
            self.ask_sentinel(host, "GET-MASTER-ADDR-BY-NAME", GROUP)[0] for host in self.hosts
        }
        return primary if primary and named == {primary.address.encode()} else None

    def sentinels_are_ready(self):
        """All Sentinels see all servers and one another, and could fail over."""
        for host in self.hosts:
            seen = {}
            for what in ("MASTER", "REPLICAS", "SENTINELS"):
                rows = self.ask_sentinel(host, what, GROUP)
                if isinstance(rows, Error):
                    return False
                rows = rows if isinstance(rows[:1] and rows[0], list) else [rows]
                seen[what] = sorted(row[row.index(b"flags") + 1] for row in rows if row)
            good = (seen["MASTER"], seen["REPLICAS"], seen["SENTINELS"])
            if good != ([b"master"], [b"slave"] * 2, [b"sentinel"] * 2):
                return False
        return True

    def take(self, phase):
        """Makes the programs take tokens of the keys of a phase, and waits until each has one."""
        for program in self.programs:
            program.take(phase)
        self.await_programs(phase, time.monotonic_ns())

    def await_programs(self, phase, since):
        """Waits until a request that it sent at `since` or later was admitted, for each program."""
        for program in self.programs:
            await_true(
                lambda one=program: one.was_admitted(phase, since),
                lambda one=program: f"{one.name}: {one.errors()}\n{self.story()}",
                BACK_WITHIN,
            )

    def story(self):
        """All that is known when something has not come to be; first, what tells the most."""
        parts = [f"roles: {[self.call(host, 'ROLE') for host in self.hosts]}"]
        for host, server in self.servers.items():
            if (status := server.process.poll()) is not None:
                end = server.log()[-LOG_END:]
                parts.append(f"{host.address} has ended with status {status}:\n{end}")
        parts += self.replaced_logs
        for host in self.hosts:
            parts.append(f"{host.address}:\n{self.servers[host].log()}")
        for sentinel in self.sentinels.values():
            with open(sentinel.log, encoding="utf-8") as log:
                parts.append(f"Sentinel {sentinel.host}:\n{log.read()}")
        return "\n".join(parts)


class SentinelNetworkTest(Group):
    def test_without_waiting(self):
        self.fail_one_after_the_other("async")

    def test_with_a_lease(self):
        self.fail_one_after_the_other("lease")

    def test_with_acknowledgements(self):
        self.fail_one_after_the_other("acks")

    def fail_one_after_the_other(self, strength):
        if strength not in chosen_strengths():
            self.skipTest("WEIR_TEST_SCALE or WEIR_NETWORK_STRENGTH leaves it out")
        self.start_group(STRENGTHS[strength])
        for number, failure in enumerate(self.chosen()):
            self.fail_once(number, failure)
        for host, server in self.servers.items():
            self.assertEqual(server.stop(), 0, host.address)

    def chosen(self):
        """The failures of this run, in their order."""
        if "WEIR_NETWORK_EVENTS" in os.environ:
            return [FAILURES[int(i)] for i in os.environ["WEIR_NETWORK_EVENTS"].split(",")]
        possible = [failure for failure in FAILURES if failure.least_scale <= SCALE]
        if SCALE < 2:
            return possible[:FIRST]
        count = max(1, int(SCALE / 2 / len(chosen_strengths())))
        rounds = (self.random.sample(possible, len(possible)) for _ in range(count))
        return [failure for one in rounds for failure in one]

    def fail_once(self, number, failure):
        primary, phase = self.primary(), f"{self.strength.name} {number}, {failure.name}"
        self.take(phase)
        load = Load(self.hosts, f"{number}", self.random)
        try:
            asked = time.monotonic_ns()
            await_true(lambda: load.has_admitted(primary.index, asked + SECOND), self.story)
            self.strike()
            failure.inject(self, primary)
            healed = time.monotonic_ns()
            self.await_calm(load, healed)
            calm = time.monotonic_ns()
            self.await_programs(phase, healed)
            await_true(self.sentinels_are_ready, self.story, READY_WITHIN)
            # The Sentinels may have been about to fail over when the failure ended.
            final = self.await_calm(load, healed)
            settled = time.monotonic_ns()
            load.go_on(0.5)
            self.assertIs(self.primary(), final, self.story())
        finally:
            load.end()
        self.judge(failure, load, primary, final, (healed, calm, settled))
        self.take(f"after {number}")  # so no request of the phase is under way
        self.judge_programs(failure, load, phase, (primary, final), healed)

    def await_calm(self, load, healed):
        """The primary, once there is only one and clients of the Sentinels are admitted by it."""
        found = []

        def is_back():
            found[:] = [self.calm_primary()]
            return found[0] and load.has_admitted(found[0].index, healed)

        await_true(is_back, self.story, BACK_WITHIN)
        return found[0]

    def judge(self, failure, load, primary, final, times):
        healed, calm, settled = times
        if failure.bound == LAG:  # a kill takes a while, and is noted when it is over
            self.struck = load.last_answer(primary.index, self.struck)
        self.drain(load, final)
        excesses = {key: math.ceil(x) for key, x in load.history.excesses(DRAINED).items()}
        of_others = load.admitted_times({host.index for host in self.network.others(final)})
        all_of_others = [t for times in of_others.values() for t in times]
        late = max([0, *((t - healed) / SECOND for t in all_of_others)])
        pause = load.longest_pause(self.struck) / SECOND
        print(
            f"{self.strength.name}, {failure.name}: {primary.index} -> {final.index};"
            f" not admitted for {pause:.2f} s,"
            f" calm {(calm - healed) / SECOND:.2f} s after the end; tokens too many:"
            f" {sum(excesses.values())} of {len(excesses)} keys (of {len(load.keys.all())}),"
            f" at most {max(excesses.values(), default=0)};"
            f" lag {lag_ms(of_others, excesses, self.struck):.1f} ms;"
            f" the old one admitted until {late:.2f} s after the end",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        self.assertEqual(load.errors(), [], failure.name)
        self.assertEqual([t for t in all_of_others if t > settled], [], "a replica has admitted")
        if failure.bound == TWO:
            self.assertLessEqual(late, DEPOSED_WITHIN, self.story())
            self.judge_fence(load, primary, final, healed)
        self.judge_excesses(failure, load, excesses, (primary, final), healed)

    def judge_fence(self, load, primary, final, healed):
        """With a lease or acknowledgements the old primary stops, and the new one begins then."""
        if self.strength.name == "async":
            return
        lease = LEASE_SECONDS * SECOND if self.strength.has_lease else 0
        old = load.admitted({host.index for host in self.network.others(final)})
        if final is not primary:
            first = min(r.completed for r in load.admitted({final.index}))
            self.assertEqual(sum(r.invoked > first for r in old), 0, self.story())
        # A frozen server answers its requests when it is back.
        own = load.admitted({primary.index})
        late = [r for r in own if r.invoked > self.broken + lease and r.completed < self.mending]
        self.assertEqual(len(late), 0, self.story())

    @staticmethod
    def goes_on_from_disk(failure, primary, final):
        """No replica was promoted within --sentinel-wait, so the primary has what is on its disk.

        Or two were, one after the other, because the Sentinels stood still.
        """
        return failure.bound == LAG and final is primary

    def forgets_since(self, failure, primary, final):
        """The time in ns from which on admissions may be forgotten; None if none may be."""
        from_disk = self.goes_on_from_disk(failure, primary, final)
        nothing = self.strength.forgets_nothing and not from_disk
        if nothing or failure.bound == NOTHING or (failure.bound == LINK and final is primary):
            return None
        return self.struck - (SLACK_MS + SNAPSHOT_MS * from_disk) * 1_000_000

    def judge_excesses(self, failure, load, excesses, roles, healed):
        """No key has got more than the failure allows in this strength."""
        primary, final = roles
        since = self.forgets_since(failure, primary, final)
        if since is None:
            return self.assertEqual(excesses, {}, self.story())
        # An old primary with a lease has been fenced when it is back.
        until = healed if self.strength.has_lease and failure.bound == TWO else sys.maxsize
        admitting = {host.index for host in self.network.others(final)}
        if self.goes_on_from_disk(failure, primary, final):
            if not any(load.admitted_times(admitting).values()):
                print(f"no replica was promoted:\n{self.story()}", file=sys.stderr)
            admitting, until = {final.index}, self.struck
        times = load.admitted_times(admitting, until)
        for key, tokens in excesses.items():
            may = sum(t >= since for t in times[key])
            self.assertLessEqual(tokens, min(TOKENS, may), f"{key}; {self.story()}")

    def judge_programs(self, failure, load, phase, roles, healed):
        """The same for the client libraries; it is not known which server has admitted to them."""
        primary, final = roles
        since = self.forgets_since(failure, primary, final)
        until = self.forgets_until(failure, load, roles, healed)
        with final.entered(), Client(PORT) as client:
            for program in self.programs:
                forgotten = program.forgotten(client, phase)
                program.tell(phase, forgotten)
                may = 0 if since is None else len(program.admitted(phase, since, until))
                self.assertLessEqual(forgotten, may, self.story())
                self.assertLessEqual(-forgotten, program.unanswered(phase), program.errors())
                self.assertLessEqual(program.refusals(), REFUSALS)

    def forgets_until(self, failure, load, roles, healed):
        """The time in ns until which admissions may be forgotten."""
        primary, final = roles
        if failure.bound == LAG:
            return self.struck
        if self.strength.has_lease and final is not primary:
            return min(r.completed for r in load.admitted({final.index}) if r.invoked > self.struck)
        return healed + DEPOSED_WITHIN * SECOND

    def drain(self, load, final):
        """Takes what is left of all keys, so that all that was forgotten is in the history.

        It only looks: nobody takes them any more, and a reply to a look waits for nothing.
        """
        keys, own = load.keys.all(), load.history.client()
        begun = time.monotonic_ns()
        with final.entered(), Client(PORT) as client:
            looks = [("RL.PEEK", key, WORDS, "COST", 0) for key in keys]
            for key, reply in zip(keys, ask_all(client, looks)):
                own.append((key, Request(begun, time.monotonic_ns(), reply[1], final.index)))


def chosen_strengths():
    if "WEIR_NETWORK_STRENGTH" in os.environ:
        return (os.environ["WEIR_NETWORK_STRENGTH"],)
    return ("async",) if SCALE < 2 else tuple(STRENGTHS)


if __name__ == "__main__":
    if reason := "a sanitizer makes it slow" if sanitized() else why_not():
        print(reason)
        sys.exit(SKIPPED)
    unittest.main()
