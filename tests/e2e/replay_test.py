"""The program weir-replay, run as users run it: a small log of each kind, reports and errors."""

import datetime
import gzip
import json
import os
import subprocess
import unittest
import zoneinfo

from weir_e2e import DEADLINE, ServerTest

# The clocks go back in the night after, and the month ends within these requests.
BEGIN = datetime.datetime(2026, 10, 24, 21, 30, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin"))
STEP_NS = 25 * 60 * 10**9
REQUESTS = 500
ACCESS_LOG = """\
192.0.2.1 - - [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 9 "-" "curl"
192.0.2.1 - ann b [10/Oct/2026:13:55:36 +0200] "GET /b HTTP/1.1" 200 9 "-" "curl"
192.0.2.2 - - [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 9
hello
192.0.2.1 - - [10/Oct/2026:13:55:40 +0200] "GET /c HTTP/1.1" 200 9
"""
ACCESS_TABLE = """\
-: 5 lines, 4 requests
from 2026-10-10 11:55:36 UTC to 2026-10-10 11:55:40 UTC
1 bad line left out:
  line 4: expected an address, two names and [, as in 192.0.2.7 - - [10/Oct/2026:13:55:36 +0200]

{key} 1/m
  requests                     4
  admitted                     2    50.000 %
  denied                       2    50.000 %
  keys denied                  1

     its denials        decided  limit
               2              2  1/m

         denials       in a row  first denial                 key
               2              2  2026-10-10 11:55:36 UTC      192.0.2.1

Clients react to denials by waiting, repeating or giving up; a log does not.
"""
CSV_LOG = "\ufefftime,key,cost\n# two users\n1700000000,a,2\n1700000000.5,b\n1700000003,a,3\n"


class ReplayTest(ServerTest):
    def run_replay(self, *words, log="", status=0, **settings):
        """The output and the errors of a run that must end with this status."""
        settings.setdefault("stdout", subprocess.PIPE)
        ended = subprocess.run(
            [os.environ["WEIR_REPLAY"], *words], cwd=self.directory, input=log, text=True,
            stderr=subprocess.PIPE, timeout=DEADLINE, check=False, **settings)
        self.assertEqual(ended.returncode, status, ended.stderr)
        if status == 0:
            self.assertEqual(ended.stderr, "")
        return ended.stdout, ended.stderr

    def json_of(self, *words, log):
        return json.loads(self.run_replay(*words, "--json", "-", log=log)[0])

    def test_access_log(self):
        output, _ = self.run_replay("--ask", "{key} 1/m", "-", log=ACCESS_LOG)
        self.assertEqual(output, ACCESS_TABLE)
        path = self.write("access.log", ACCESS_LOG)
        log = json.loads(self.run_replay("--ask", "{key} 1/m", "--json", path)[0])["log"]
        self.assertEqual((log["lines"], log["requests"], log["bad_lines"]), (5, 4, 1))
        self.assertEqual(log["first_bad_lines"][0]["line"], 4)
        self.assertEqual(log["end_ns"] - log["begin_ns"], 4 * 10**9)

    def test_csv_file(self):
        report = self.json_of(
            "--csv", "--ask", "{key} 3/h", "--ask", "all 5/h", "--fit", "100", log=CSV_LOG)
        self.assertEqual(report["log"]["requests"], 3)
        self.assertEqual(report["log"]["passed_over"], 2)
        first, second = report["asks"]
        self.assertEqual((first["admitted"], first["denied"], first["keys_denied"]), (2, 1, 1))
        self.assertEqual(first["worst_keys"][0]["key"], "a")
        self.assertEqual(first["fits"], [{"limit": "3/h", "burst": 5}])
        self.assertEqual((second["admitted"], second["limits"][0]["decided"]), (2, 1))
        self.assertEqual(report["comparison"],
                         {"both": 2, "only_first": 0, "only_second": 0, "neither": 1})

    # Goal: a replay of a capture answers as the server did, day by day of a zone and through bans,
    # and forgets what it forgot. Method: requests at given times; the capture gets these times for
    # the commands that take none.
    def test_capture_of_monitor(self):
        server = self.start("--allow-explicit-time")
        monitor = self.connect(server)
        self.assertEqual(monitor.call("MONITOR"), "OK")
        client = self.connect(server)
        limits = ["5/day,tz=Europe/Berlin", "2/h,ban=50m", "30/month,tz=Europe/Berlin"]
        capture = ["OK"]
        admitted = dict.fromkeys(limits, 0)

        def call(now_ns, *words):
            answer = client.call(*words)
            _, _, rest = monitor.reply().partition(" ")
            capture.append(f"{now_ns // 10**9}.{now_ns // 1000 % 10**6:06} {rest}")
            return answer

        for request in range(REQUESTS):
            now_ns = round(BEGIN.timestamp()) * 10**9 + request * STEP_NS
            for limit in limits:
                answer = call(now_ns, "RL.ALLOW", f"k:{limit}", limit, "AT", now_ns)
                admitted[limit] += answer[0]
            if request == 150:
                call(now_ns, "DEL", f"k:{limits[0]}")
            if request == 200:
                call(now_ns, "FLUSHALL")
            if request == 250:
                call(now_ns, "RL.RESET", f"k:{limits[1]}")
        for limit in limits:
            own = [line for line in capture if limit in line or "FLUSHALL" in line]
            report = self.json_of("--monitor", "--ask", "{key} " + limit, log="\n".join(own))
            ask = report["asks"][0]
            self.assertEqual((ask["requests"], ask["admitted"]), (REQUESTS, admitted[limit]), limit)
            self.assertTrue(30 < ask["admitted"] < REQUESTS, limit)
            self.assertEqual(report["log"]["bad_lines"], 0)

    # Goal: a log comes out the same from a gzip file, named or through a pipe that gives a byte at
    # a time, and a cut file is an error that names its line, without a report.
    def test_packed_log(self):
        plain, _ = self.run_replay("--ask", "{key} 1/m", self.write("access.log", ACCESS_LOG))
        packed = gzip.compress(ACCESS_LOG.encode())
        path = os.path.join(self.directory, "access.log.gz")
        with open(path, "wb") as file:
            file.write(packed)
        output, _ = self.run_replay("--ask", "{key} 1/m", path)
        self.assertEqual(output, plain.replace("access.log", "access.log.gz"))

        command = [os.environ["WEIR_REPLAY"], "--ask", "{key} 1/m", "-"]
        with subprocess.Popen(command, bufsize=0, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as piped:
            for byte in packed:
                piped.stdin.write(bytes([byte]))
            piped.stdin.close()
            self.assertEqual(piped.stdout.read().decode(), ACCESS_TABLE)

        with open(path, "wb") as file:
            file.write(packed[:-4])
        output, errors = self.run_replay("--ask", "{key} 1/m", path, status=1)
        self.assertEqual(output, "")
        self.assertEqual(errors, f"weir-replay: '{path}' line 6: the file is cut: its gzip data "
                                 "end here\n")

    # Goal: each format is known by its lines, and answers as the same requests in another one.
    def test_formats_are_told(self):
        begin = datetime.datetime(2026, 10, 10, 11, 55, 36, tzinfo=datetime.timezone.utc)
        rows = [(begin + datetime.timedelta(seconds=seconds), address, network)
                for seconds, address, network in (
                    (0, "192.0.2.1", "192.0.2.1"), (0, "2001:db8::1", "2001:db8::"),
                    (0, "2001:db8::2", "2001:db8::"), (16, "192.0.2.1", "192.0.2.1"))]
        logs = {
            "access": [f'{address} - - [{at:%d/%b/%Y:%H:%M:%S %z}] "GET / HTTP/1.1" 200 9'
                       for at, address, _ in rows],
            "csv": [f"{at:%Y-%m-%d %H:%M:%S}.0000000,{network}" for at, _, network in rows],
            "json": [json.dumps({"ts": at.timestamp(), "request": {"client_ip": address}})
                     for at, address, _ in rows],
            "monitor": [f'{at.timestamp():.6f} [0 [::1]:50000] "RL.ALLOW" "{network}" "9/s"'
                        for at, _, network in rows],
        }
        for name, lines in logs.items():
            with self.subTest(name):
                report = self.json_of("--ask", "{key} 1/s", log="\n".join(lines))
                self.assertEqual(report["log"].pop("format"), name)
                self.assertEqual(report["log"]["bad_lines"], 0)
                self.assertEqual(report["log"]["begin_ns"], int(begin.timestamp()) * 10**9)
                ask, = report["asks"]
                self.assertEqual((ask["requests"], ask["admitted"]), (4, 3))
                self.assertEqual(ask["worst_keys"][0]["key"], "2001:db8::")

    # As Azure publishes the requests of its language models: times and tokens, no keys.
    def test_csv_file_without_keys(self):
        log = ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
               "2023-11-16 18:17:04.0319600,3180,8\n")
        words = ["--csv", "--columns", "time,cost,generated", "--key", "all"]
        report = self.json_of(*words, "--ask", "{key} 5k/m", "--fit", "100", log=log)
        ask, = report["asks"]
        self.assertEqual((ask["requests"], ask["admitted"]), (2, 1))
        self.assertEqual(ask["worst_keys"][0]["key"], "all")
        self.assertEqual(ask["fits"][0]["burst"], 7984)

    def test_output_that_cannot_be_written(self):
        log = "1,k\n"
        reasons = []
        with open("/dev/full", "w", encoding="ascii") as full:
            for words in (["--help"], ["--csv", "--ask", "{key} 1/s", "-"],
                          ["--csv", "--ask", " ".join(["{key}", *["1/s"] * 60]), "-"]):
                reasons.append(self.run_replay(*words, log=log, stdout=full, status=1)[1])
        closed = ["sh", "-c", 'exec "$0" --help >&-', os.environ["WEIR_REPLAY"]]
        ended = subprocess.run(
            closed, capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(ended.returncode, 1)
        for reason in [*reasons, ended.stderr]:
            self.assertRegex(reason, r"\Aweir-replay: cannot write to the standard output: .*\n\Z")

    def test_exit_codes(self):
        self.assertIn("--ask", self.run_replay("--help")[0])
        ask = ["--ask", "{key} 1/s"]
        for status, words, log, reason in (
            (1, [*ask, "absent.log"], "", "cannot read 'absent.log': No such file or directory"),
            (1, [*ask, "-"], "hello\n", "'-' has no request in 1 line: line 1: expected an"),
            (1, ["--csv", *ask, "-"], "90,k\n80,k\n70,k\n", "2 lines go back in time and only 1"),
            (2, ["--csv", *ask, "-"], "key,time\nk,1\n", "'-' line 1: the header has 'key' in the"),
            (1, [*ask, "-"], "<190>x", "no request in 1 line: line 1: expected an address, two "),
            (1, [*ask, "-"], "<190>x", "; this looks like syslog: use what is behind the program"),
            (2, [*ask, "--key", "a", "-"], ACCESS_LOG, "--key is for CSV files and JSON lines"),
            (2, [*ask, "--json-fields", "x", "-"], "", "'x' is not time=, key= or cost="),
            (2, [*ask, "a.log", "b.log"], "", "unexpected 'b.log' after the log 'a.log'"),
            (2, [*ask, "--fit", "", "-"], "", "--fit '': expected a percentage"),
            (2, ["--ask", "{key} 1/x", "-"], "", "invalid limit '1/x'"),
            (1, [*ask, "--policies", "absent.toml", "-"], "", "absent.toml"),
        ):
            with self.subTest(words):
                output, errors = self.run_replay(*words, log=log, status=status)
                self.assertEqual(output, "")
                self.assertRegex(errors, r"\Aweir-replay: .*\n\Z")
                self.assertIn(reason, errors)


if __name__ == "__main__":
    unittest.main()
