"""The figures of compare.py as a section of the page of the day."""

import os
import platform
import re
import subprocess
import time
from typing import NamedTuple

from compare_rows import BASE, TARGETS

ROW = "{:28} {:>8} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>12}"
TITLES = ["pipeline", "requests/s", "p50 ms", "p99 ms", "p99.9 ms", "CPU s/M"]
TITLES += ["x INCR", "syscalls/req"]


class Figures(NamedTuple):
    titles: dict  # row -> title
    loads: dict  # (row, pipeline) -> subject.Load
    cpu_seconds: float  # CPU of all servers together
    waited_seconds: float  # for which servers waited for their core
    system_calls: dict  # (row, pipeline) -> system calls per request
    counted: str  # how the system calls were counted

    def ratio(self, name, base, pipeline):
        """The CPU of a row divided by that of `base`; None if one of them was not measured."""
        row, other = self.loads.get((name, pipeline)), self.loads.get((base, pipeline))
        if not row or not other or not other.cpu_seconds:
            return None
        return row.cpu_seconds / other.cpu_seconds


def shown(figure, digits=2):
    return "-" if figure is None else f"{figure:.{digits}f}"


def costs(figures):
    yield ROW.format("", *TITLES)
    for (name, pipeline), load in sorted(figures.loads.items(), key=lambda item: item[0][1]):
        yield ROW.format(
            figures.titles[name],
            pipeline,
            f"{load.rate:,.0f}",
            *(shown(figure) for figure in (load.p50_ms, load.p99_ms, load.p999_ms)),
            shown(load.cpu_seconds),
            shown(figures.ratio(name, BASE, pipeline)),
            shown(figures.system_calls.get((name, pipeline)), 3),
        )


def targets(figures):
    for name, base, pipeline, ratio_max in TARGETS:
        if (ratio := figures.ratio(name, base, pipeline)) is not None:
            yield (
                f"{figures.titles[name]:24} / {figures.titles[base]:28} pipeline {pipeline:2}"
                f"   {ratio:5.3f}   at most {ratio_max:5.3f}"
                f"   {'met' if ratio <= ratio_max else 'NOT met'}"
            )


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def machine():
    with open("/proc/cpuinfo", encoding="ascii") as cpus:
        named = re.search(r"model name\s*: (.*)", cpus.read())
    model = named.group(1) if named else platform.machine()
    redis = re.search(r"v=(\S+)", output("redis-server", "--version")).group(1)
    commit = output("git", "describe", "--always", "--dirty")
    load = ", ".join(f"{load:.1f}" for load in os.getloadavg())
    return f"{os.cpu_count()} cores, {model}; Redis {redis}; commit {commit}; load averages {load}."


def section(figures, runs, requests):
    lines = [
        "## Beside Redis",
        "",
        f"`./dev bench compare --runs {runs} --requests {requests}`: medians, the rows in turn.",
        "Each server has one thread for requests, is pinned to one core and keeps nothing on disk;",
        "redis-benchmark has the other core. CPU is of the server, for a million requests.",
        f"System calls are {figures.counted}.",
        "",
        machine(),
        f"The servers used {figures.cpu_seconds:.0f} s of CPU, and waited"
        f" {figures.waited_seconds:.0f} s for others on their core.",
        "",
        "```",
        *costs(figures),
        "```",
    ]
    if met := list(targets(figures)):
        lines += ["", "Targets, as ratios of CPU:", "", "```", *met, "```"]
    return "\n".join(lines) + "\n"


def add(text, directory):
    """Adds a section to the page of today."""
    today = time.strftime("%Y-%m-%d")
    path = os.path.join(directory, f"{today}.md")
    os.makedirs(directory, exist_ok=True)
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8") as page:
        page.write((f"# Figures of {today}\n" if new else "") + "\n" + text)
