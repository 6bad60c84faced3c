"""Checks the packages of clients/: each has the version of CMakeLists.txt, weir's licence, and a
README of at most 60 lines.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README_LINES_MAX = 60

# The file of a package that has its version, and the line of it.
MANIFESTS = {
    "CMakeLists.txt": r"^project\(weir_client VERSION (\S+) ",
    "pyproject.toml": r'^version = "(.+)"$',
    "package.json": r'^  "version": "(.+)",$',
    "Cargo.toml": r'^version = "(.+)"$',
    "version.go": r'^const Version = "(.+)"$',
}


def problems():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    version = re.search(r"^project\(weir VERSION (\S+)", text, re.MULTILINE)[1]
    licence = (ROOT / "LICENSE").read_bytes()
    for name, line in MANIFESTS.items():
        for manifest in sorted(ROOT.glob(f"clients/*/{name}")):
            folder = manifest.parent
            found = re.search(line, manifest.read_text(encoding="utf-8"), re.MULTILINE)
            if not found or found[1] != version:
                yield f"{manifest}: not of version {version}"
            if not (folder / "LICENSE").exists() or (folder / "LICENSE").read_bytes() != licence:
                yield f"{folder}: LICENSE is not that of weir"
            readme = folder / "README.md"
            if not readme.exists():
                yield f"{folder}: no README.md"
            elif len(readme.read_text(encoding="utf-8").splitlines()) > README_LINES_MAX:
                yield f"{readme}: longer than {README_LINES_MAX} lines"


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
