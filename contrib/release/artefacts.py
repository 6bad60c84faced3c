#!/usr/bin/python3
"""Makes the files of a release from the commit that is checked out.

    contrib/release/artefacts.py VERSION NOTES FOLDER COMPILERS [PACKAGES]

`./dev release` runs it. NOTES is the file with the notes. FOLDER is emptied first, if it exists.
PACKAGES has the Debian packages; without it `./dev package` builds them, with so many COMPILERS at
once. Two runs of one commit on one host leave the same bytes: each time is that of the commit, each
owner root, and names are sorted.

Environment:
    WEIR_SIGN_KEY   the key of GnuPG that signs SHA256SUMS; without one nothing is signed
"""

import gzip
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from email.utils import formatdate
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Written by Debian's setuptools: the archives must not differ with the libraries of a user.
BUILD = """\
import os, setuptools.build_meta as build
os.chdir({source!r})
build.build_sdist({folder!r})
build.build_wheel({folder!r})
"""
OPEN = """\
Open, and for you to decide: the packages have no address yet. Until then services write
  go mod edit -replace weir/client=PATH/clients/go
and install the other archives from a path, as the README.md of each folder of clients/ says."""


def run(*words, **settings):
    return subprocess.run(words, check=True, cwd=ROOT, stdout=subprocess.PIPE, **settings).stdout


class Archive:
    """A tar archive whose bytes depend on its names and contents alone."""

    def __init__(self, epoch):
        self._epoch = epoch
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, path, name):
        """Adds a file or a symbolic link."""
        member = tarfile.TarInfo(name)
        member.mtime = self._epoch
        member.mode = 0o755 if os.access(path, os.X_OK) else 0o644
        if path.is_symlink():
            member.type, member.linkname = tarfile.SYMTYPE, os.readlink(path)
            self._tar.addfile(member)
            return
        content = path.read_bytes()
        member.size = len(content)
        self._tar.addfile(member, io.BytesIO(content))

    def add_folder(self, folder, prefix, is_wanted=lambda name: True):
        """Adds the files below a folder that are wanted, by their names in it."""
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if (path.is_symlink() or path.is_file()) and is_wanted(name):
                self.add(path, f"{prefix}/{name}")

    def write(self, path):
        """Compresses it as the name says."""
        self._tar.close()
        content = self._bytes.getvalue()
        packed = lzma.compress(content) if path.suffix == ".xz" else gzip.compress(content, mtime=0)
        path.write_bytes(packed)


class Release:
    def __init__(self, version, folder):
        self.version = version
        self.folder = folder
        self.epoch = int(run("git", "show", "--no-patch", "--format=%ct", "HEAD"))
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def add_source(self):
        tree = run("git", "archive", f"--prefix=weir-{self.version}/", "HEAD")
        (self.folder / f"weir-{self.version}.tar.gz").write_bytes(gzip.compress(tree, mtime=0))

    def add_packages(self, packages):
        """The packages, what built them, and their files without a package manager."""
        (note,) = packages.glob("*.buildinfo")
        text = re.sub("^Build-Date: .*$", f"Build-Date: {formatdate(self.epoch)}",
                      note.read_text(), flags=re.MULTILINE)
        # The number of compilers depends on the memory that was free.
        text = re.sub(r' parallel=\d+(?=[ "])', "", text)
        (self.folder / note.name).write_text(text)
        name = f"weir-{self.version}-debian12-amd64"
        archive = Archive(self.epoch)
        with tempfile.TemporaryDirectory() as unpacked:
            for package in sorted(packages.glob("*.deb")):
                shutil.copy(package, self.folder)
                run("dpkg-deb", "--extract", str(package), unpacked)
            shutil.copy(ROOT / "LICENSE", unpacked)
            archive.add_folder(Path(unpacked), name)
        archive.write(self.folder / f"{name}.tar.xz")

    def add_clients(self):
        with tempfile.TemporaryDirectory() as copy:
            tree = run("git", "archive", "HEAD", "clients")
            tarfile.open(fileobj=io.BytesIO(tree)).extractall(copy)
            clients = Path(copy) / "clients"
            self.add_python(clients / "python")
            self.add_javascript(clients / "javascript")
            # cargo would ask crates.io: these are the files that `include` of Cargo.toml names.
            self.add_folder(clients / "rust", f"weir-client-{self.version}", ".crate",
                            lambda name: name.startswith(("src/", "README", "LICENSE", "Cargo.")))
            self.add_folder(clients / "go", f"weir-client-go-{self.version}", ".tar.gz")
            self.add_folder(clients / "cpp", f"weir-client-cpp-{self.version}", ".tar.gz")

    def add_folder(self, folder, name, suffix, is_wanted=lambda name: True):
        archive = Archive(self.epoch)
        archive.add_folder(folder, name, is_wanted)
        archive.write(self.folder / f"{name}{suffix}")

    def add_python(self, source):
        """A wheel and a source archive. setuptools puts times of its own into the latter."""
        for path in source.rglob("*"):
            os.utime(path, (self.epoch, self.epoch))
            path.chmod(0o755 if path.is_dir() else 0o644)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(self.epoch)}
        with tempfile.TemporaryDirectory() as built:
            code = BUILD.format(source=str(source), folder=built)
            run("/usr/bin/python3", "-I", "-c", code, env=environment,
                stderr=subprocess.DEVNULL, umask=0o022)
            (wheel,) = Path(built).glob("*.whl")
            shutil.copy(wheel, self.folder)
            (sdist,) = Path(built).glob("*.tar.gz")
            with tarfile.open(sdist) as archive:
                archive.extractall(built)
            name = sdist.name.removesuffix(".tar.gz")
            self.add_folder(Path(built) / name, name, ".tar.gz")

    def add_javascript(self, source):
        """What `npm pack` makes: the files of package.json, and those that npm always takes."""
        patterns = json.loads((source / "package.json").read_text())["files"]
        wanted = {source / name for name in ("package.json", "README.md", "LICENSE")}
        for pattern in patterns:
            for path in source.glob(pattern):
                wanted |= {path} if path.is_file() else set(path.rglob("*"))
        archive = Archive(self.epoch)
        archive.add_folder(source, "package", lambda name: source / name in wanted)
        archive.write(self.folder / f"weir-client-{self.version}.tgz")

    def add_sums(self):
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
                       for path in sorted(self.folder.iterdir()))
        (self.folder / "SHA256SUMS").write_text(sums)
        if key := os.environ.get("WEIR_SIGN_KEY"):
            run("gpg", "--batch", "--local-user", key, "--armor", "--detach-sign",
                str(self.folder / "SHA256SUMS"))


def build_packages(epoch, compilers):
    """Builds them, and returns their folder. Their notes have the options, so those are fixed."""
    options = f"noautodbgsym parallel={compilers}"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "DEB_BUILD_OPTIONS": options}
    subprocess.run([ROOT / "dev", "package"], check=True, env=environment)
    return ROOT / "build/packages"


def main():
    version, notes, folder, compilers, *packages = sys.argv[1:]
    release = Release(version, Path(folder).resolve())
    shutil.copy(notes, release.folder)
    # First, as `./dev package` also installs what the archives of Python need.
    release.add_packages(Path(packages[0]) if packages
                         else build_packages(release.epoch, int(compilers)))
    release.add_source()
    release.add_clients()
    release.add_sums()
    print(OPEN)


if __name__ == "__main__":
    main()
