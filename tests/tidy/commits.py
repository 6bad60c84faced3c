"""Checks the commits of a branch that the default branch does not have: a title has at most 72
columns, and a commit of more than 20 changed lines a body, which says why. Without another branch,
or without git, there is nothing to check.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TITLE_COLUMNS_MAX = 72
LINES_WITHOUT_BODY_MAX = 20


def git(*words):
    """The output of a git command, or an empty text if it fails."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout


def problems():
    names = ("origin/HEAD", "origin/main", "main")
    base = next(filter(None, (git("merge-base", "HEAD", name).strip() for name in names)), "HEAD")
    log = git("log", "--no-merges", "--find-renames", "--shortstat", "--format=%x00%h%n%B%x00",
              f"{base}..HEAD")
    fields = log.split("\0")[1:]
    for message, stat in zip(fields[::2], fields[1::2]):
        commit, title, *body = message.split("\n")
        lines = sum(map(int, re.findall(r"(\d+) (?:insertion|deletion)", stat)))
        if len(title) > TITLE_COLUMNS_MAX:
            yield f"{commit} {title}: a title of more than {TITLE_COLUMNS_MAX} columns"
        if any(body[:1]):
            yield f"{commit} {title}: no empty line below the title"
        if lines > LINES_WITHOUT_BODY_MAX and not any(body[1:]):
            yield f"{commit} {title}: {lines} lines, and no body that says why"


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
