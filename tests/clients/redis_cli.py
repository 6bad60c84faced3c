"""Drives the server with redis-cli, in the mode that the argument names.

The modes are arguments, interactive, resp3, pipe and stat.
"""

import os
import re
import subprocess
import sys

from steps import (
    ADMIN_PASSWORD,
    ADMIN_USER,
    DEADLINE,
    LOSSY_PORT,
    PASSWORD,
    PORT,
    USER,
    check,
    printed_by,
    run,
)
from terminal import Terminal
from weir_e2e import encode

LOGIN = ["--user", USER] if USER else []
if PASSWORD:
    os.environ["REDISCLI_AUTH"] = PASSWORD
ADMIN_LOGIN = ["--user", ADMIN_USER, "--pass", ADMIN_PASSWORD] if ADMIN_USER else []

IN_A_SHELL = """
# [docs]
# $login is empty, or `--user NAME` with the password in the environment's REDISCLI_AUTH.
redis-cli -p "$port" $login RL.ALLOW user:42 10/s 1000/h
# [/docs]
"""

NUMBERS = "1\n9\n0\n3600\n0\n"  # an answer as printed into a pipe
DENIAL = "RL.PEEK limits 10/s COST 11 WITHLIMITS".split()
DENIED = """\
1) (integer) 0
2) (integer) 10
3) (integer) -1
4) (integer) 0
5) (integer) 0
6) 1) """


def redis_cli(*words, port=PORT, stdin=None, status=0, login=tuple(LOGIN)):
    command = ("redis-cli", "-p", str(port), *login, *words)
    return printed_by(*command, stdin=stdin, status=status)


class Arguments:
    """The arguments are a command; each command has a process and a connection of its own."""

    def connect(self):
        check(redis_cli("-n", "0", "-r", "3", "PING"), "PONG\n" * 3)
        sampled = redis_cli("--raw", "--latency", "-i", "0.1")
        check(bool(re.fullmatch(r"\d+ \d+ [\d.]+ \d+\n", sampled)), True)

    def allow(self):
        environment = {**os.environ, "port": str(PORT), "login": " ".join(LOGIN)}
        printed = subprocess.check_output(
            ["sh", "-c", IN_A_SHELL], env=environment, text=True, timeout=DEADLINE
        )
        check(printed, NUMBERS)
        check(redis_cli("--csv", "RL.PEEK", "csv", "10/s"), "1,9,0,100,0\n")

    def error(self):
        printed = redis_cli("-e", "RL.ALLOW", "error", "10/x", status=1)
        check(printed.startswith("ERR invalid limit '10/x'"), True)

    def once(self):
        redis_cli("RL.ALLOW", "lost", "10/h", port=LOSSY_PORT, status=1)
        check(redis_cli("RL.ALLOW", "lost", "10/h").split()[1], "8")

    def limits(self):
        values = ['"10/s"', *(f"(integer) {number}" for number in (0, 10, 10, -1, 0, 0, 11, 0))]
        rows = "\n      ".join(f"{i}) {value}" for i, value in enumerate(values, 1))
        check(redis_cli("--no-raw", *DENIAL), f"{DENIED}{rows}\n")

    def bytes(self):
        for left in ("2", "1"):
            for key in ("", "a", r"a\x00b\r\n\xff"):
                printed = redis_cli("--quoted-input", "RL.ALLOW", f'"{key}"', "3/w")
                check(printed.split()[1], left)


