"""docs/operations.md without a bare system: what it names exists.

`./dev package-test` types its commands (tests/package/bare); here are the mistakes that a change of
another file makes in the page, and the tests of the reader of such pages.
"""

import re
import sys
import unittest
from pathlib import Path

import yaml

from weir_e2e import ServerTest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/package/bare"))

import page  # noqa: E402  pylint: disable=wrong-import-position

TEXT = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
COMMANDS = [command for _, command, _ in page.steps(TEXT)]


class OperationsTest(ServerTest):
    def test_it_lists_all_alerts(self):
        rules = yaml.safe_load((ROOT / "contrib/prometheus/weir.rules.yml").read_text())
        alerts = [rule["alert"] for group in rules["groups"] for rule in group["rules"]]
        self.assertEqual(re.findall(r"^\| `(Weir\w+)` \|", TEXT, re.MULTILINE), alerts)

    def test_its_links_lead_to_its_titles(self):
        titles = re.findall("^##+ (.*)$", TEXT, re.MULTILINE)
        anchors = {title.lower().replace(" ", "-") for title in titles}
        links = set(re.findall(r"\]\(#([^)]*)\)", TEXT))
        self.assertNotEqual(links, set())
        self.assertLessEqual(links, anchors)

    def test_each_situation_is_caused_and_ended(self):
        situations = TEXT.split("\n## Runbook\n")[1].split("\n## ")[0].split("\n### ")[1:]
        self.assertGreaterEqual(len(situations), 10)
        for situation in situations:
            self.assertIn("\n$ ", situation)

    # Method: sed changes lines of the file that the package installs, so it must have them.
    def test_the_options_that_it_edits_are_in_the_file(self):
        options = (ROOT / "contrib/config/weir.toml").read_text()
        edited = set(re.findall(r"s[/|]\^(#[\w-]+) = ", "\n".join(COMMANDS)))
        self.assertGreater(len(edited), 5)
        for option in edited:
            self.assertRegex(options, f"(?m)^{option} = ")

    def test_the_server_has_its_commands(self):
        client = self.connect(self.start())
        names = set(re.findall(r"redis-cli -p 7379 ([A-Z][A-Z.]+)", "\n".join(COMMANDS)))
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertNotEqual(client.call("COMMAND", "INFO", name), [None], name)


class PageTest(unittest.TestCase):
    def test_a_command_ends_where_its_output_begins(self):
        text = "\n".join((
            "```console", "$ one", "first", "", "second", "$ two \\", "  more", "$ cat <<'END'",
            "body", "END", "```", "<!-- test: hidden -->", "```", "$ other", "```", ""))
        self.assertEqual(list(page.steps(text)), [
            (2, "one", ["first", "", "second"]), (6, "two \\\n  more", []),
            (8, "cat <<'END'\nbody\nEND", []), (12, "hidden", None)])

    def test_dots_stand_for_any_text(self):
        for shown, printed in ((["a...c"], "abc\n"), (["a", "...", "d"], "a\nb\nc\nd\n"),
                               (["..."], ""), (["a"], "a  \r\n"), ([], "")):
            self.assertEqual(page.differs(shown, printed), "", shown)

    def test_other_text_differs(self):
        for shown, printed in ((["a"], "b"), (["a"], "a\nb"), ([], "a"), (["a...c"], "a\nc"),
                               (["a.c"], "abc")):
            self.assertIn("but it printed", page.differs(shown, printed), shown)


if __name__ == "__main__":
    unittest.main()
