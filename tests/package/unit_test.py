"""The units: systemd accepts them, and they give their programs few rights."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

UNITS = sorted((Path(__file__).parents[2] / "contrib/systemd").glob("weir*.*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
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
    # Method: programs of this tree stand for the installed ones.
    def test_systemd_finds_no_mistake(self):
        self.assertEqual(len(UNITS), 3)
        with tempfile.TemporaryDirectory() as directory:
            units = [Path(directory) / unit.name for unit in UNITS]
            for unit, source in zip(units, UNITS):
                text = source.read_text().replace("/usr/bin/weir-server", os.environ["WEIR_SERVER"])
                text = text.replace("/usr/libexec/weir", str(source.parent))
                unit.write_text(text.replace("man:weir-server(1) ", ""))
            verified = analyze("verify", *map(str, units))
        findings = [line for line in verified.stdout.splitlines() if "weir" in line]
        self.assertEqual(findings, [])
        self.assertEqual(verified.returncode, 0, verified.stdout)

    def test_the_exposure_is_low(self):
        for unit in SERVICES:
            report = analyze("security", "--offline=true", "--no-pager", str(unit)).stdout
            found = re.search(rf"Overall exposure level for {unit.name}: ([\d.]+)", report)
            self.assertIsNotNone(found, report)
            self.assertLessEqual(float(found.group(1)), EXPOSURE_MAX, report)


if __name__ == "__main__":
    unittest.main()
