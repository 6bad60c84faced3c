"""The image of contrib/container, built by buildah on a base that is from no registry."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
BASE, IMAGE = "localhost/bare", "localhost/weir"


class Containers:
    """Buildah, with its images and containers in `folder`."""

    def __init__(self, folder):
        self._folder = folder
        self._policy = f"--signature-policy={folder / 'policy.json'}"

    def build(self, base):
        """Makes the image, on the archive of a bare system. Needs a mirror of Debian."""
        self._folder.mkdir(parents=True, exist_ok=True)
        policy = {"default": [{"type": "insecureAcceptAnything"}]}
        (self._folder / "policy.json").write_text(json.dumps(policy))
        container = self._buildah("from", "scratch")
        self._buildah("add", "--quiet", container, str(base), "/")
        self._buildah("commit", "--quiet", "--rm", self._policy, container, BASE)
        self._buildah("build", "--quiet", "--format=docker", "--pull-never", self._policy,
                      f"--build-arg=BASE={BASE}", f"--tag={IMAGE}",
                      "--file=contrib/container/Containerfile", ".")

    def create(self):
        """A container of the image, and the configuration of the image."""
        container = self._buildah("from", "--pull-never", self._policy, IMAGE)
        return container, json.loads(self._buildah("inspect", container))["Docker"]["config"]

    def run(self, container, words):
        """Runs a program in the container, as its user; returns what it printed."""
        return self._buildah("run", container, "--", *words)

    def start(self, container, words, log, variables=()):
        """Like run(), but does not wait for the end; returns the process. `variables`: NAME=VALUE,
        as docker's -e."""
        given = [f"--env={variable}" for variable in variables]
        command, environment = self._command("run", *given, container, "--", *words)
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def remove(self, container):
        self._buildah("rm", container)

    def _command(self, *words):
        options = (f"--root={self._folder / 'storage'}", f"--runroot={self._folder / 'run'}",
                   "--storage-driver=vfs")
        return ["buildah", *options, *words], {**os.environ, "BUILDAH_ISOLATION": "chroot"}

    def _buildah(self, *words):
        command, environment = self._command(*words)
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"buildah {' '.join(words)}:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()
