"""The Python of docs/recipes.md: run as it stands, against the real server.

Each piece has a server of its own, which takes times from requests if the piece names one. Its
output must be that in the comments behind `print`. The page's timeout of 50 ms is made longer,
since machines that run tests are busy.
"""

import contextlib
import io
import re
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, ServerTest

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
PRINTED = re.compile(r"print\(.*\)(?:  |\n *)# (.*)")


class RecipesTest(ServerTest):
    def run_snippet(self, text):
        options = ["--allow-explicit-time"] if '"AT"' in text else []
        port = self.start(*options).port
        text = text.replace("port=7379", f"port={port}")
        text = text.replace("socket_timeout=0.05", f"socket_timeout={DEADLINE}")
        printed = io.StringIO()
        names = {}
        with contextlib.redirect_stdout(printed):
            exec(compile(text, str(PAGE), "exec"), names)  # pylint: disable=exec-used
        return printed.getvalue().split()

    def test_each_piece_prints_what_it_says(self):
        begin, *snippets = SNIPPET.findall(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(snippets), 10)
        for snippet in snippets:
            with self.subTest(snippet):
                says = " ".join(PRINTED.findall(snippet)).replace(";", " ").split()
                self.assertNotEqual(says, [])
                self.assertEqual(self.run_snippet(begin + snippet), says)


if __name__ == "__main__":
    unittest.main()
