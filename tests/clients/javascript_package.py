"""Packs and installs weir-client as a user of npm does, and looks at what its archive holds.

Needs npm and Debian's node-typescript.

Environment:
    WEIR_NODE_MODULES     a folder with node-redis
"""

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import case_programs

PACKAGE = case_programs.ROOT / "clients/javascript"
TSC = "/usr/bin/tsc"

# Uses all of the types.
TYPED = """\
import { Limited, Limiter, Mistake, Unavailable, fields, problem } from "weir-client";
import type { Counts, Decision, Hold, Lease, Options, Slice } from "weir-client";
import { rateLimit } from "weir-client/express";
import { rateLimit as plugin } from "weir-client/fastify";
import { rateLimit as middleware } from "weir-client/hono";

const onUnavailable = (cause: string) => cause.length;
const options: Options = { url: "redis://h", fail: "closed", onUnavailable };
const limiter = new Limiter("redis://h", { deadlineMs: 20, tls: true });
const listed = ["10/s", "1000/h"] as const;
new Limiter({ sentinels: ["h1", "h2"] as const, master: "main" });

export async function use(words: string[]): Promise<string> {
  const decision: Decision = await limiter.allow("user:42", "10/s", "COST", 3, { details: true });
  await limiter.allow(...words);
  if (decision.retryAfterMs !== null) decision.retryAfterMs.toFixed();
  const headers: Record<string, string> = fields(decision, { legacy: true });
  const { status, body }: { status: number; body: string } = problem(decision);
  const mail = limiter.limited((to: string) => to.length, (to) => `mail:${to}`, "3/h");
  const length: number = await mail("ann");
  const held: Hold = await limiter.reserve(1000, "k", "5/s,cost={}", { estimate: 5 });
  const settled: boolean = await held.settle(3);
  const slot: Lease = await limiter.lease(1000, "k", "5,held");
  const slice: Slice = limiter.slice(5, 100, "k", "5/s");
  const counts: Counts = new Limiter(options).counts();
  try {
    await slice.spend();
  } catch (error) {
    if (error instanceof Limited) return error.decision.reason;
    if (error instanceof Unavailable || error instanceof Mistake) return error.message;
  }
  // @ts-expect-error: no such option
  new Limiter({ colour: 1 });
  // @ts-expect-error: no word
  await limiter.allow(undefined, "10/s");
  return JSON.stringify([headers, status, body, length, settled, slot.lost, counts.asked]);
}

export const limits = [
  rateLimit({ limiter, limits: listed, key: (request) => request.user, cost: () => undefined }),
  middleware({ limiter, limits: ["10/s"], denied: () => new Response("slow", { status: 420 }) }),
  plugin,
];
"""


def run(*words, **settings):
    return subprocess.run(words, check=True, capture_output=True, text=True, **settings).stdout


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="weir_package_")
        cls.addClassCleanup(directory.cleanup)
        cls.directory = Path(directory.name)
        packed = run("npm", "pack", "--json", str(PACKAGE), cwd=cls.directory)
        (cls.packed,) = json.loads(packed)
        (cls.directory / "package.json").write_text('{"type": "module"}')
        archive = f"./{cls.packed['filename']}"
        # Without the peer: no registry is asked.
        options = "--offline --legacy-peer-deps --no-audit --no-fund --loglevel=error"
        run("npm", "install", *options.split(), archive, cwd=cls.directory)
        modules = cls.directory / "node_modules"
        for module in case_programs.NODE_MODULES.iterdir():
            if not (modules / module.name).exists():
                (modules / module.name).symlink_to(module)

    # Goal: the archive has all modules and their types, and nothing besides.
    def test_the_archive(self):
        self.assertEqual(self.packed["name"], "weir-client")
        modules = {
            path.relative_to(PACKAGE).as_posix()
            for pattern in ("*.js", "*.d.ts", "lib/*.js") for path in PACKAGE.glob(pattern)
        }
        names = {each["path"] for each in self.packed["files"]}
        self.assertEqual(names, {*modules, "LICENSE", "README.md", "package.json"})

    def test_an_installation(self):
        code = """
import * as client from "weir-client";
for (const name of ["express", "fastify", "hono"]) await import(`weir-client/${name}`);
console.log(Object.keys(client).join());
"""
        (self.directory / "use.mjs").write_text(code)
        modules = {"NODE_PATH": str(case_programs.NODE_MODULES), "PATH": "/usr/bin:/bin"}
        printed = run("node", "use.mjs", cwd=self.directory, env=modules)
        self.assertEqual(printed, "Limited,Limiter,Mistake,Unavailable,fields,problem\n")

    def test_the_types(self):
        if not shutil.which(TSC):
            self.skipTest(f"wants {TSC}")
        (self.directory / "use.ts").write_text(TYPED)
        options = "--noEmit --strict --target es2022 --lib es2022,dom"
        for module in ("node16", "nodenext"):
            words = (*options.split(), "--module", module, "--moduleResolution", module)
            done = subprocess.run(
                (TSC, *words, "use.ts"), cwd=self.directory, check=False, text=True,
                stdout=subprocess.PIPE,
            )
            self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
