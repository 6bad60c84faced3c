"""Builds and installs weir_client as a user does, and looks at what its archives hold.

Needs pip, setuptools, wheel and venv; `./dev clients` installs Debian's.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients/python"
PYTHON = "/usr/bin/python3"


# Without the tree's own packages.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*words, **settings):
    return subprocess.run(
        words, check=True, capture_output=True, text=True, env=ENVIRONMENT, **settings
    ).stdout


class PackageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_package_")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        # A copy, as setuptools leaves files beside the sources.
        ignored = shutil.ignore_patterns("__pycache__")
        self.source = self.directory / "source"
        shutil.copytree(PACKAGE, self.source, ignore=ignored)
        self.modules = {
            path.relative_to(self.source).as_posix() for path in self.source.glob("**/*.py")
        }
        self.version = re.search(
            r'^version = "(.+)"$', (PACKAGE / "pyproject.toml").read_text(), re.MULTILINE
        )[1]

    def pip(self, python, *words):
        return run(python, "-m", "pip", "--disable-pip-version-check", *words, cwd=self.directory)

    # Goal: the wheel has all modules, and nothing besides.
    def test_the_wheel(self):
        self.pip(PYTHON, "wheel", "--no-build-isolation", "--no-deps", "-w", ".", str(self.source))
        (wheel,) = self.directory.glob("*.whl")
        self.assertEqual(wheel.name, f"weir_client-{self.version}-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
        files = {name for name in names if ".dist-info/" not in name}
        self.assertEqual(files, {*self.modules, "weir_client/py.typed"})
        self.assertTrue(any(name.endswith("LICENSE") for name in names))

    def test_the_source_archive(self):
        code = "import setuptools.build_meta as b; b.build_sdist('..')"
        run(PYTHON, "-c", code, cwd=self.source)
        (archive,) = self.directory.glob("*.tar.gz")
        with tarfile.open(archive) as opened:
            names = {name.partition("/")[2] for name in opened.getnames()}
        self.assertLessEqual({*self.modules, "LICENSE", "README.md", "pyproject.toml"}, names)
        self.assertFalse([name for name in names if "test" in name])

    def test_an_installation(self):
        run(PYTHON, "-m", "venv", "--system-site-packages", str(self.directory / "venv"))
        python = str(self.directory / "venv/bin/python")
        self.pip(python, "install", "--no-build-isolation", "--no-deps", str(self.source))
        code = "import weir_client.aio, weir_client.asgi, weir_client.wsgi as w; print(w.__file__)"
        self.assertIn("/venv/", run(python, "-c", code, cwd="/"))
        shown = self.pip(python, "show", "weir-client")
        self.assertIn(f"Version: {self.version}", shown)
        self.assertIn("Requires: redis", shown)


if __name__ == "__main__":
    if sys.executable != PYTHON:
        sys.exit(f"run it with {PYTHON}")
    unittest.main()
