"""Clients, each with a program in programs/ that calls it, for the cases of clients/cases.json.

A program reads a call per line, a JSON list of a name and its arguments, and prints on one line
what its caller sees. Times are whole milliseconds. What it prints:

    a Decision      REASON REMAINING RETRY_AFTER RESET_AFTER LIMIT, "denied 0 700 900 0"; "-" is for
                    none. Without an answer: "unavailable CAUSE allowed", or "... denied".
                    Behind it, for each row of its limits,
                    " | NAME ALLOWED COUNT REMAINING RETRY_AFTER RESET_AFTER GROUP COST KEEP"
    Limited         limited KEY RETRY_AFTER REASON
    a Mistake       mistake TEXT; clients may lack the first word of the server's text
    a wrong type    type TEXT
    Unavailable     raised CAUSE

The calls:

    limiter {OPTIONS}       closes the Limiter and makes the next: with a clock that stands still;
                            with timers as it is moved, or real ones ("timer": true); and with a
                            callback of outages that records them ("callback": "raises", "none").
                            Else the options are the client's: url, host, port, unix_socket,
                            username, password, tls, sentinels, master, fail, deadline_ms. "ok"
    address                 its URL without the password, fail, deadline: "redis://h:7379 open 50"
    text                    how it is printed (repr, toString)
    close                   closes it: "ok"
    causes                  those recorded since the last such call, or "none"
    counts                  those above 0: "asked 2 allowed 1 timeout 1"
    clock MS                moves the clock
    delay MS                moves it when it is read next, right after that
    beats                   the number of timers
    allow WORD ...          a Decision; so details (with rows), peek, charge, refund
    wait MS WORD ...        a Decision
    command WORD ...        the reply as JSON
    verify WORD ...         "ok"
    fields WORD ...         allows with details; "NAME: VALUE | NAME: VALUE | STATUS BODY", with the
                            legacy fields; the last if it is not allowed; "none" if there is none
    plain_fields WORD ...   the same without details
    caller PEER [FORWARDED ...] HOPS      the default key of a middleware
    check WORD ...          "passes" if it is allowed, else Limited
    mail NAME LIMIT ...     calls a limited action whose key is mail:NAME: "to NAME"
    slice SIZE MS WORD ...  makes a slice: "ok"; spend: "passes"; give_back: "ok"
    reserve ESTIMATE MS WORD ...      "passes"
    settle USED             "settled" or "not settled"; so settle_or_charge USED
    cancel                  "ok"
    scope leaves|fails|settles ESTIMATE MS WORD ...
                            reserves in a scope that is left as it is, or by an error, or once the
                            estimate is settled: "left" or "failed"
    lease MS WORD ...       "passes"; lost: "held" or "lost"; release: "freed" or "not held"
    lease_scope MS WORD ... "left"
    flood N                 checks N keys with the limit `none`: how many passed
    crowd CALLERS TIMES [WORD ...]    each of them checks, or spends, so often: how many passed

A word is a string, or null, true, a number, a list, or an object of one key: {"hex": "00ff"} is
bytes, {"integer": "..."} a whole number of any size, {"nan": "nan"}, {"object": []},
{"undefined": 0}. Rows with words of a type that a language does not have are not played with it.

Environment:
    WEIR_CLIENT_PYTHON    the interpreter for the Python client, if not Debian's
    WEIR_NODE_MODULES     the folder of node-redis, if not that of Debian's packages
    WEIR_CLIENT_GO        the folder of the module of Go's program, if not go/
    CARGO_TARGET_DIR      where the programs for the Rust client are built, if not in build/
    WEIR_CPP_PROGRAM      path of the program that is built from programs/program.cc
"""

import os
import shutil
import subprocess
from pathlib import Path

import npm
from weir_e2e import client_environment

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
NODE_MODULES = Path(os.environ.get("WEIR_NODE_MODULES", "/usr/share/nodejs"))
# A module with a program and tests.
GO = Path(os.environ.get("WEIR_CLIENT_GO", Path(__file__).parent / "go"))


class Client:
    """One client: the words that start its program, and what it can be asked."""

    def __init__(self, prepare, types=(), lacks=()):
        """`lacks`: "sentinel", "callers" (it has no middleware), "53 bits" (numbers within 48 of
        2^53 are read one too high)."""
        self.prepare = prepare  # called with a directory of its own
        self.types = types  # of words besides strings: "null", "integer", "hex" ...
        self.lacks = lacks

    def can_pass(self, words):
        return all(_type(word) in (*self.types, "string") for word in words)

    def can_have(self, options, wanted):
        """Whether it can be made with these options, or refuse them."""
        is_sentinel = "sentinel" in options.get("url", "") or "sentinels" in options
        is_compiled = wanted == "type" and not self.types  # an unknown option does not compile
        return not (is_compiled or (is_sentinel and "sentinel" in self.lacks))


def _type(word):
    if isinstance(word, dict):
        return next(iter(word))
    names = {type(None): "null", bool: "boolean", int: "integer", float: "fraction", list: "list"}
    return names.get(type(word), "string")


def _python(*arguments):
    python = os.environ.get("WEIR_CLIENT_PYTHON", "/usr/bin/python3")
    return lambda _directory: (python, str(PROGRAMS / "program.py"), *arguments)


def _javascript(directory):
    npm.link_modules(NODE_MODULES, directory)
    shutil.copy(PROGRAMS / "program.mjs", directory)
    return "node", f"{directory}/program.mjs"


def _go(directory):
    """Needs Go and the Go module proxy; `./dev clients` looks for them."""
    for folder in (ROOT / "clients/go", GO):
        if unformatted := _run("gofmt", "-l", str(folder)):
            raise AssertionError(f"not as gofmt lays it out: {unformatted}")
        _run("go", "vet", "./...", cwd=folder)
    _run("go", "build", "-o", f"{directory}/program", "./program", cwd=GO)
    return f"{directory}/program"


def _run(*command, **settings):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **settings).stdout


def cargo_build(folder):
    """Builds a program in a folder of its own. Returns the folder that has it then."""
    target = os.environ.get("CARGO_TARGET_DIR", ROOT / "build/clients/rust")
    command = ("cargo", "build", "--quiet", "--locked", "--target-dir", str(target))
    subprocess.run(command, cwd=folder, check=True)
    return f"{target}/debug"


def _rust(*arguments):
    def prepare(_directory):
        return (f"{cargo_build(PROGRAMS / 'rust')}/weir-client-program", *arguments)

    return prepare


def _cpp(_directory):
    return os.environ["WEIR_CPP_PROGRAM"]


_PYTHON_TYPES = ("null", "boolean", "integer", "fraction", "list", "hex", "nan", "object")

CLIENTS = {
    "cpp": Client(_cpp, lacks=("callers",)),
    "python": Client(_python(), _PYTHON_TYPES),
    "python-asyncio": Client(_python("asyncio"), _PYTHON_TYPES),
    "javascript": Client(_javascript, (*_PYTHON_TYPES, "undefined"), lacks=("53 bits",)),
    "go": Client(_go),
    "rust": Client(_rust()),
    "rust-tokio": Client(_rust("tokio")),
}


def start(command, directory):
    """Starts a prepared program."""
    environment = {
        **client_environment(directory),
        "PYTHONPATH": str(ROOT / "clients/python"),
        "NODE_PATH": str(NODE_MODULES),  # where Debian's node-redis finds its parts
    }
    return subprocess.Popen(
        command,
        cwd=directory,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
