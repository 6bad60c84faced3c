"""The proof of the packages: all that an operator does with them, in a bare Debian 12.

    run.py PACKAGES PREVIOUS WORK

PACKAGES: the folder of the .deb files; PREVIOUS: the weir-server of version 0.1.0, of which there
is no package; WORK: the folder for the systems and for all that is downloaded. Prints a line for
each step, with its seconds and what it measured. `./dev package-test` runs it, as root.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import page
from bare_system import DEADLINE, BareSystem, make_base
from container import Containers
from load import Load
from other_host import OtherHost
from weir_e2e import Client

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
PORT = 7379
EXPOSURE_MAX = 1.5
# Tests that start the server and nothing that a filter of its own would forbid.
FILTERED_TESTS = ("access", "backup/backup", "backup/backup_crash", "calendar", "check", "config",
                  "crash", "every_limit_command", "full_disk", "holds/hold_crash", "hostile",
                  "http", "http_json", "inline", "metrics", "monitor", "persistence", "policy",
                  "access/passwords", "access/secrets", "shutdown", "tls", "transaction",
                  "unix_socket", "wait")
LOADED = 1000  # answers to each client before and after a change
# Packages that docs/operations.md uses, besides weir.
READERS_PACKAGES = ("curl", "faketime", "iproute2", "nginx", "openssl", "redis-tools")
# Folders that are not compared: the kernel's, and those where apt and systemd note their work.
NOT_COMPARED = ("/dev", "/proc", "/root", "/run", "/sys", "/tmp", "/var/cache", "/var/lib/apt",
                "/var/lib/dpkg", "/var/lib/systemd", "/var/log", "/var/tmp")
# The service of 0.1.0, as its docs/security.md had it.
PREVIOUS_UNIT = """[Service]
User=weir
UMask=0077
ExecStart=/usr/local/bin/weir-server --config /etc/weir.toml
ExecReload=/bin/kill -HUP $MAINPID
StateDirectory=weir
RuntimeDirectory=weir
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
PrivateDevices=true
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
MemoryDenyWriteExecute=true
LimitNOFILE=16384
LimitMEMLOCK=1M
"""


def step(name, action):
    begin = time.monotonic()
    measured = action()
    print(f"ok {time.monotonic() - begin:6.1f} s  {name}{': ' if measured else ''}{measured or ''}",
          flush=True)


class Proof:
    def __init__(self, packages, previous, work):
        (self.package,) = packages.glob("weir_*.deb")
        self.previous = previous
        self.work = work
        self.containers = Containers(work / "containers")
        self.systems = {name: BareSystem(work / name) for name in ("installed", "page")}
        self.system = self.systems["installed"]

    # --- With the network ---

    def prepare(self):
        step("make a bare Debian", lambda: make_base(self.work / "base.tar"))
        step("download what is installed in it", self.download)
        step("build the image of the container", lambda: self.containers.build(
            self.work / "base.tar"))

    def download(self):
        subprocess.run(["dpkg", "--extract", self.package, self.work / "unpacked"], check=True)
        for system in self.systems.values():
            system.unpack(self.work / "base.tar")
            system.copy_in(self.package, "/root")
            system.download(
                self.work / "archives", f"/root/{self.package.name}", *READERS_PACKAGES)

    # --- Without one ---

    def prove(self):
        try:
            step("boot the bare Debian", self.system.boot)
            step("install", self.install)
            step("verify the unit and the rights of the process", self.verify)
            step("remove and purge", self.remove_and_purge)
            step("upgrade from 0.1.0 and again, under load", self.upgrade)
            step("go back to 0.1.0, under load", self.go_back)
            step("kill 0.1.0 under load and upgrade", self.kill_and_upgrade)
            step("compare the files after all that", self.compare_files)
            self.system.shut_down()
            step("read the compose files", self.read_compose_files)
            step("run the container", self.run_container)
            step("reach the container from another host", self.reach_container)
            for name in FILTERED_TESTS:
                step(f"{name}_test under the unit's filter", lambda name=name: self.filter(name))
            self.system = self.systems["page"]
            step("boot another bare Debian", self.system.boot)
            step("follow docs/operations.md", self.follow_page)
        finally:
            self.system.shut_down()

    def apt(self, words):
        self.system.run(f"apt-get --quiet --yes {words}")

    def install_package(self):
        self.apt(f"install --reinstall /root/{self.package.name}")

    def ask_info(self, field):
        with Client(PORT) as client:
            return re.search(rf"^{field}:(\S+)", client.call("INFO").decode(), re.MULTILINE)[1]

    def await_server(self, version):
        """Waits until the server decides; it must have this version."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            try:
                with Client(PORT) as client:
                    if client.call("RL.PEEK", "ready", "1/s")[0] == 1:
                        break
            except (OSError, EOFError):
                pass
        if self.ask_info("weir_version") != version:
            raise AssertionError(f"the server is not {version}")

    def install(self):
        self.bare = self.system.files(*NOT_COMPARED)
        self.apt(f"install /root/{self.package.name}")
        self.version = self.system.run("weir-server --version").split()[1]
        self.await_server(self.version)
        pid = self.ask_info("process_id")
        user = self.system.run("ps -o user= -C weir-server").strip()
        if user != "weir":
            raise AssertionError(f"process {pid} runs as {user}")
        with Client(PORT) as client:
            reply = client.call("RL.ALLOW", "user:42", "10/s", "1000/h")
        if reply[:2] != [1, 9]:
            raise AssertionError(f"answered {reply}")
        return f"version {self.version}, as the user {user}"

    def verify(self):
        self.system.run("systemd-analyze verify --man=no weir.service")
        report = self.system.run("systemd-analyze security --no-pager weir.service")
        exposure = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", report)[1])
        if exposure > EXPOSURE_MAX:
            raise AssertionError(report)
        status = self.system.run("cat /proc/$(systemctl show -p MainPID --value weir)/status")
        for line in ("Seccomp:\t2", "NoNewPrivs:\t1", "CapBnd:\t0000000000000000"):
            if line not in status:
                raise AssertionError(f"no {line!r} in\n{status}")
        return f"exposure {exposure}"

    def remove_and_purge(self):
        """Removing keeps state and configuration, purging neither."""
        self.apt("remove weir")
        self.system.run("test -e /var/lib/weir/CURRENT && test -e /etc/weir/weir.toml")
        self.apt("purge weir")
        self.system.run("test ! -e /var/lib/weir && test ! -e /etc/weir")

    def start_previous(self):
        """An installation of 0.1.0 by hand, whose service is in the place of the package's."""
        self.system.copy_in(self.previous, "/usr/local/bin")
        self.system.write("/etc/weir.toml", 'data-dir = "/var/lib/weir"\n')
        self.system.write("/etc/systemd/system/weir.service", PREVIOUS_UNIT)
        self.system.run("systemctl daemon-reload && systemctl restart weir")
        self.await_server("0.1.0")

    def end_previous(self):
        """The package's service in the place of that of 0.1.0."""
        self.system.run("rm /etc/systemd/system/weir.service && systemctl daemon-reload")
        self.system.run("systemctl restart weir")
        self.await_server(self.version)

    def under_load(self, change):
        """Changes the server under load; returns the load, which has ended."""
        load = Load(PORT, change.__name__)
        try:
            load.await_answers(LOADED, DEADLINE)
            change()
            load.await_answers(LOADED, DEADLINE)
        finally:
            load.stop()
        return load

    def measured(self, load):
        pause = load.longest_pause()
        return f"{load.answered()} admissions, none lost, at most {pause:.2f} s apart"

    def upgrade(self):
        def first():
            self.install_package()
            self.end_previous()

        self.start_previous()
        before = self.under_load(first)
        after = self.under_load(self.install_package)
        before.check()
        after.check()
        return f"{self.measured(before)}; then {self.measured(after)}"

    def go_back(self):
        """A version reads the state of a later one whose format has the same number."""
        load = self.under_load(self.start_previous)
        load.check()
        return self.measured(load)

    def kill_and_upgrade(self):
        saved_until, killed = 0.0, 0.0

        def kill():
            nonlocal saved_until, killed
            for _ in range(100):
                asked = time.monotonic()
                age_seconds = int(self.ask_info("last_save_age_ms")) / 1000
                saved_until = max(saved_until, asked - age_seconds)
            self.system.run("systemctl kill --signal=SIGKILL weir")
            killed = time.monotonic()
            self.end_previous()

        load = self.under_load(kill)
        load.check(lost_between=(saved_until, killed))
        unsaved = killed - saved_until
        return f"{load.answered()} admissions; only those of the last {unsaved:.2f} s may be lost"

    def compare_files(self):
        self.apt("purge weir")
        self.apt("autoremove --purge")
        self.system.run("rm /usr/local/bin/weir-server /etc/weir.toml")
        left = self.system.files(*NOT_COMPARED)
        changed = [path for path in self.bare.keys() | left.keys()
                   if self.bare.get(path) != left.get(path)]
        if changed:
            raise AssertionError("\n".join(
                f"{path}: {self.bare.get(path)}, now {left.get(path)}" for path in sorted(changed)))
        return f"{len(left)} as before"

    def run_container(self):
        container, config = self.containers.create()
        health = config["Healthcheck"]["Test"][1:]
        with open(self.work / "container.log", "w", encoding="utf-8") as log:
            words = config["Entrypoint"] + config["Cmd"]
            process = self.containers.start(container, words, log)
            self.await_server(self.version)
            self.containers.run(container, health)
            user = int(os.stat(f"/proc/{self.ask_info('process_id')}").st_uid)
            if str(user) != config["User"].split(":")[0]:
                raise AssertionError(f"the container runs as {user}")
            os.kill(int(self.ask_info("process_id")), signal.Signals[config["StopSignal"]])
            if process.wait(DEADLINE) != 0:
                raise AssertionError(f"status {process.returncode}: {log.name}")
        self.containers.remove(container)
        return f"as the user {user}, healthy"

    def read_compose_files(self):
        files = sorted((ROOT / "contrib/compose").glob("*.yaml"))
        for file in files:
            options = (f"--file={file}", "--profile=proxy")
            subprocess.run(["docker-compose", *options, "config", "--quiet"], check=True)
        return ", ".join(file.name for file in files)

    def reach_container(self):
        """As README says, but for docker: the variable is the password, for other hosts, too."""
        (password,) = re.findall(r"-e WEIR_REQUIREPASS=(\S+) weir$", README.read_text(), re.M)
        denied = self.answers_of_container((), ("PING",))
        if "-DENIED" not in denied[0] or "WEIR_REQUIREPASS" not in denied[0]:
            raise AssertionError(denied)
        variable = f"WEIR_REQUIREPASS={password}"
        wrong, right = self.answers_of_container((variable,), ("AUTH wrong",),
                                                 (f"AUTH {password}", "RL.PEEK k 10/s"))
        if "-WRONGPASS" not in wrong or not right.startswith("+OK *5 :1 :9 "):
            raise AssertionError((wrong, right))
        return "refused without a password, with a wrong one, and answered with the right one"

    def answers_of_container(self, variables, *questions):
        """Returns the replies that another host gets to each question, a line for each."""
        container, config = self.containers.create()
        words = config["Entrypoint"] + config["Cmd"]
        with open(self.work / "reached.log", "w", encoding="utf-8") as log, OtherHost() as other:
            process = self.containers.start(container, words, log, variables)
            end = time.monotonic() + DEADLINE
            while not other.ask(PORT, "PING") and time.monotonic() < end:
                pass
            answers = [" ".join(other.ask(PORT, *question)) for question in questions]
            with Client(PORT) as client:
                for variable in variables:
                    client.call("AUTH", variable.partition("=")[2])
                info = client.call("INFO", "server").decode()
            server = int(re.search(r"^process_id:(\d+)", info, re.MULTILINE)[1])
            shown = Path(f"/proc/{server}/environ").read_bytes()
            if any(variable.encode() in shown for variable in variables):
                raise AssertionError("the password is in /proc/PID/environ")
            os.kill(server, signal.SIGTERM)
            if process.wait(DEADLINE) != 0:
                raise AssertionError(f"status {process.returncode}: {log.name}")
        self.containers.remove(container)
        return answers

    def filter(self, name):
        """Runs an end-to-end test, with a server that a call beyond the unit's filter kills."""
        environment = {
            **os.environ,
            "WEIR_SERVER": str(ROOT / "tests/package/filtered.py"),
            "WEIR_FILTERED_SERVER": str(self.work / "unpacked/usr/bin/weir-server"),
            "WEIR_TEST_SCALE": "0.1",
            "WEIR_UNPACKED": str(ROOT / "build/unpacked"),
        }
        done = subprocess.run(
            [sys.executable, ROOT / f"tests/e2e/{name}_test.py"], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return re.search(r"^Ran (\d+ tests?) ", done.stdout, re.MULTILINE)[1]

    def follow_page(self):
        return f"{page.follow(ROOT / 'docs/operations.md', self.system.ask)} commands"


def main():
    packages, previous, work = (Path(word).resolve() for word in sys.argv[1:4])
    proof = Proof(packages, previous, work)
    if os.environ.get("WEIR_PROOF") != "prepared":
        work.mkdir(parents=True, exist_ok=True)
        proof.prepare()
        # The systems share the network of this process, so it gets one of its own.
        environment = {**os.environ, "WEIR_PROOF": "prepared"}
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], environment)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    proof.prove()


if __name__ == "__main__":
    main()
