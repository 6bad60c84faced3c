"""The Python of docs/recipes.md, run as it stands, against the real server; and its shell lines.

Each piece has a server of its own for each port that it names, which takes times from requests if
the piece names one, and has the policies of the recipe's block of TOML. Its output must be that in
the comments behind `print`. The page's timeout of 50 ms is made longer, since machines that run
tests are busy.

The Python of README.md runs as well, with the address of that server.

A block that begins with `$ weir-replay` is run in the root of the tree, and its output must be the
rest of the block.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import unittest
from pathlib import Path

from weir_client import Limiter
from weir_e2e import DEADLINE, ServerTest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recipes.md"
README = ROOT / "README.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
REPLAYED = re.compile(r"^```\n\$ weir-replay ([^\n]*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
POLICIES = re.compile(r"^```toml\n(\[policies\]\n.*?)^```\n", re.DOTALL | re.MULTILINE)
PORT = re.compile(r"\bport=(73\d\d)\b")
PRINTED = re.compile(r"print\(.*\)(?:  |\n *)# (.*)")


class RecipesTest(ServerTest):
    def run_snippet(self, text, policies):
        options = ["--allow-explicit-time"] if '"AT"' in text else []
        if policies:
            options += ["--policies", self.write("policies.toml", policies[0])]
        ports = {port: str(self.start(*options).port) for port in set(PORT.findall(text))}
        text = PORT.sub(lambda found: f"port={ports[found.group(1)]}", text)
        text = text.replace('"7379"', f'"{ports["7379"]}"')
        text = text.replace('"weir-replay"', repr(os.environ["WEIR_REPLAY"]))
        text = text.replace("socket_timeout=0.05", f"socket_timeout={DEADLINE}")
        text = text.replace(" deadline=0.05", f" deadline={DEADLINE}")
        printed = io.StringIO()
        names = {}
        with contextlib.redirect_stdout(printed):
            exec(compile(text, str(PAGE), "exec"), names)  # pylint: disable=exec-used
        return printed.getvalue().split()

    def test_each_piece_prints_what_it_says(self):
        first, *recipes = PAGE.read_text(encoding="utf-8").split("\n## ")
        begin, = SNIPPET.findall(first)
        self.assertGreater(len(recipes), 10)
        for recipe in recipes:
            policies = POLICIES.findall(recipe)
            for snippet in SNIPPET.findall(recipe):
                with self.subTest(snippet):
                    says = " ".join(PRINTED.findall(snippet)).replace(";", " ").split()
                    self.assertNotEqual(says, [])
                    self.assertEqual(self.run_snippet(begin + snippet, policies), says)

    def test_readme_asks_as_it_says(self):
        snippet, = SNIPPET.findall(README.read_text(encoding="utf-8"))
        address = f"redis://127.0.0.1:{self.start().port}?deadline={int(DEADLINE)}s"
        snippet = snippet.replace("redis://app:secret@weir.internal:7379", address)
        names = {"Limiter": Limiter}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(snippet, str(README), "exec"), names)  # pylint: disable=exec-used
        names["limiter"].close()
        self.assertEqual(printed.getvalue(), "True 9 0.0\n")

    def test_each_replay_answers_what_the_page_shows(self):
        blocks = REPLAYED.findall(PAGE.read_text(encoding="utf-8"))
        self.assertNotEqual(blocks, [])
        for words, shown in blocks:
            command = [os.environ["WEIR_REPLAY"], *shlex.split(words)]
            replayed = subprocess.run(
                command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE, check=True)
            self.assertEqual(replayed.stdout, shown)


if __name__ == "__main__":
    unittest.main()
