"""Makes each mistake of mutants.toml in a copy of the tree, and says whether a test notices.

    run.py [WORD]      or: ./dev mutants [WORD]
    run.py --check     only says which mutants no longer apply

WORD picks those whose file or description contains it. A mutant is killed when the tests of its
folder fail, by a wrong answer or an assertion; one that does not compile tells nothing. Fails if a
mutant survives, does not compile or no longer applies. The copy is built in build/mutants, each
source alone, so that a mutant costs one compilation and one link.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "mutants"
BUILD = COPY / "build" / "dev"
SECONDS_MAX = 600  # for the tests of a folder: a mutant that hangs is killed, too


def copy_tree():
    """Writes only what differs, so that a second run compiles little."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        source, to = ROOT / name, COPY / name
        if not source.is_file():
            continue
        if not to.exists() or to.read_bytes() != source.read_bytes():
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(source.read_bytes())


def build(target):
    """The compiler's output if it fails, else nothing."""
    done = subprocess.run(["cmake", "--build", BUILD, "--target", target],
                          capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode != 0 else ""


def failure(target):
    """The failure that the tests of a folder report: empty if they pass."""
    command = [BUILD / "tests" / target, "--gtest_brief=1", "--gtest_fail_fast"]
    env = {"RC_PARAMS": "noshrink=1", **os.environ}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode == 0:
        return ""
    said = re.search(r"(\S+: check failed: .*)|\[  FAILED  \] ([\w./]+)", done.stderr + done.stdout)
    return said.group(1) or said.group(2) if said else f"exit code {done.returncode}"


def verdict(mutant):
    """"killed by ...", or what is wrong with the mutant."""
    path = COPY / mutant["file"]
    target = mutant["target"]
    original = path.read_text()
    if original.count(mutant["old"]) != 1:
        return "DOES NOT APPLY"
    path.write_text(original.replace(mutant["old"], mutant["new"]))
    try:
        if output := build(target):
            return "DOES NOT COMPILE\n" + output
        noticed = failure(target)
    finally:
        path.write_text(original)
    return f"killed by {noticed}" if noticed else "SURVIVED"


def check(mutants):
    stale = [mutant for mutant in mutants
             if (ROOT / mutant["file"]).read_text().count(mutant["old"]) != 1]
    for mutant in stale:
        print(f"{mutant['file']}: {mutant['what']}: DOES NOT APPLY")
    return 1 if stale else 0


def main():
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    mutants = tomllib.loads((Path(__file__).parent / "mutants.toml").read_text())["mutant"]
    if word == "--check":
        sys.exit(check(mutants))
    mutants = [mutant for mutant in mutants if word in mutant["file"] + " " + mutant["what"]]
    for mutant in mutants:
        tests = mutant.get("tests", mutant["file"].rpartition("/")[0])
        mutant["target"] = tests.replace("/", "_") + "_tests"
    copy_tree()
    # An unused variable must not save a mutant from its test.
    options = ["-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_COMPILE_WARNING_AS_ERROR=OFF",
               "-DWEIR_BENCH=OFF", "-DWEIR_TREE_CHECKS=OFF"]
    subprocess.run(["cmake", "--preset", "dev", *options], cwd=COPY, check=True,
                   stdout=subprocess.DEVNULL)
    for target in sorted({mutant["target"] for mutant in mutants}):
        if wrong := build(target) or failure(target):
            sys.exit(f"{target} without a mutant: {wrong}")
    bad = 0
    for mutant in mutants:
        said = verdict(mutant)
        bad += not said.startswith("killed")
        print(f"{mutant['file']}: {mutant['what']}: {said}", flush=True)
    print(f"{len(mutants) - bad} of {len(mutants)} killed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
