"""Programs of Debian packages that are unpacked for a test, and not installed."""

import fcntl
import glob
import os
import subprocess
import sys
import unittest


def unpacked(package, program, *libraries):
    """The path of a program of a package, which is downloaded the first time.

    The packages of its shared libraries that may not be installed are unpacked beside it: run it
    with library_environment(). The folder is that of the environment variable WEIR_UNPACKED, below
    build/, which all tests share. Skips the test if a package cannot be had.
    """
    folder = os.path.join(os.environ["WEIR_UNPACKED"], package)
    path = os.path.join(folder, program)
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            for each in (*libraries, package):  # the program last, since it tells that all is there
                _unpack(each, folder)
    return path


def library_environment(package):
    """The variables by which a program of an unpacked package finds the libraries beside it."""
    folder = os.path.join(os.environ["WEIR_UNPACKED"], package, "usr", "lib")
    return {"LD_LIBRARY_PATH": ":".join(glob.glob(os.path.join(folder, "*-linux-gnu*")))}


def _unpack(package, folder):
    # apt-get would give up its rights, and then could not write here.
    download = ["apt-get", "-o", "APT::Sandbox::User=root", "download", package]
    try:
        subprocess.run(download, cwd=folder, check=True, timeout=60, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or b""
        reason = f"cannot download {package}: {error} {output.decode(errors='replace')}"
        print(reason, file=sys.stderr)
        raise unittest.SkipTest(reason) from error
    (archive,) = (name for name in os.listdir(folder) if name.endswith(".deb"))
    subprocess.run(["dpkg", "-x", archive, "."], cwd=folder, check=True)
    os.remove(os.path.join(folder, archive))
