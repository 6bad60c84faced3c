"""Runs the programs of this folder, each without and with a user, and prints the results.

    matrix.py [--npm FOLDER] [NAME ...]     all clients, or those whose names begin with NAME

A program has a server of its own and takes its steps (clients.py) one after the other; it prints
`version V`, then a line a step: `ok STEP`, or `FAIL STEP why`. Its environment says where to go:

    WEIR_PORT                     of the server
    WEIR_LOSSY_PORT               of the same server, for the step `once` (lossy.py)
    WEIR_USER, WEIR_PASSWORD      if the server has users: one that may ask for decisions
    WEIR_ADMIN_USER, WEIR_ADMIN_PASSWORD    one that may do everything, for the step `reconnect`
    WEIR_DEADLINE                 the most seconds until a reply

A missing client is skipped, and the matrix says what is missing. npm's clients are installed into
FOLDER, and are skipped without it. The status is 1 if a client failed.

Environment:
    PYTHONPATH              contains tests/e2e
    WEIR_SERVER             path of the server's binary
    WEIR_HIREDIS_CLIENT     path of the program that is built from hiredis.cc
    WEIR_GO_SENTINEL_CLIENT path of the program that is built from go/sentinel
    WEIR_RUST_PROGRAMS      folder of the program that is built from programs/rust
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import npm
from clients import CLIENTS, STEPS, Unavailable
from lossy import LossyPort
from weir_e2e import Client as Connection
from weir_e2e import Server, client_environment

FOLDER = Path(__file__).parent

INTERPRETERS = {
    ".py": "/usr/bin/python3",  # Debian's, as python3-redis is
    ".rb": "ruby",
    ".php": "php",
    ".pl": "perl",
    ".mjs": "node",
}
DEBIAN_MODULES = Path("/usr/share/nodejs")

USER, PASSWORD = "app", "correct-horse"
ADMIN, ADMIN_PASSWORD = "admin", "battery-staple"
USERS = f"""\
user {USER} on >{PASSWORD} ~* +@limit
user {ADMIN} on >{ADMIN_PASSWORD} ~* +@all
"""
DEADLINE_SECONDS = 20
PROGRAM_SECONDS = 180


@dataclass
class Outcome:
    """The results that a program has printed."""

    version: str = ""
    steps: dict = field(default_factory=dict)  # step -> "ok", or the reason of a failure
    skipped: str = ""  # why, if it was not run

    def failures(self):
        return {step: told for step, told in self.steps.items() if told != "ok"}


def run(client, as_user=False, npm_folder=None):
    """Runs the client's program against a server of its own."""
    with tempfile.TemporaryDirectory(prefix="weir_clients_") as directory:
        try:
            command = command_of(client, Path(directory), npm_folder)
        except Unavailable as why:
            return Outcome(skipped=str(why))
        with _serving(directory, as_user) as where:
            printed = _printed(command, directory, {**environment_in(directory), **where})
        return _read(client, printed.decode(errors="backslashreplace"))


