"""The unit of the service: systemd accepts it, and it gives the server few rights."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "contrib/systemd/weir.service"
EXPOSURE_MAX = 1.5


def analyze(*words, environment=None):
    return subprocess.run(
        ["systemd-analyze", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


class UnitTest(unittest.TestCase):
    # Method: the program of the build stands for the installed one.
    def test_systemd_finds_no_mistake(self):
        with tempfile.TemporaryDirectory() as directory:
            unit = Path(directory) / UNIT.name
            text = UNIT.read_text().replace("/usr/bin/weir-server", os.environ["WEIR_SERVER"])
            unit.write_text(text.replace("man:weir-server(1) ", ""))
            verified = analyze("verify", str(unit))
        findings = [line for line in verified.stdout.splitlines() if UNIT.name in line]
        self.assertEqual(findings, [])
        self.assertEqual(verified.returncode, 0, verified.stdout)

    def test_the_exposure_is_low(self):
        report = analyze("security", "--offline=true", "--no-pager", str(UNIT)).stdout
        found = re.search(r"Overall exposure level for weir\.service: ([\d.]+)", report)
        self.assertIsNotNone(found, report)
        self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX, report)


if __name__ == "__main__":
    unittest.main()
