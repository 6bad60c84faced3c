"""The common part of the Python programs: the server's address, and the output of steps."""

import os
import subprocess
import sys

PORT = int(os.environ["WEIR_PORT"])
LOSSY_PORT = int(os.environ["WEIR_LOSSY_PORT"])
USER = os.environ.get("WEIR_USER")
PASSWORD = os.environ.get("WEIR_PASSWORD")
ADMIN_USER = os.environ.get("WEIR_ADMIN_USER")
ADMIN_PASSWORD = os.environ.get("WEIR_ADMIN_PASSWORD")
DEADLINE = float(os.environ["WEIR_DEADLINE"])


def check(seen, wanted):
    if seen != wanted:
        raise AssertionError(f"{seen!r}, not {wanted!r}")


def printed_by(*command, stdin=None, status=0):
    """The output of a program, errors after answers; it must end with this status."""
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    check(done.returncode, status)
    return done.stdout + done.stderr


def run(version, *steps):
    """Takes each step, where a function has the name of its step, and ends the program."""
    print("version", version)
    failed = False
    for step in steps:
        name = step.__name__.rstrip("_")
        try:
            step()
            print("ok", name)
        except Exception as error:  # pylint: disable=broad-except
            print("FAIL", name, " ".join(f"{type(error).__name__}: {error}".split()))
            failed = True
    sys.exit(failed)
