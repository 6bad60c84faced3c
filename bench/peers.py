"""Builds other limiters of crates.io, and compares them with weir and Redis in one run.

    peers.py [OPTION of compare.py ...]                       or: ./dev bench peers [OPTION ...]

throttlecrab-server is built below build/peers, which takes minutes and needs cargo, with the
versions of its own lock file. Valkey has its rows if the system has a valkey-server, as Debian 13
has. compare.py measures: one limit on each of a million keys.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path("build/peers")
THROTTLECRAB = "throttlecrab-server@0.4.40"
# Those that decide one request about one limit, and what they are compared with.
ROWS = ("redis-incr", "redis-lua", "peer-incr", "throttlecrab", "allow", "denied", "throttle")


def throttlecrab():
    program = FOLDER / "bin" / "throttlecrab-server"
    if not program.exists():
        subprocess.run(
            ["cargo", "install", "--locked", "--root", str(FOLDER), THROTTLECRAB], check=True
        )
    return program


def main():
    options = ["--throttlecrab", str(throttlecrab())]
    valkey = shutil.which("valkey-server")
    if valkey:
        options += ["--peer-server", valkey]
    rows = [row for row in ROWS if valkey or not row.startswith("peer-")]
    command = [sys.executable, str(Path(__file__).parent / "compare.py"), *rows, *options]
    os.execv(sys.executable, [*command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
