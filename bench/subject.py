"""A server that a benchmark measures: its process, the CPU and memory that it uses, and its load.

The server is pinned to the first core and its load to the second, where there are two. CPU seconds
are those of all threads of the server, from /proc/PID/stat; bytes are its resident memory, from
/proc/PID/status, without the kernel's buffers of its sockets.
"""

import argparse
import os
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

SERVER = "build/release/weir-server"
SERVER_CORE, LOAD_CORE = 0, 1
SWEEP = 15.0  # seconds in which weir's sweeper completes a lap
SWEPT_BYTES = 1_000_000  # growth below this is not waited for
LAST_BYTES = 4096  # of the log of a server that has ended, shown where its load fails
KEYS = 1_000_000  # default number of values of __rand_int__ in a request, each of 12 digits


class Load(NamedTuple):
    """The figures of redis-benchmark, and the CPU that the load cost the server."""

    rate: float  # requests a second
    p50_ms: float
    p99_ms: float
    p999_ms: float
    cpu_seconds: float  # for a million requests


def median(loads):
    """The median of each figure."""
    return Load(*(statistics.median(column) for column in zip(*loads)))


def read_report(report):
    """Reads rate, p50, p99 and p99.9 from the output of redis-benchmark about one command."""
    rate = re.search(r"throughput summary: ([\d.]+) requests per second", report).group(1)
    titles, figures = re.search(r"^ +(avg .*)\n(.*)", report, re.MULTILINE).groups()
    latencies = dict(zip(titles.split(), figures.split()))
    # Its percentiles are 50, 75, 87.5 and so on; the first past 99.9 is 99.902.
    percentiles = re.findall(r"^([\d.]+)% <= ([\d.]+) milliseconds", report, re.MULTILINE)
    p999 = next(milliseconds for percent, milliseconds in percentiles if float(percent) >= 99.9)
    return float(rate), float(latencies["p50"]), float(latencies["p99"]), float(p999)


def weir(*options, server=SERVER):
    """The command of a weir on port {port}, with one I/O thread."""
    threads = () if "--threads" in options else ("--threads", "1")
    return [os.path.abspath(server), "--port", "{port}", *threads, *options]


def redis(*options, server="redis-server"):
    """The command of a Redis, or of a server with its options, that keeps nothing on disk."""
    return [server, "--port", "{port}", "--save", "", *options]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def pinned(core, command, yields=False):
    """The command on a core. `yields`: what else has the core comes first."""
    nice = ["nice", "-n", "19"] if yields else []
    return [*nice, "taskset", "-c", str(core), *command] if os.cpu_count() > 1 else command


def become_load():
    """Moves this process to the core of the load, and lets it open as many sockets as it may."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if os.cpu_count() > 1:
        os.sched_setaffinity(0, {LOAD_CORE})


def measure_sections(usage, sections):
    """Runs the sections that the command line names, or all, with the server that it names."""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument(
        "sections", nargs="*", choices=[*sections, "all"], default="all", metavar="SECTION"
    )
    parser.add_argument("--server", default=SERVER)
    asked = parser.parse_args()
    for name, measure in sections.items():
        if name in asked.sections or "all" in asked.sections:
            measure(asked.server)


class Subject:
    """A server's process on a free port, in a directory of its own, until the end of a `with`.

    `ready` is a request, and the beginnings of the answers to it that tell that the server serves.
    `files` are written into the directory: their names and texts, in which {port} is the port.
    `core` is the core that it has.
    """

    def __init__(
        self,
        command,
        ready=(b"DBSIZE\r\n", (b":", b"-NOAUTH")),
        files=None,
        core=SERVER_CORE,
    ):
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="weir_bench_")
        for name, text in (files or {}).items():
            with open(os.path.join(self.directory, name), "w", encoding="ascii") as file:
                file.write(text.replace("{port}", str(self.port)))
        self.errors = tempfile.TemporaryFile()  # the process's standard error
        self.process = subprocess.Popen(
            pinned(core, [word.format(port=self.port) for word in command]),
            cwd=self.directory,
            stdout=subprocess.DEVNULL,
            stderr=self.errors,
        )
        # Waits until it listens and has loaded its state.
        request, answers = ready
        while not self.answer(request).startswith(answers):
            if self.process.poll() is not None:
                raise SystemExit(f"{command[0]} has ended before it listened\n{self.last_words()}")
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        if error:  # such as that of a load generator, whose server may have died
            print(self.last_words(), file=sys.stderr)
        self.process.terminate()
        self.resume()
        self.process.wait()
        shutil.rmtree(self.directory)

    def last_words(self):
        """Whether the process lives, or its exit status, and the end of its standard error."""
        status = self.process.poll()
        size = os.fstat(self.errors.fileno()).st_size
        # Not by a seek: the process writes where this descriptor stands.
        text = os.pread(self.errors.fileno(), LAST_BYTES, max(0, size - LAST_BYTES))
        state = "is alive" if status is None else f"has ended with {status}"
        return f"the server {state}; the end of its log:\n{text.decode(errors='replace')}"

    def pause(self):
        """Stops it until resume(), so that others have its core alone."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def answer(self, request):
        """Returns the first bytes of the reply on a new connection, or b"" if that is refused."""
        try:
            with socket.create_connection(("127.0.0.1", self.port)) as client:
                client.sendall(request)
                return client.recv(64)
        except ConnectionRefusedError:
            return b""

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def thread_times(self):
        """Yields name, ns that it ran and ns that it waited for a core, of each thread."""
        threads = f"/proc/{self.process.pid}/task"
        for thread in os.listdir(threads):
            with open(f"{threads}/{thread}/comm", encoding="utf-8") as comm:
                name = comm.read().strip()
            with open(f"{threads}/{thread}/schedstat", encoding="ascii") as times:
                ran, waited, _ = map(int, times.read().split())
            yield name, ran, waited

    def cpu_by_thread(self):
        """CPU seconds since the start, of all threads of each name."""
        seconds = {}
        for name, ran, _ in self.thread_times():
            seconds[name] = seconds.get(name, 0) + ran / 1e9
        return seconds

    def waited_seconds(self):
        """Seconds in which its threads were ready to run and other processes had the core."""
        return sum(waited for _, _, waited in self.thread_times()) / 1e9

    def resident_bytes(self, what="VmRSS"):
        """Resident bytes now, or with "VmHWM" the most since forget_peak()."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(what + r":\s+(\d+) kB", status.read()).group(1)) * 1024

    def left_bytes(self, before):
        """Growth of resident memory since `before`, once a sweep has given free memory back."""
        end = time.monotonic() + SWEEP
        while (left := self.resident_bytes() - before) > SWEPT_BYTES and time.monotonic() < end:
            time.sleep(0.1)
        return left

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w", encoding="ascii") as clear:
            clear.write("5")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def benchmark(self, requests, connections, pipeline, command, keys=KEYS):
        """The redis-benchmark command that sends `command` `requests` times to this server.

        Each __rand_int__ becomes a random number. It fails if the server ends or answers an error.
        """
        return pinned(
            LOAD_CORE,
            ["redis-benchmark", "-p", str(self.port), "-n", str(requests), "-c", str(connections)]
            + ["-P", str(pipeline), "-r", str(keys), *command],
        )

    def load(self, requests, connections, pipeline, command, keys=KEYS):
        before = self.cpu_seconds()
        run = subprocess.run(
            self.benchmark(requests, connections, pipeline, command, keys),
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        )
        cpu_seconds = (self.cpu_seconds() - before) * 1e6 / requests
        return Load(*read_report(run.stdout), cpu_seconds)
