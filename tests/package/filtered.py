#!/usr/bin/python3
"""Runs the server under the system call filter of the unit, as systemd sets it.

    WEIR_FILTERED_SERVER=build/dev/weir-server WEIR_SERVER=tests/package/filtered.py \\
      python3 tests/e2e/tls_test.py

It takes the server's options. A call that the filter does not have ends the server with SIGSYS;
under systemd it would fail with EPERM, which a test might not notice.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import seccomp

UNIT = Path(__file__).parents[2] / "contrib/systemd/weir.service"


def calls_of(group):
    """The names of the system calls in a group, and in the groups that it has."""
    listed = subprocess.run(
        ["systemd-analyze", "syscall-filter", group],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    names = set()
    for word in re.findall(r"^    ([@\w-]+)$", listed, re.MULTILINE):
        names |= calls_of(word) if word.startswith("@") else {word}
    return names


def allowed_calls():
    """The calls that the lines SystemCallFilter= leave, in their order."""
    allowed = calls_of("@default")
    for line in re.findall("^SystemCallFilter=(.*)$", UNIT.read_text(), re.MULTILINE):
        for word in line.lstrip("~").split():
            names = calls_of(word) if word.startswith("@") else {word}
            allowed = allowed - names if line.startswith("~") else allowed | names
    return allowed


def main():
    limit = seccomp.SyscallFilter(seccomp.KILL_PROCESS)
    for name in sorted(allowed_calls()):
        try:
            limit.add_rule(seccomp.ALLOW, name)
        except (RuntimeError, ValueError):  # a call of another architecture
            pass
    server = os.environ["WEIR_FILTERED_SERVER"]
    limit.load()
    os.execv(server, [server, *sys.argv[1:]])


if __name__ == "__main__":
    main()
