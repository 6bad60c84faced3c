"""Runs the real server with real clients: its process, redis-cli, raw sockets that read RESP.

Every test starts a server of its own, on a free port and in a temporary directory of its own. No
test sleeps: it waits, with a deadline, for an event, such as a line of the log, a reply, or the end
of a stream or process. Where it has to ask for one again and again, it leaves the processors in
between to what it waits for (let_others_run). When the test ends, SIGTERM must end the server, with
status 0 and without a sanitizer's report.

Environment:
    WEIR_SERVER      path of the server's binary
    WEIR_SANITIZE    the sanitizers that it is built with, if any
    WEIR_TEST_SCALE  multiplies the length of long tests, as everywhere
"""

import contextlib
import os
import random
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

DEADLINE = 60.0  # seconds for any one thing to happen; sanitizers and busy machines are slow
POLL_SECONDS = 0.002  # between two questions for something that a test waits for
MEGABYTE = 1 << 20
SKIPPED = 77  # the exit status that ctest takes for a test that was not run
NEVER = "3285d"  # a period so long that nothing refills while a test runs

_SANITIZER_REPORT = re.compile(r"(ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|runtime error: ).*")


def scaled(full):
    """`full` times WEIR_TEST_SCALE, at least 1."""
    return max(1, int(full * float(os.environ.get("WEIR_TEST_SCALE", "1"))))


def sanitized():
    """Whether the server keeps freed memory and shadows what it has, so that RSS says less."""
    return bool(os.environ.get("WEIR_SANITIZE"))


_never_set = threading.Event()


def let_others_run():
    """Waits a moment, so that the processors are free for what the caller waits for."""
    _never_set.wait(POLL_SECONDS)


PORTS_OF_A_LOCK = 100
_port_locks = []  # abstract sockets, held until this process ends
_locked_ports = []  # that were not given out yet


def _lock_ports(end):
    first = random.SystemRandom().randrange(10_000, end, PORTS_OF_A_LOCK)
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0weir-test-ports-{first}")
    except OSError:  # another test has them
        lock.close()
        return
    _port_locks.append(lock)
    _locked_ports.extend(range(first, first + PORTS_OF_A_LOCK))


def free_port():
    """A port that no other test takes while this process runs, nor the kernel for a connection.

    It is below those that the kernel gives out: such a port would be that of another test's server
    as soon as this one's is dead, and the clients that still ask it would ask that one. A lock is
    on many ports, as some tests ask for hundreds.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        end = max(int(file.read().split()[0]), 20_000)
    while True:
        try:
            port = _locked_ports.pop()  # atomic
        except IndexError:
            _lock_ports(end - PORTS_OF_A_LOCK + 1)
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port


def client_environment(directory):
    """An environment without the user's settings, in which programs write only to the directory."""
    others = {name: os.environ[name] for name in os.environ if not name.startswith("REDISCLI_")}
    return {**others, "HOME": directory, "LC_ALL": "C", "TERM": "xterm"}


def last_of_each(words):
    """The words of a command line without the options that later ones replace: a test's own words
    come behind those of its helpers, and the server takes no option twice."""
    options, name = {}, ""
    for word in words:
        if word.startswith("--"):
            name = word.partition("=")[0]
            options.pop(name, None)
        options.setdefault(name, []).append(word)
    return [word for option in options.values() for word in option]


