"""npm's packages: the version of Node, and the folder with the modules of a client."""

import re
import shutil
import subprocess
from pathlib import Path

from clients import Unavailable

INSTALL_SECONDS = 300
PACKAGE = Path(__file__).parents[2] / "clients/javascript"


def node_version():
    """The major version of Node; 0 without Node."""
    if not shutil.which("node"):
        return 0
    printed = subprocess.check_output(["node", "--version"], text=True)
    return int(re.match(r"v(\d+)", printed)[1])


def modules_of(client, folder):
    """The folder with the client's modules, inside `folder`; installs them if they are missing."""
    if node_version() < client.node_min:
        raise Unavailable(f"wants Node {client.node_min}, here is {node_version() or 'none'}")
    place = folder / client.name.replace(" ", "-")
    modules = place / "node_modules"
    if not (modules / ".package-lock.json").exists():  # npm writes it last
        if not shutil.which("npm"):
            raise Unavailable("wants npm")
        place.mkdir(parents=True, exist_ok=True)
        _install(client.npm, place)
    return modules


def link_modules(modules, directory):
    """Makes the folder node_modules of a program in a directory, with these modules and weir's own
    package, as an ES module looks for modules beside itself."""
    folder = Path(directory, "node_modules")
    folder.mkdir()
    for module in Path(modules).resolve().iterdir():
        (folder / module.name).symlink_to(module)
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(PACKAGE, folder / "weir-client", ignore=ignored)


def _install(package, place):
    """Runs no scripts of the packages, and does not retry a registry that is unreachable."""
    options = "--ignore-scripts --fetch-retries=0 --no-audit --no-fund --loglevel=error"
    command = ["npm", "install", "--prefix", str(place), *options.split(), package]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=INSTALL_SECONDS,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm does not get {package}: no end in {INSTALL_SECONDS} s") from error
    if done.returncode:
        code = re.search(r"code (\w+)", done.stdout)
        raise Unavailable(f"npm does not get {package}: {code[1] if code else done.stdout}")
