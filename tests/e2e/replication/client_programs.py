"""The programs of tests/clients that find the primary through Sentinel, and what they got.

A program prints `version V`, then reads keys, one a line, and takes tokens of the last one until
the end of its input. For each request it prints one of

    took KEY TOKENS INVOKED COMPLETED    the times are nanoseconds of the monotonic clock
    refused KEY ERROR                    the reply was an error
    failed KEY ERROR                     there was no reply

No token of a key ever comes back.

Environment:
    WEIR_NPM_FOLDER     the folder in which npm installs clients; without it they are skipped
    WEIR_SENTINELS, WEIR_GROUP, WEIR_LIMIT    for the programs: addresses, the group, the limit
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import matrix
from clients import SENTINEL_CLIENTS, Unavailable
from replication_checker import Request
from sentinels import GROUP
from weir_e2e import DEADLINE, NEVER

TOKENS = 1_000_000_000
LIMIT = f"{TOKENS}/{NEVER},fixed"
NPM_FOLDER = os.environ.get("WEIR_NPM_FOLDER")


class Program:
    """A running client program. Its lines are read all the time."""

    def __init__(self, client, directory, sentinels):
        """`sentinels`: their addresses, HOST:PORT. Raises Unavailable without the library."""
        place = Path(directory, client.name.replace(" ", "-"))
        place.mkdir()
        command = matrix.command_of(client, place, NPM_FOLDER and Path(NPM_FOLDER))
        where = {
            "WEIR_SENTINELS": " ".join(sentinels), "WEIR_GROUP": GROUP, "WEIR_LIMIT": LIMIT
        }  # fmt: skip
        self.name = client.name
        self._process = subprocess.Popen(
            command, cwd=place, env={**matrix.environment_in(str(place)), **where}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1,
        )  # fmt: skip
        self._requests = {}  # key -> its answered requests
        self._lines = []  # all others
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def key(self, phase):
        return f"{self.name}:{phase}".replace(" ", "-")

    def take(self, phase):
        """Makes it take tokens of the key of a phase, from its next request on."""
        self._process.stdin.write(self.key(phase) + "\n")

    def end(self):
        self._process.stdin.close()
        try:
            return self._process.wait(DEADLINE)
        finally:
            self.kill()

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self):
        with self._process.stdout as lines:
            for line in lines:
                kind, *words = line.split() or [""]
                if kind == "took":
                    key, tokens, invoked, completed = words
                    request = Request(int(invoked), int(completed), int(tokens))
                    self._requests.setdefault(key, []).append(request)
                elif kind:
                    self._lines.append(line.split())

    def admitted(self, phase, since=0, until=sys.maxsize):
        """The admitted requests of a phase that completed at `since` or later, sent by `until`.

        A reply may be read after its server has died; a program waits for one reply at a time.
        """
        answered = list(self._requests.get(self.key(phase), ()))
        return [r for r in answered if r.tokens and r.completed >= since and r.invoked <= until]

    def was_admitted(self, phase, since=0):
        """Whether a request that it sent at `since` or later was admitted."""
        return any(request.invoked >= since for request in self.admitted(phase))

    def unanswered(self, phase):
        """How many requests of a phase may have been charged without being answered as admitted."""
        key = self.key(phase)
        unsure = [["failed", key], ["refused", key, "NOACK"]]
        return len([line for line in self._lines if line[:2] in unsure or line[:3] in unsure])

    def forgotten(self, server, phase):
        """How many of the tokens that it got in a phase the server does not know of.

        `server`: a client of it.
        """
        left = server.call("RL.PEEK", self.key(phase), LIMIT, "COST", 0)[1]
        return len(self.admitted(phase)) - (TOKENS - left)

    def pause_ms(self, phase):
        """The longest time between two admissions of a phase."""
        times = [request.completed for request in self.admitted(phase)]
        return max((b - a for a, b in zip(times, times[1:])), default=0) / 1e6

    def errors(self):
        """What went wrong, without keys, each once."""
        return {" ".join(line[:1] + line[2:]) for line in self._lines if line[0] != "version"}

    def tell(self, phase, lost, lag_ms=None):
        lag = "" if lag_ms is None else f", of {lag_ms:.1f} ms"
        print(
            f"{self.name}, {phase}: {len(self.admitted(phase))} tokens; not admitted for"
            f" {self.pause_ms(phase):.0f} ms; forgotten: {max(0, lost)}{lag};"
            f" charged, not answered: {max(0, -lost)}; without a reply: {self.unanswered(phase)}",
            file=sys.stderr,
        )

    def refusals(self):
        """The first words of error replies."""
        return {line[2] for line in self._lines if line[0] == "refused"}


def start_programs(test, sentinels, clients=SENTINEL_CLIENTS):
    """The programs of the clients that are there, until the end of the test."""
    programs = []
    for client in clients:
        try:
            programs.append(Program(client, test.directory, sentinels))
            test.addCleanup(programs[-1].kill)
        except Unavailable as why:
            print(f"skipped: {client.name}: {why}", file=sys.stderr)
    return programs
