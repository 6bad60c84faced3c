"""`./dev release`, in a small repository that has the files with the version and nothing else."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
VERSIONED = ("CMakeLists.txt", "CHANGELOG.md", "debian/changelog")
FILES = ("dev", "contrib/release/commands.sh", *VERSIONED)
PROJECT = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"^project\(weir VERSION (\S+)", PROJECT, re.M).group(1)


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_release_")
        self.addCleanup(directory.cleanup)
        self.tree = Path(directory.name)
        for name in FILES:
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.tree / name)
        self.write(
            "CHANGELOG.md", "# Changelog", "", f"## {VERSION}, not released", "", "### Limits", "",
            "- New.", "", "## 0.0.1, 2020-01-01", "", "- Old.")
        text = (self.tree / "CMakeLists.txt").read_text()
        text = re.sub(r"\(WEIR_VERSION_DATE [0-9-]+\)", "(WEIR_VERSION_DATE 2020-01-02)", text)
        (self.tree / "CMakeLists.txt").write_text(text)
        (self.tree / ".gitignore").write_text("/build/\n")
        # artefacts_test.py has its files, and no package is built here.
        artefacts = self.tree / "contrib/release/artefacts.py"
        artefacts.write_text(
            '#!/bin/sh\nmkdir -p "$3" && cp "$2" "$3/" && echo "$4" >"$3/compilers"\n')
        artefacts.chmod(0o755)
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, *lines):
        (self.tree / name).write_text("\n".join(lines) + "\n")

    def git(self, *words):
        who = {f"GIT_{role}_{part}": "weir@localhost"
               for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        return subprocess.run(["git", *words], cwd=self.tree, env={**os.environ, **who},
                              check=True, capture_output=True, text=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "change")

    def release(self, status=0):
        """What it prints."""
        done = subprocess.run([self.tree / "dev", "release"], cwd=self.tree, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def close(self):
        self.release()
        self.commit()

    def test_a_version_that_is_not_released_gets_one_day_everywhere(self):
        before = datetime.now(timezone.utc).date()
        self.assertIn("git commit", self.release())
        changed = self.git("diff", "--name-only").split()
        self.assertEqual(sorted(changed), sorted(VERSIONED))
        day = re.search(r"^## \S+, (.*)$", (self.tree / "CHANGELOG.md").read_text(), re.M).group(1)
        self.assertIn(day, (str(before), str(datetime.now(timezone.utc).date())))
        self.assertIn(f"(WEIR_VERSION_DATE {day})", (self.tree / "CMakeLists.txt").read_text())
        trailer = re.search(r"^ -- .*>  (.*)$", (self.tree / "debian/changelog").read_text(), re.M)
        self.assertEqual(str(parsedate_to_datetime(trailer.group(1)).date()), day)
        self.assertIn("## 0.0.1, 2020-01-01", (self.tree / "CHANGELOG.md").read_text())

    # Goal: nothing is published or tagged.
    def test_a_closed_version_gets_notes_and_no_tag(self):
        self.close()
        before = self.git("for-each-ref")
        self.assertIn(f"git tag --annotate v{VERSION} ", self.release())
        notes = (self.tree / f"build/release-{VERSION}/notes-{VERSION}.md").read_text()
        self.assertEqual(notes, f"weir {VERSION}\n\n### Limits\n\n- New.\n\n")
        compilers = (self.tree / f"build/release-{VERSION}/compilers").read_text()
        self.assertRegex(compilers, r"\A[1-9]\d*\n\Z")
        self.assertEqual(self.git("for-each-ref"), before)
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_changes_must_be_committed_first(self):
        self.close()
        self.write("new.txt", "new")
        self.assertIn("commit the changes", self.release(status=1))

    def test_a_tag_is_made_once(self):
        self.close()
        self.git("tag", f"v{VERSION}")
        self.assertIn(f"v{VERSION} is tagged", self.release(status=1))

    def test_all_files_must_have_the_version(self):
        for name, text in (("CHANGELOG.md", "## 9.9.9, not released"),
                           ("debian/changelog", "weir (9.9.9) unstable; urgency=medium")):
            with self.subTest(name):
                kept = (self.tree / name).read_text()
                self.write(name, text)
                self.assertIn(f"'{text}'", self.release(status=1))
                self.write(name, kept.rstrip("\n"))


if __name__ == "__main__":
    unittest.main()