class Interactive:
    """Commands are typed at its prompt."""

    def __init__(self):
        command = ["redis-cli", "-p", str(PORT), *LOGIN]
        self._terminal = Terminal(command, os.environ, os.getcwd())
        self._prompt = f"127\\.0\\.0\\.1:{PORT}> "

    def connect(self):
        self._terminal.shows(self._prompt)
        self._type("PING", r"\nPONG\r\n")

    def allow(self):
        self._type("RL.ALLOW user:42 10/s 1000/h", r"\n2\) \(integer\) 9\r\n")

    def transaction(self):
        prompt = f"127\\.0\\.0\\.1:{PORT}\\(TX\\)> "
        self._type("MULTI", r"\nOK\r\n", prompt)
        self._type("RL.ALLOW transaction 10/h", r"\nQUEUED\r\n", prompt)
        self._type("RL.ALLOW transaction 10/h", r"\nQUEUED\r\n", prompt)
        self._type("EXEC", r"(?s)\n1\) 1\).* 2\) \(integer\) 9.*\n2\) 1\).* 2\) \(integer\) 8\r\n")

    def error(self):
        self._type("RL.ALLOW error 10/x", r"\n\(error\) ERR invalid limit '10/x'")
        self._type("PING", r"\nPONG\r\n")

    def reconnect(self):
        redis_cli("CLIENT", "KILL", "TYPE", "normal", login=ADMIN_LOGIN)
        closed = "Error: (Server closed the connection|Connection reset by peer)"
        self._type("PING", closed, "not connected> ")
        self._type("RL.ALLOW reconnect 10/h", r"\n2\) \(integer\) 9\r\n")

    def tools(self):
        """redis-cli knows weir's commands from COMMAND DOCS: a hint behind the cursor, and HELP."""
        self._terminal.type("RL.ALLOW ")
        self._terminal.shows(re.escape("RL.ALLOW key limit [limit ...] [COST cost] [AND "))
        self._terminal.type("tools ")
        self._terminal.shows(re.escape("RL.ALLOW tools limit [limit ...] [COST cost] [AND "))
        self._type("10/s", r"\n2\) \(integer\) 9\r\n")
        self._type("help RL.ALLOW", r"\n +RL\.ALLOW key limit .*\r\n +summary: .*tokens.*\r\n")

    def _type(self, line, answer, prompt=None):
        self._terminal.type(line + "\r")
        self._terminal.shows(answer)
        self._terminal.shows(prompt or self._prompt)


class Resp3:
    """Speaks RESP3, and reads commands from its input."""

    def connect(self):
        check("proto 3\n" in redis_cli("-3", "HELLO"), True)

    def allow(self):
        check(redis_cli("-3", "RL.ALLOW", "user:42", "10/s", "1000/h"), NUMBERS)

    def transaction(self):
        commands = "MULTI\n" + 2 * "RL.ALLOW transaction 10/h\n" + "EXEC\n"
        printed = redis_cli("-3", "--json", stdin=commands)
        check(bool(re.search(r"^\[\[1,9,.*\],\[1,8,.*\]\]$", printed, re.MULTILINE)), True)

    def error(self):
        printed = redis_cli("-3", "--no-raw", stdin="RL.ALLOW error 10/x\nPING\n")
        check(printed.startswith("(error) ERR invalid limit '10/x'"), True)
        check(printed.endswith("PONG\n"), True)

    def limits(self):
        fields = "allowed limit remaining retry_after_ms reset_after_ms group cost keep"
        names = ("name " + fields).split()
        values = ['"10/s"', *(f"(integer) {number}" for number in (0, 10, 10, -1, 0, 0, 11, 0))]
        pairs = enumerate(zip(names, values), 1)
        rows = "\n      ".join(f'{i}# "{name}" => {value}' for i, (name, value) in pairs)
        check(redis_cli("-3", "--no-raw", *DENIAL), f"{DENIED}{rows}\n")


class Pipe:
    """Sends its input unchanged as requests, and counts the replies."""

    def allow(self):
        self._check("RL.ALLOW user:42 10/s 1000/h\n", errors=0, replies=1)

    def pipeline(self):
        """No request is lost or answered twice, in either form and with empty lines between."""
        array = encode("RL.ALLOW", "pipeline", "10/s").decode()
        self._check(3000 * ("RL.ALLOW pipeline 10/s\r\n\r\n" + array), errors=0, replies=6000)

    def transaction(self):
        requests = "MULTI\n" + 2 * "RL.ALLOW transaction 10/h\n" + "EXEC\n"
        self._check(requests, errors=0, replies=4)

    def error(self):
        self._check("RL.ALLOW error 10/x\nRL.ALLOW error 10/s\n", errors=1, replies=2)

    def _check(self, requests, errors, replies):
        printed = redis_cli("--pipe", stdin=requests, status=1 if errors else 0)
        check(f"errors: {errors}, replies: {replies}" in printed.splitlines(), True)


class Stat:
    """Prints a row of INFO's numbers after each interval."""

    def connect(self):
        command = ["redis-cli", "-p", str(PORT), *LOGIN, "--stat", "-i", "0.01"]
        terminal = Terminal(command, os.environ, os.getcwd())
        terminal.shows(r"keys +mem +clients +blocked +requests +connections")
        terminal.shows(r"(\d+ +[\d.]+[BKMG] +\d+ +0 +\d+ \(\+\d+\) +\d+ +\r\n){3}")
        terminal.close()


MODES = {mode.__name__.lower(): mode for mode in (Arguments, Interactive, Resp3, Pipe, Stat)}

if __name__ == "__main__":
    taken = MODES[sys.argv[1]]()
    names = [name for name in vars(type(taken)) if not name.startswith("_")]
    run(redis_cli("--version").split()[1], *(getattr(taken, name) for name in names))