def run_all(*jobs):
    """Runs each function in its own thread; raises the first error of any."""
    errors = []

    def guarded(job):
        try:
            job()
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Server:
    """The server's process. Its log is read all the time, so the server never blocks on it."""

    def __init__(self, directory, options, descriptors_max=None, environment=None, starter=(),
                 program=None):
        """`starter`: the words of a program that executes the one named after them. `program`: one
        that becomes the server."""

        def limit_descriptors():
            limit = (descriptors_max, descriptors_max)
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)

        self.process = subprocess.Popen(
            [*starter, program or os.environ["WEIR_SERVER"], *last_of_each(options)],
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=limit_descriptors if descriptors_max else None,
        )
        self.directory = directory
        self._log = []
        self._log_ended = False
        self._log_changed = threading.Condition()
        self._log_reader = threading.Thread(target=self._read_log, daemon=True)
        self._log_reader.start()

    def _read_log(self):
        with self.process.stderr as lines:
            for line in lines:
                with self._log_changed:
                    self._log.append(line.decode(errors="backslashreplace"))
                    self._log_changed.notify_all()
        with self._log_changed:
            self._log_ended = True
            self._log_changed.notify_all()

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        """The port of the server. Waits until the server listens."""
        return int(self.wait_for_log(r"listening on 127\.0\.0\.1:(\d+)").group(1))

    def log(self):
        with self._log_changed:
            return "".join(self._log)

    def wait_for_log(self, pattern):
        """The first match of `pattern` in the log."""

        def match():
            return re.search(pattern, "".join(self._log))

        with self._log_changed:
            self._log_changed.wait_for(lambda: match() or self._log_ended, DEADLINE)
            found = match()
            if not found:
                raise AssertionError(f"no {pattern!r} in the log:\n{''.join(self._log)}")
            return found

    def wait(self):
        """Waits for the end; returns the exit status."""
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.kill()  # if it still runs

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        return self.wait()

    def pause(self):
        """Stops the server with SIGSTOP, and returns when it is stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._log_reader.join(DEADLINE)

    def rss_bytes(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()  # from the third on
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def unread_bytes(self, client):
        """The bytes of this server's replies to `client` that the kernel holds."""
        own, peer = (f":{port:04X}" for port in (self.port, client.socket.getsockname()[1]))
        with open("/proc/net/tcp", encoding="ascii") as sockets:
            rows = [line.split() for line in sockets]
        (unread,) = (row[4] for row in rows if row[1].endswith(own) and row[2].endswith(peer))
        return int(unread.partition(":")[0], 16)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class Status(str):
    """A simple string, `+OK`."""


class Error(str):
    """An error, `-ERR ...`: a reply like any other."""


class Verbatim(bytes):
    """A text of RESP3, `=15 txt:...`."""


def encode(*words):
    """A request as an array of bulk strings."""
    request = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        request.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(request)


class Client:
    """A raw connection: sends any bytes, reads replies of RESP2 and RESP3, or bytes to the end."""

    def __init__(self, port, receive_buffer_bytes=None):
        self.socket = socket.socket()
        if receive_buffer_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(DEADLINE)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self._unread = bytearray()
        self._begin = 0  # of what is unread, in _unread

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection as a crash of the client's machine does: with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def send(self, data):
        self.socket.sendall(data)

    def call(self, *words):
        self.send(encode(*words))
        return self.reply()

    def reply(self):
        """The next reply. An end of the stream before its end is an EOFError."""
        line = self._line()
        kind, text = line[:1], line[1:]
        if kind in b"+-":
            return (Status if kind == b"+" else Error)(text.decode(errors="backslashreplace"))
        if kind == b":":
            return int(text)
        if kind == b"_" or text == b"-1":
            return None
        if kind in b"$=":
            bulk = self._take(int(text) + 2)[:-2]
            return bulk if kind == b"$" else Verbatim(bulk.partition(b":")[2])
        if kind in b"*~>":
            return [self.reply() for _ in range(int(text))]
        if kind == b"%":
            return {self.reply(): self.reply() for _ in range(int(text))}
        if kind == b"#":
            return text == b"t"
        raise AssertionError(f"not a reply: {line!r}")

    def rest(self):
        """The bytes until the server closes; a reset counts as an end, too."""
        try:
            while self._receive():
                pass
        except ConnectionResetError:
            pass
        return bytes(self._unread[self._begin :])

    def _line(self):
        searched = self._begin
        while (end := self._unread.find(b"\r\n", searched)) < 0:
            searched = max(self._begin, len(self._unread) - 1)
            before = self._begin
            self._receive_more()
            searched -= before - self._begin
        line = bytes(self._unread[self._begin : end])
        self._begin = end + 2
        return line

    def _take(self, count):
        while len(self._unread) - self._begin < count:
            self._receive_more()
        self._begin += count
        return bytes(self._unread[self._begin - count : self._begin])

    def _receive(self):
        received = self.socket.recv(1 << 16)
        if self._begin > 1 << 20:
            del self._unread[: self._begin]
            self._begin = 0
        self._unread += received
        return received

    def _receive_more(self):
        if not self._receive():
            raise EOFError("closed by the server")


