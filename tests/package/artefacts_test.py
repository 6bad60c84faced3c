"""The files that the second run of `./dev release` leaves, of the commit that is checked out.

The Debian package in them is a small one of this test, since one of the server takes minutes.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
MAKE = ROOT / "contrib/release/artefacts.py"
VERSION = re.search(r"^project\(weir VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
CONTROL = f"""Package: weir
Version: {VERSION}
Architecture: amd64
Maintainer: nobody <nobody@localhost>
Description: a test
"""
PYTHON = "/usr/bin/python3"


def has(module):
    return subprocess.run([PYTHON, "-c", f"import {module}"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipUnless((ROOT / ".git").exists(), "the tree is no checkout")
@unittest.skipUnless(has("wheel") and has("setuptools"), "./dev release installs them")
class ArtefactsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="weir_artefacts_")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        cls.packages = cls.directory / "packages"
        cls.make_package()
        (cls.directory / "notes.md").write_text("notes\n")
        cls.made = cls.make("one")

    @classmethod
    def make_package(cls):
        root = cls.directory / "root"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(CONTROL)
        (root / "usr/bin").mkdir(parents=True)
        (root / "usr/bin/weir-server").write_text("#!/bin/sh\n")
        (root / "usr/bin/weir-server").chmod(0o755)
        cls.packages.mkdir()
        subprocess.run(["dpkg-deb", "--build", root, cls.packages / f"weir_{VERSION}_amd64.deb"],
                       check=True, stdout=subprocess.DEVNULL)
        cls.note("Thu, 01 Jan 2026 00:00:00 +0000", 1)

    @classmethod
    def note(cls, date, compilers):
        (cls.packages / f"weir_{VERSION}_amd64.buildinfo").write_text(
            f"Format: 1.0\nBuild-Date: {date}\nInstalled-Build-Depends: g++ (= 12)\n"
            f'Environment:\n DEB_BUILD_OPTIONS="noautodbgsym parallel={compilers}"\n')

    @classmethod
    def make(cls, name, umask=0o022, **variables):
        """Makes the files in a folder of this name, and returns it."""
        folder = cls.directory / name
        subprocess.run([MAKE, VERSION, cls.directory / "notes.md", folder, "1", cls.packages],
                       check=True, stdout=subprocess.DEVNULL, umask=umask,
                       env={**os.environ, **variables})
        return folder

    def names(self, archive):
        with tarfile.open(self.made / archive) as opened:
            return {name.partition("/")[2] for name in opened.getnames()}

    def test_two_runs_leave_the_same_bytes(self):
        self.note("Fri, 02 Jan 2026 00:00:00 +0000", 16)
        site = self.directory / "site"  # a stranger's module in the place of setuptools
        site.mkdir()
        (site / "setuptools.py").write_text("raise SystemExit(1)\n")
        again = self.make("two", umask=0o077, TZ="Asia/Tokyo", LC_ALL="C.UTF-8", HOME="/none",
                          PYTHONPATH=str(site))
        sums = [(folder / "SHA256SUMS").read_text() for folder in (self.made, again)]
        self.assertEqual(*sums)

    def test_the_sums_are_those_of_all_files(self):
        sums = (self.made / "SHA256SUMS").read_text()
        for path in self.made.iterdir():
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            self.assertEqual(f"{digest}  {path.name}\n" in sums, path.name != "SHA256SUMS")
        self.assertEqual({line[66:] for line in sums.splitlines()}, {
            "notes.md", f"weir-{VERSION}-debian12-amd64.tar.xz", f"weir-{VERSION}.tar.gz",
            f"weir-client-{VERSION}.crate", f"weir-client-{VERSION}.tar.gz",
            f"weir-client-{VERSION}.tgz", f"weir-client-cpp-{VERSION}.tar.gz",
            f"weir-client-go-{VERSION}.tar.gz", f"weir_{VERSION}_amd64.buildinfo",
            f"weir_{VERSION}_amd64.deb", f"weir_client-{VERSION}-py3-none-any.whl"})

    # Goal: each archive has what its reader needs, and no test and no file of a build.
    def test_the_archives_have_what_they_are_for(self):
        wanted = {
            f"weir-{VERSION}.tar.gz": {"CMakeLists.txt", "dev", "server/main.cc", "LICENSE"},
            f"weir-{VERSION}-debian12-amd64.tar.xz": {"usr/bin/weir-server", "LICENSE"},
            f"weir-client-{VERSION}.crate": {"Cargo.toml", "Cargo.lock", "src/lib.rs", "LICENSE"},
            f"weir-client-{VERSION}.tar.gz": {"pyproject.toml", "weir_client/aio.py", "LICENSE"},
            f"weir-client-{VERSION}.tgz": {"package.json", "index.js", "lib/wire.js", "LICENSE"},
            f"weir-client-cpp-{VERSION}.tar.gz": {"CMakeLists.txt", "weir/limiter.h", "LICENSE"},
            f"weir-client-go-{VERSION}.tar.gz": {"go.mod", "go.sum", "limiter.go", "LICENSE"},
        }
        for archive, needed in wanted.items():
            names = self.names(archive)
            self.assertLessEqual(needed, names, archive)
            if "client" in archive:
                unwanted = [name for name in names if re.search("test|__pycache__|target/", name)]
                self.assertEqual(unwanted, [], archive)

    @unittest.skipUnless(shutil.which("npm"), "npm is not here")
    def test_the_archive_for_npm_is_the_one_that_npm_makes(self):
        done = subprocess.run(
            ["npm", "pack", "--offline", "--pack-destination", self.directory], check=True,
            cwd=ROOT / "clients/javascript", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        packed = self.directory / done.stdout.decode().split()[-1]
        with tarfile.open(packed) as opened:
            theirs = {name.partition("/")[2] for name in opened.getnames()}
        self.assertEqual(self.names(f"weir-client-{VERSION}.tgz"), theirs)

    def test_times_and_owners_are_those_of_the_commit(self):
        epoch = int(subprocess.run(["git", "show", "--no-patch", "--format=%ct", "HEAD"], cwd=ROOT,
                                   check=True, stdout=subprocess.PIPE).stdout)
        for path in self.made.glob("*.t*z"):
            with tarfile.open(path) as archive:
                for member in archive:
                    self.assertEqual((member.mtime, member.uid), (epoch, 0), path.name)
        with zipfile.ZipFile(next(self.made.glob("*.whl"))) as wheel:
            self.assertEqual(len({one.date_time for one in wheel.infolist()}), 1)
        note = (self.made / f"weir_{VERSION}_amd64.buildinfo").read_text()
        self.assertNotIn("2026 00:00:00", note)

    # Goal: the release takes no more memory than any other build. Method: `dev` in the place of the
    # one that builds packages.
    def test_as_many_compilers_build_as_dev_allows(self):
        tree = self.directory / "tree"
        (tree / "contrib/release").mkdir(parents=True)
        shutil.copy(MAKE, tree / "contrib/release")
        (tree / "dev").write_text('#!/bin/sh\necho "$1 $DEB_BUILD_OPTIONS" >>called\n')
        (tree / "dev").chmod(0o755)
        code = "import artefacts\nartefacts.build_packages(0, 7)\n"
        subprocess.run([PYTHON, "-c", code], check=True, cwd=tree, env={
            **os.environ, "PYTHONPATH": str(tree / "contrib/release")})
        self.assertEqual((tree / "called").read_text(), "package noautodbgsym parallel=7\n")

    def test_nothing_is_signed_without_a_key(self):
        self.assertEqual(list(self.made.glob("*.asc")), [])
        stub = self.directory / "bin"
        stub.mkdir()
        (stub / "gpg").write_text('#!/bin/sh\nfor word; do :; done\necho "$@" >"$word.asc"\n')
        (stub / "gpg").chmod(0o755)
        signed = self.directory / "signed"
        shutil.copytree(self.made, signed)
        (signed / "SHA256SUMS").unlink()
        code = "import pathlib, sys, artefacts as a\nrelease = a.Release.__new__(a.Release)\n" \
            "release.folder = pathlib.Path(sys.argv[1])\nrelease.add_sums()\n"
        subprocess.run([PYTHON, "-c", code, signed], check=True, env={
            **os.environ, "WEIR_SIGN_KEY": "me", "PATH": f"{stub}:{os.environ['PATH']}",
            "PYTHONPATH": str(MAKE.parent)})
        self.assertIn("--local-user me ", (signed / "SHA256SUMS.asc").read_text())
        self.assertNotIn(".asc", (signed / "SHA256SUMS").read_text())


if __name__ == "__main__":
    unittest.main()
