"""The program weir-check, on directories that real servers leave, and on files with mistakes."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from weir_e2e import DEADLINE, NEVER, ServerTest

CONFIG = Path(__file__).parents[2] / "contrib/config"
KEYS = 300


class CheckTest(ServerTest):
    def check(self, *words, status=0, **settings):
        """The lines of a check that must end with this status."""
        settings.setdefault("stdout", subprocess.PIPE)
        ended = subprocess.run(
            [os.environ["WEIR_CHECK"], *words], cwd=self.directory, text=True,
            stderr=subprocess.PIPE, timeout=DEADLINE, check=False, **settings)
        self.assertEqual(ended.returncode, status, (ended.stdout, ended.stderr))
        self.errors = ended.stderr
        return (ended.stdout or "").splitlines()

    def files(self):
        """The files of the data directory, with their bytes and times."""
        data = Path(self.directory, "data")
        return {
            path.name: (path.stat().st_mtime_ns, path.is_file() and path.read_bytes())
            for path in [data, *data.iterdir()]
        }

    def fill(self):
        """A server with buckets, a policy and an override in the directory data."""
        server = self.start("--data-dir=data")
        server.wait_for_log("loaded 0 buckets")
        client = self.connect(server)
        client.call("RL.POLICY", "SET", "free", f"10/{NEVER}")
        client.call("RL.POLICY", "OVERRIDE", "free", "vip", f"20/{NEVER}")
        for key in range(KEYS):
            client.call("RL.ALLOW", f"key:{key}", f"10/{NEVER}")
        self.assertEqual(client.call("SAVE"), "OK")
        return server

    def test_a_directory_of_a_server_that_stopped_or_crashed(self):
        server = self.fill()
        self.assertEqual(
            self.check("data", "data", status=1),
            ["data: a server uses it, and changes its files while they are read"])
        self.assertEqual(server.stop(), 0)
        before = self.files()
        lines = self.check("data", "data")
        self.assertEqual(self.files(), before)
        self.assertRegex(lines[0], r"\Adata: format 1, stopped cleanly, with times up to 20\d\d-")
        loads = f"data: a start loads {KEYS} buckets, 1 limit, 1 policy, 1 override"
        self.assertIn(loads, lines)
        server = self.launch("--port=0", "--data-dir=data")
        server.wait_for_log(f"loaded {KEYS} buckets")
        server.kill()
        before = self.files()
        lines = self.check("data", "data/")
        self.assertEqual(self.files(), before)
        self.assertIn("left by a crash", lines[0])
        self.assertIn(loads.replace("data:", "data/:"), lines)

    def test_damage_that_a_start_refuses(self):
        self.assertEqual(self.fill().stop(), 0)
        tables = Path(self.directory, "data").glob("*.sst")
        table = max(tables, key=lambda path: path.stat().st_size)
        bytes_before = table.read_bytes()
        middle = len(bytes_before) // 4
        for damaged in (
            bytes_before[:middle],
            bytes_before[:middle] + bytes([bytes_before[middle] ^ 1]) + bytes_before[middle + 1 :],
            b"",
        ):
            table.write_bytes(damaged)
            before = self.files()
            finding = self.check("data", "data", status=1)[0]
            self.assertRegex(finding, rf"\Adata: .*{re.escape(table.name)}")
            self.assertEqual(self.files(), before)
            self.refused("--data-dir=data")
        table.write_bytes(bytes_before)
        self.check("data", "data")

    def test_a_directory_without_a_state(self):
        Path(self.directory, "empty").mkdir()
        Path(self.directory, "other").mkdir()
        self.write("other/notes.txt", "mine")
        for path, reason in (
            ("empty", "there is no database in it"),
            ("missing", "cannot read the data directory missing: No such file or directory"),
            ("other", "it holds 'notes.txt' and no database (no file CURRENT)"),
            ("other/notes.txt", "cannot read the data directory other/notes.txt: Not a directory"),
        ):
            self.assertEqual(self.check("data", path, status=1), [f"{path}: {reason}"])
        self.assertEqual(os.listdir(self.directory + "/empty"), [])
        self.assertFalse(os.path.exists(self.directory + "/missing"))

    # Goal: what is checked is what the server reads. Method: the server's error for the same file.
    def test_files_of_text_and_their_lines(self):
        for kind, option, text, line in (
            ("config", "config", "# x\nport = -1\n", 2),
            ("config", "config", "port = 1\nthreads = 1\nport = 2\n", 3),
            ("config", "config", "[server]\nport = 1\n", 1),
            ("policies", "policies", '[policies]\nfree = "10/x"\n', 2),
            ("policies", "policies", "[policies]\n\nfree = [\n", 3),
            ("policies", "policies", "[limits]\n", 1),
            ("checks", "checks", '[api]\nkey = "{nonsense}"\nlimits = ["1/s"]\n', 2),
            ("users", "users-file", "user a on >secret\nuser b +nonsense\n", 2),
        ):
            with self.subTest(text):
                path = self.write("file", text)
                (finding,) = self.check(kind, "file", status=1)
                self.assertRegex(finding, rf"\Afile:{line}: ")
                said = self.refused(f"--{option}={path}", status=2 if kind == "config" else 1)
                self.assertEqual(said.replace(path, "file"), "weir-server: " + finding)

    def test_rules_of_the_rate_limit_service(self):
        for name, key in ("a.yaml", "k1"), ("b.yaml", "k2"):
            self.write(name, f"domain: shop\ndescriptors: [{{key: {key}}}]\n")
        twice = ("./b.yaml:1: domain 'shop' stands in ./a.yaml:1, too "
                 "(--rls-merge-domains joins them)")
        facts = ["./a.yaml: domain 'shop', 1 rule", "./b.yaml: domain 'shop', 1 rule"]
        self.assertEqual(self.check("rls", ".", status=1), [twice, *facts])
        self.assertEqual(self.check("rls", ".", "--merge-domains"), facts)
        self.assertEqual(self.check("rls", "a.yaml"), ["a.yaml: domain 'shop', 1 rule"])
        self.write("a.yaml", "domain: shop\n\ndescriptor: []\n")
        (finding,) = self.check("rls", "a.yaml", status=1)
        self.assertTrue(finding.startswith("a.yaml:3: unknown key 'descriptor' ("), finding)

    def test_the_files_of_the_package(self):
        self.assertEqual(
            self.check("config", str(CONFIG / "weir.toml")), [f"{CONFIG}/weir.toml: ok"])

    def test_exit_codes(self):
        self.assertRegex(self.check("--help")[0], r"\AChecks a file as weir-server reads it")
        self.assertRegex(self.check("--version")[0], r"\Aweir \d+\.\d+\.\d+\Z")
        for words in ((), ("data",), ("files", "x"), ("data", "x", "y")):
            self.assertEqual(self.check(*words, status=2), [])
            self.assertRegex(self.errors, r"\Aweir-check: .*: see weir-check --help\n\Z")
        self.assertEqual(self.check("dat", "x", status=2), [])
        why = "weir-check: unknown kind of file 'dat': did you mean data?\n"
        self.assertEqual(self.errors, why)
        with open("/dev/full", "w", encoding="ascii") as full:
            self.check("--help", status=1, stdout=full)
        self.assertRegex(self.errors, r"\Aweir-check: cannot write to the standard output: .*\n\Z")
        (finding,) = self.check("users", "a\nb", status=1)
        self.assertTrue(finding.startswith(r"a\nb: cannot read the users file a\nb: "), finding)


if __name__ == "__main__":
    unittest.main()