class ServerTest(unittest.TestCase):
    """A test that starts servers."""

    longMessage = True
    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_e2e_")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def launch(self, *options, **settings):
        """Starts a server, by default on a port that the system chooses; the test must wait for
        its end.
        """
        names = [str(option).split("=")[0] for option in options]
        port = () if {"--port", "--config"} & set(names) else ("--port", "0")
        server = Server(self.directory, (*port, *options), **settings)
        self.addCleanup(self._check_report, server)
        self.addCleanup(server.kill)
        return server

    def start(self, *options, **settings):
        """Starts a server that listens; it must end cleanly when the test ends."""
        server = self.launch("--port", str(free_port()), *options, **settings)
        server.port  # waits until it listens
        self.addCleanup(self._check_end, server)
        return server

    def refused(self, *options, status=1, **settings):
        """The only line of a server that refuses to start, but for options without effect."""
        server = self.launch(*options, **settings)
        self.assertEqual(server.wait(), status)
        others = (" info ", " has no effect here: ")
        lines = [line for line in server.log().splitlines()
                 if not any(other in line for other in others)]
        self.assertEqual(len(lines), 1, server.log())
        self.assertTrue(lines[0].startswith("weir-server: "), lines[0])
        return lines[0]

    def write(self, name, text):
        """Writes a file in the test's directory; returns its path."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def connect(self, server, **settings):
        client = Client(server.port, **settings)
        self.addCleanup(client.close)
        return client

    def info(self, client):
        """The fields of INFO that are numbers."""
        lines = client.call("INFO").decode().split("\r\n")
        return {
            name: int(value)
            for name, _, value in (line.partition(":") for line in lines)
            if re.fullmatch(r"-?\d+", value)
        }

    def await_equal(self, probe, wanted):
        """Polls until `probe()` is `wanted`."""
        end = time.monotonic() + DEADLINE
        while (seen := probe()) != wanted:
            self.assertLess(time.monotonic(), end, f"still {seen!r}, not {wanted!r}")
            let_others_run()

    def run_client(self, *command, stdin=b"", status=0):
        """Runs a client program to its end; returns its output: (stdout, stderr)."""
        done = subprocess.run(
            command,
            cwd=self.directory,
            env=client_environment(self.directory),
            input=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=4 * DEADLINE,
            check=False,
        )
        stdout, stderr = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{command}\n{stdout}\n{stderr}")
        return stdout, stderr

    def ping_server(self, *words, status=0):
        """What `weir-server --ping` writes to the standard error."""
        stdout, stderr = self.run_client(
            os.environ["WEIR_SERVER"], "--ping", *words, status=status
        )
        self.assertEqual(stdout, "")
        return stderr

    def redis_cli(self, server, *words, stdin=b"", status=0):
        """The output of redis-cli, formatted as on a terminal."""
        stdout, _ = self.run_client(
            "redis-cli", "-p", str(server.port), "--no-raw", *words, stdin=stdin, status=status
        )
        return stdout

    def _check_end(self, server):
        if server.process.poll() is None:
            server.stop()
        self.assertEqual(server.process.returncode, 0, f"exit status; the log:\n{server.log()}")

    def _check_report(self, server):
        report = _SANITIZER_REPORT.search(server.log())
        self.assertIsNone(report, f"a sanitizer's report; the log:\n{server.log()}")
