"""The completion of command lines, in a bash that sources the file and nothing else."""

import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

COMPLETION = Path(__file__).parents[2] / "contrib/bash-completion/weir-server"


def complete(*words):
    """What bash offers for the last of these words; bash cuts words at an equals sign, too."""
    program = words[0]
    script = (
        f"source {shlex.quote(str(COMPLETION))}\n"
        f"COMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}\n"
        f"$(complete -p {program} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    run = subprocess.run(
        ["bash", "--norc", "-uc", script],
        cwd=complete.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if run.stderr:
        raise AssertionError(run.stderr)
    return sorted(run.stdout.split())


class CompletionTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        complete.directory = directory.name
        for name in ("a.toml", "b.toml"):
            (Path(directory.name) / name).touch()

    def test_options_are_offered_by_their_beginnings(self):
        self.assertEqual(complete("weir-server", "--tls-a"), ["--tls-auth-clients"])
        self.assertEqual(complete("weir-server", "--log"), ["--log-format", "--log-level"])
        self.assertEqual(complete("weir-replay", "--m"), ["--max-wait", "--monitor"])
        self.assertEqual(complete("weir-replay", "--mo"), ["--monitor"])
        self.assertEqual(complete("weir-server", "--port", "1", "--tls-o"), ["--tls-only"])
        self.assertEqual(complete("weir-server", "--none"), [])
        self.assertEqual(complete("weir-server", "--ping", "--tls-o"), ["--tls-only"])
        self.assertEqual(complete("weir-check", "c"), ["checks", "config"])

    def test_each_option_is_offered_once(self):
        for program in ("weir-server", "weir-check", "weir-replay"):
            offered = complete(program, "--")
            self.assertEqual(len(offered), len(set(offered)))
            self.assertIn("--help", offered)

    def test_words_are_offered_after_their_option(self):
        every = ["always", "none", "snapshot"]
        self.assertEqual(complete("weir-server", "--durability", ""), every)
        self.assertEqual(complete("weir-server", "--durability", "="), every)
        self.assertEqual(complete("weir-server", "--durability", "a"), ["always"])
        self.assertEqual(complete("weir-server", "--durability", "=", "s"), ["snapshot"])

        self.assertEqual(complete("weir-server", "--help", "t"), ["tls"])

    def test_files_are_offered_where_a_file_is_meant(self):
        self.assertEqual(complete("weir-server", "--config", ""), ["a.toml", "b.toml"])
        self.assertEqual(complete("weir-server", "--config", "=", "b"), ["b.toml"])
        self.assertEqual(complete("weir-replay", "--policies", "a"), ["a.toml"])
        self.assertEqual(complete("weir-replay", ""), ["a.toml", "b.toml"])
        self.assertEqual(complete("weir-check", "policies", "b"), ["b.toml"])
        self.assertEqual(complete("weir-check", "policies", "a.toml", ""), [])
        self.assertEqual(complete("weir-check", "rls", "a.toml", ""), ["--merge-domains"])

    def test_nothing_is_offered_for_numbers_and_passwords(self):
        self.assertEqual(complete("weir-server", "--port", ""), [])
        self.assertEqual(complete("weir-server", "--requirepass", ""), [])
        self.assertEqual(complete("weir-server", "--primary-password", ""), [])
        self.assertEqual(complete("weir-replay", "--ask", ""), [])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=1))
