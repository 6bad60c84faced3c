"""Takes the module weir/client into a service as its README says, and builds and runs that.

Needs Go and the Go module proxy; `./dev clients` looks for them.
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "clients/go"

SERVICE = """package main

import (
    "context"
    "fmt"
    "log"

    weir "weir/client"
)

func ask(ctx context.Context) (err error) {
%s
    return err
}

func main() {
    limiter, err := weir.New("redis://app:secret@weir.internal")
    fmt.Println(limiter, err, weir.Version)
    _ = ask
}
"""


class PackageTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weir_package_")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.readme = (PACKAGE / "README.md").read_text(encoding="utf-8")

    def run_words(self, *words):
        done = subprocess.run(
            words, cwd=self.directory, check=False, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_service(self):
        commands = re.search(r"```sh\n(go mod edit.*?)```", self.readme, re.DOTALL)[1]
        call = re.search(r"```go\n(.*?)```", self.readme, re.DOTALL)[1]
        Path(self.directory, "main.go").write_text(SERVICE % call, encoding="utf-8")
        self.run_words("go", "mod", "init", "service")
        self.run_words("go", "mod", "edit", "-go=1.19")
        for command in commands.replace("PATH/clients/go", str(PACKAGE)).splitlines():
            self.run_words(*command.partition("#")[0].split())
        said = self.run_words("go", "run", ".")
        version = re.search(r'"(.+)"', (PACKAGE / "version.go").read_text())[1]
        self.assertEqual(
            said,
            "<Limiter redis://app@weir.internal:7379, fails open, deadline 50ms> <nil> "
            f"{version}\n",
        )

    # Goal: what a service takes along is go-redis and what that needs.
    def test_what_the_module_needs(self):
        needed = re.findall(r"^\s*(?:require )?(\S+/\S+) v", (PACKAGE / "go.mod").read_text(),
                            re.MULTILINE)
        self.assertEqual(needed[0], "github.com/redis/go-redis/v9")
        self.assertEqual(len(needed), 3)
        self.assertEqual([path.name for path in PACKAGE.glob("**/*_test.go")], [])


if __name__ == "__main__":
    unittest.main()
