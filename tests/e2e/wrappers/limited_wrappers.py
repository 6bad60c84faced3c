"""Wrappers of clients/ that are files to copy, each with a program, limited_program.*, that calls
it.

A program reads a call per line and prints what its caller sees; the numbers are milliseconds.

    gate PORT open|closed DEADLINE [timer]
                                     begins again, with a clock that stands still, and heartbeats
                                     as it is moved, or by a timer; 0: the default deadline
    clock MS                         moves the clock
    beats                            the number of leases with a heartbeat
    delay MS                         moves it when it is read next, right after that
    check WORD ...                   asks once: "passes", "limited KEY MS" (-: never, or no answer),
                                     or "mistake ERROR"
    mail NAME LIMIT ...              calls a limited action whose key is mail:NAME: "to NAME"
    slice SIZE MS WORD ...           makes a slice
    spend                            spends one of its tokens
    give_back                        gives the others back
    reserve ESTIMATE MS WORD ...     reserves: "passes", or as check
    settle USED                      settles: "settled" or "not settled"
    settle_or_charge USED            the same, and charges
    cancel                           cancels
    scope leaves|fails|settles ESTIMATE MS WORD ...
                                     reserves in a scope that is left as it is, or by an error, or
                                     once the estimate is settled: "left" or "failed"
    lease MS WORD ...                leases: "passes", or as check
    lost                             "held" or "lost"
    release                          ends the lease: "freed" or "not held"
    lease_scope MS WORD ...          leases in a scope: "left"
    flood N                          asks for N keys with the limit `none`: how many passed
    crowd THREADS TIMES [WORD ...]   each thread checks, or spends, so often: how many passed

Environment:
    WEIR_LIMITED_PROGRAM    path of the program that is built from limited_program.cc
"""

import os
import shutil
import subprocess
from pathlib import Path

from weir_e2e import client_environment

FOLDER = Path(__file__).parent
CLIENTS = FOLDER.parents[2] / "clients"


def _cpp(_directory):
    return os.environ["WEIR_LIMITED_PROGRAM"]


# By name: functions that prepare a program in a directory and return the words that start it.
WRAPPERS = {"cpp": _cpp}


def _run(*command, **settings):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **settings).stdout


def start(command, directory):
    """Starts a prepared program."""
    return subprocess.Popen(
        command,
        cwd=directory,
        env=client_environment(directory),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
