"""A stranger's ten minutes with each language, in a bare Debian 12.

    run.py PACKAGES WORK [LANG ...]      or, as root: ./dev strangers [LANG ...]

PACKAGES: the folder of the .deb files; WORK: the folder for the systems. LANG.sh types what the
pages show, in a system that has nothing but what they tell to install. Needs Debian's mirror and
the registry of the language. It fails if something is not as the pages show.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/package/bare"))

from bare_system import BareSystem, make_base  # noqa: E402

LANGUAGES = ("python", "javascript", "go", "rust", "cpp")
CERTIFICATES = Path("/usr/local/share/ca-certificates")  # those that this machine trusts besides


def lay_out(system, packages, language):
    """Puts the package, a checkout and the scripts into /root."""
    home = system.root / "root"
    (package,) = packages.glob("weir_*.deb")
    shutil.copy(package, home)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
        check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (home / "weir" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, home / "weir" / name)
    for script in ("stranger.sh", f"{language}.sh"):
        shutil.copy(HERE / script, home)
    shutil.copy("/etc/resolv.conf", system.root / "etc/resolv.conf")
    system.write("/etc/apt/apt.conf.d/yes", 'APT::Get::Assume-Yes "true";\n')  # to its question
    if CERTIFICATES.is_dir():
        shutil.copytree(CERTIFICATES, f"{system.root}{CERTIFICATES}", dirs_exist_ok=True)


def meet(language, packages, work):
    """Returns whether all was as the pages show."""
    system = BareSystem(work / language)
    system.unpack(work / "base.tar")
    lay_out(system, packages, language)
    begin = time.monotonic()
    try:
        system.boot()
        done = system.ask(f"bash {language}.sh", seconds=1800)
    finally:
        system.shut_down()
    print(f"--- {language}: {'ok' if done.returncode == 0 else 'FAILED'} after "
          f"{time.monotonic() - begin:.0f} s\n{done.stdout}", flush=True)
    return done.returncode == 0


def main():
    packages, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    make_base(work / "base.tar")
    met = [meet(language, packages, work) for language in sys.argv[3:] or LANGUAGES]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
