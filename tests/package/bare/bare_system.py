"""A bare Debian 12 of its own: made by mmdebstrap, booted by systemd-nspawn, with systemd as PID 1.

Its programs run as on a machine, and the services with all that their units say. It shares the
network of the process that boots it, so that process should have one of its own.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

DEADLINE = 120  # seconds for any one thing to happen
RELEASE = "bookworm"
# Beside the essential packages: systemd as PID 1, and the bus by which systemctl talks to it.
PACKAGES = ("dbus", "systemd-sysv")
# FAKETTY: redis-cli prints as on a terminal.
ENVIRONMENT = ("DEBIAN_FRONTEND=noninteractive", "FAKETTY=1", "HOME=/root", "LC_ALL=C.UTF-8",
               "TERM=dumb", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")


def make_base(archive):
    """Makes the archive of the bare system, unless it exists. Needs a mirror of Debian."""
    if archive.exists():
        return
    unfinished = archive.with_suffix(".part.tar")
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}", RELEASE,
         str(unfinished)], check=True)
    unfinished.rename(archive)


class BareSystem:
    """The system below `root`, a folder of its own."""

    def __init__(self, root):
        self.root = Path(root)
        self._machine = None  # the process of systemd-nspawn
        self._pid_1 = None

    def unpack(self, base):
        """Makes the folder again, from the archive."""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        subprocess.run(["tar", "--extract", "--file", str(base), "--directory", str(self.root)],
                       check=True)
        # A system that is thrown away needs no fsync, which would take most of the time.
        self.write("/etc/dpkg/dpkg.cfg.d/quick", "force-unsafe-io\n")

    def copy_in(self, file, folder):
        shutil.copy(file, f"{self.root}{folder}")

    def write(self, path, text):
        Path(f"{self.root}{path}").write_text(text, encoding="utf-8")

    def download(self, cache, *packages):
        """Downloads packages and those that they need, which apt then installs without a network.

        `cache` keeps them for the next system.
        """
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        cache.mkdir(parents=True, exist_ok=True)
        archives = self.root / "var/cache/apt/archives"
        shutil.copytree(cache, archives, dirs_exist_ok=True)
        # No _apt user, which may not write where the cache is copied from.
        apt = "apt-get --quiet=2 --option APT::Sandbox::User=root "
        words = " ".join(packages)
        subprocess.run(
            ["chroot", str(self.root), "env", "-i", *ENVIRONMENT, "sh", "-c",
             f"{apt} update && {apt} --yes --download-only install {words}"],
            check=True, stdout=subprocess.DEVNULL)
        for package in archives.glob("*.deb"):
            shutil.copy(package, cache)

    def boot(self):
        with open(f"{self.root}.console", "w", encoding="utf-8") as console:
            self._machine = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot",
                 f"--directory={self.root}"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        end = time.monotonic() + DEADLINE
        children = Path(f"/proc/{self._machine.pid}/task/{self._machine.pid}/children")
        while not self._is_up():
            if self._machine.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the system does not boot: see {self.root}.console")
            pids = children.read_text().split() if children.exists() else []
            self._pid_1 = pids[0] if pids else None

    def shut_down(self):
        """Ends all that runs in it, at once."""
        if self._machine:
            if self._pid_1:  # with it all processes of its namespace end
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(self._pid_1), signal.SIGKILL)
            self._machine.kill()
            self._machine.wait()
            self._machine = None
            self._pid_1 = None

    def _is_up(self):
        return self._pid_1 and self.ask("systemctl is-system-running").stdout.strip() in (
            "running", "degraded")

    def ask(self, command, seconds=300):
        """Runs a line of shell as root: its output, errors included, and its status."""
        return subprocess.run(
            ["nsenter", "--target", self._pid_1, "--mount", "--uts", "--ipc", "--net", "--pid",
             "--cgroup", "--root", "--wd", "env", "-i", *ENVIRONMENT, "timeout", str(seconds),
             "bash", "-c", f"cd /root\n{command}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False)

    def run(self, command):
        """Like ask() for a command that must succeed; returns its output."""
        done = self.ask(command)
        if done.returncode != 0:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def files(self, *without):
        """The type, mode, owner and target of all files, by path; without those below some."""
        pruned = " -o ".join(f"-path {path}" for path in without)
        listed = self.run(
            rf"find / -xdev \( {pruned} \) -prune -o -printf '%p\t%y %m %U:%G %l\n'")
        return dict(line.split("\t") for line in listed.splitlines())