def _printed(command, directory, environment):
    program = subprocess.Popen(
        command,
        cwd=directory,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        return program.communicate(timeout=PROGRAM_SECONDS)[0]
    except subprocess.TimeoutExpired:
        program.kill()
        return program.communicate()[0] + b"\nno end in %d s\n" % PROGRAM_SECONDS


def command_of(client, directory, npm_folder):
    """Prepares the program in `directory`; returns the words of its command line."""
    name, *arguments = client.program.split()
    if client.package and not _installed(client.package):
        raise Unavailable(f"wants Debian's {client.package}")
    if name == "hiredis.cc":
        if "WEIR_HIREDIS_CLIENT" not in os.environ:
            raise Unavailable("is not built: WEIR_HIREDIS_CLIENT does not name it")
        return [os.environ["WEIR_HIREDIS_CLIENT"]]
    if name == "weir-client-sentinel":
        if "WEIR_RUST_PROGRAMS" not in os.environ:
            raise Unavailable("is not built: WEIR_RUST_PROGRAMS does not name its folder")
        return [f"{os.environ['WEIR_RUST_PROGRAMS']}/{name}", *arguments]
    program = FOLDER / name
    if program.suffix == ".go":
        if "WEIR_GO_SENTINEL_CLIENT" not in os.environ:
            raise Unavailable("is not built: WEIR_GO_SENTINEL_CLIENT does not name it")
        return [os.environ["WEIR_GO_SENTINEL_CLIENT"]]
    if program.suffix == ".mjs":
        if client.npm and not npm_folder:
            raise Unavailable("wants a folder for what npm installs")
        modules = npm.modules_of(client, npm_folder) if client.npm else DEBIAN_MODULES
        npm.link_modules(modules, directory)
        shutil.copy(FOLDER / "steps.mjs", directory)
        program = Path(shutil.copy(program, directory))
    return [INTERPRETERS[program.suffix], str(program), *arguments]


def _installed(package):
    query = ["dpkg-query", "--show", "--showformat", "${db:Status-Status}", package]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout == "installed"


def environment_in(directory):
    return {
        **client_environment(directory),
        "NODE_PATH": str(DEBIAN_MODULES),  # where Debian's packages find each other
        "PYTHONDONTWRITEBYTECODE": "1",
        "WEIR_DEADLINE": str(DEADLINE_SECONDS),
    }


@contextlib.contextmanager
def _serving(directory, as_user):
    """A server, and the environment variables that describe it."""
    options = ["--port", "0"]
    where = {}
    if as_user:
        users = Path(directory, "users")
        users.write_text(USERS, encoding="ascii")
        options += ["--users-file", str(users)]
        where.update(WEIR_USER=USER, WEIR_PASSWORD=PASSWORD)
        where.update(WEIR_ADMIN_USER=ADMIN, WEIR_ADMIN_PASSWORD=ADMIN_PASSWORD)
    server = Server(directory, options)
    try:
        lossy = LossyPort(server.port)
        with Connection(server.port) as stranger:
            answer = stranger.call("PING")
            assert answer.startswith("NOAUTH" if as_user else "PONG"), answer
        yield {**where, "WEIR_PORT": str(server.port), "WEIR_LOSSY_PORT": str(lossy.port)}
        lossy.close()
        status = server.stop()
        assert status == 0, f"exit status {status}; the log:\n{server.log()}"
    finally:
        server.kill()


def _read(client, printed):
    outcome = Outcome()
    last = "it printed nothing"
    for line in printed.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "version":
            outcome.version = rest
        elif kind == "ok":
            outcome.steps[rest] = "ok"
        elif kind == "FAIL":
            step, _, why = rest.partition(" ")
            outcome.steps[step] = why
        else:
            last = line.strip() or last
    for step in client.steps:
        outcome.steps.setdefault(step, f"not reached: {last}")
    assert set(outcome.steps) == set(client.steps), f"{client}\n{printed}"
    return outcome


# --- The table ------------------------------------------------------------------------------------

COLUMNS = [("client", 22), ("version", 9), ("as", 9), *((step, len(step) + 1) for step in STEPS)]


def _print_row(*cells):
    widths = [width for _, width in COLUMNS]
    line = "".join(f"{cell:<{width}}" for cell, width in zip(cells, widths))
    print(line.rstrip(), flush=True)


def _print_matrix(clients, npm_folder):
    """Prints the table; returns whether no client failed."""
    failures = []
    skipped = []
    if clients:
        _print_row(*(name for name, _ in COLUMNS))
    for client in clients:
        for as_user in (False, True):
            outcome = run(client, as_user, npm_folder)
            if outcome.skipped:
                skipped.append(f"{client.name}: {outcome.skipped}")
                break
            failed = outcome.failures()
            cells = ["FAIL" if s in failed else outcome.steps.get(s, "-") for s in STEPS]
            who = "a user" if as_user else "anybody"
            _print_row(client.name, outcome.version, who, *cells)
            failures += [f"{client.name}, {who}, {step}: {why}" for step, why in failed.items()]
    for title, lines in (("skipped:", skipped), ("failed:", failures)):
        if lines:
            print("", title, *("  " + line for line in lines), sep="\n", flush=True)
    return not failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npm", type=Path, metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_args()
    wanted = tuple(arguments.names) or ("",)
    clients = [client for client in CLIENTS if client.name.startswith(wanted)]
    return 0 if _print_matrix(clients, arguments.npm) else 1


if __name__ == "__main__":
    sys.exit(main())
