"""The instructions that each stage of a decision takes, counted by valgrind.

    instructions.py [FOLDER]      or: ./dev bench instructions

Counts do not depend on the load of the machine, so a difference of 1 % shows. Each benchmark runs
twice, with few steps and with many: the difference is the cost of the steps alone, without the
setup. FOLDER is that of the benchmarks (build/release/bench).
"""

import os
import re
import subprocess
import sys

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "build/release/bench"
COMMANDS = 64  # commands in a step of session_bench
# Row -> (program, benchmark, steps, items per step); figures are per item.
ROWS = {
    "a request parsed": ("stages_bench", "BM_Parse", 10_000, 1),
    "its row found": ("stages_bench", "BM_FindCommand/upper:1", 10_000, 1),
    "a limit's text found": ("limit_memo_bench", "BM_LimitMemoHit", 10_000, 1),
    "a key hashed": ("stages_bench", "BM_HashKey/bytes:15", 10_000, 1),
    "a bucket found, of 1,000": ("stages_bench", "BM_TableHit/buckets:1000", 10_000, 1),
    "one limit decided": ("limiter_bench", "BM_OneLimit/keys:1", 10_000, 1),
    "one limit denied": ("limiter_bench", "BM_OneLimitDenied/keys:1", 10_000, 1),
    "one fixed window decided": ("limiter_bench", "BM_OneFixedWindow/keys:1", 10_000, 1),
    "one calendar month decided": ("limiter_bench", "BM_OneCalendarMonth/keys:1", 10_000, 1),
    "three limits decided": ("limiter_bench", "BM_ThreeLimits/keys:1", 10_000, 1),
    "a call of two rules decided": ("limiter_bench", "BM_CallOfTwoRules", 10_000, 1),
    "a reply written": ("stages_bench", "BM_Reply", 10_000, 1),
    "PING, all of it": ("session_bench", "BM_Ping", 500, COMMANDS),
    "RL.ALLOW, 1 limit": ("session_bench", "BM_AllowOneLimit", 500, COMMANDS),
    "RL.CHARGE, 1 limit": ("session_bench", "BM_ChargeOneLimit", 500, COMMANDS),
    "RL.ALLOW, with keep=": ("session_bench", "BM_AllowKeeping", 500, COMMANDS),
    "RESERVE, then COMMIT": ("session_bench", "BM_Reserve", 500, COMMANDS),
    "RL.ALLOW, 3 limits": ("session_bench", "BM_AllowThreeLimits", 500, COMMANDS),
    "RL.ALLOW, 3 keys": ("session_bench", "BM_AllowThreeKeys", 500, COMMANDS),
    "RL.ALLOW, 1st alternative": ("session_bench", "BM_AllowAlternative/second:0", 500, COMMANDS),
    "RL.ALLOW, 2nd alternative": ("session_bench", "BM_AllowAlternative/second:1", 500, COMMANDS),
    "RL.ALLOW, denied": ("session_bench", "BM_DenyOneLimit/keys:2000", 500, COMMANDS),
    "JSON, 1 limit, batch of 100": ("json_bench", "BM_JsonBatch", 200, 100),
}


def count(program, benchmark, steps):
    """The instructions of the whole program."""
    # A benchmark with a fixed number of iterations has that number in its name.
    done = subprocess.run(
        ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
         os.path.join(FOLDER, program), f"--benchmark_filter=^{benchmark}(/iterations|$)"],
        env={**os.environ, "WEIR_BENCH_ITERATIONS": str(steps)},
        capture_output=True, text=True, check=True)
    if benchmark not in done.stdout:
        sys.exit(f"{program} has no benchmark {benchmark}")
    return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr).group(1).replace(",", ""))


def main():
    for name, (program, benchmark, steps, items) in ROWS.items():
        few, many = count(program, benchmark, steps // 10), count(program, benchmark, steps)
        print(f"{name:26} {(many - few) / (steps - steps // 10) / items:9,.0f} instructions",
              flush=True)


if __name__ == "__main__":
    main()
