"""tools/perf_compare.py: who runs when, the arithmetic over pairs, and what it refuses. The programs are stand-ins."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "perf_compare.py")
# Answers its n-th call with the n-th speed, and writes down that it was called.
PROGRAM = """#!/usr/bin/env python3
import json, os, sys
folder, name, speeds = {folder!r}, {name!r}, {speeds!r}
log = os.path.join(folder, "calls")
turn = open(log).read().split().count(name) if os.path.exists(log) else 0
open(log, "a").write(name + "\\n")
open(os.path.join(folder, name + ".args"), "w").write(" ".join(sys.argv[1:]))
row = dict(model_filename="/m/tiny.gguf", n_threads=2, n_prompt=512, n_gen=0, n_depth=0, n_seqs=1, n_rows={rows})
print(json.dumps([dict(row, avg_ts=speeds[turn])]))
"""


class PerfCompare(unittest.TestCase):
    def compare(self, base, new, *options, new_rows=0):
        with tempfile.TemporaryDirectory() as folder:
            for name, speeds, rows in [("base", base, 0), ("new", new, new_rows)]:
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(PROGRAM.format(folder=folder, name=name, speeds=speeds, rows=rows))
                os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
            out = os.path.join(folder, "out.json")
            command = [sys.executable, TOOL, os.path.join(folder, "base"), os.path.join(folder, "new"), "--json", out]
            done = subprocess.run([*command, *options, "--", "-m", "x.gguf", "-p", "512"], capture_output=True, text=True)
            calls = os.path.join(folder, "calls")
            self.calls = open(calls, encoding="utf-8").read().split() if os.path.exists(calls) else []
            if done.returncode != 0:
                return done.stderr
            self.arguments = open(os.path.join(folder, "new.args"), encoding="utf-8").read()
            self.text = done.stdout
            return json.load(open(out, encoding="utf-8"))[0]

    def test_pairs(self):
        got = self.compare([100, 200, 50], [110, 180, 100], "--pairs", "3")
        self.assertEqual(self.calls, ["base", "new", "new", "base", "base", "new"])
        self.assertEqual(self.arguments, "bench -m x.gguf -p 512 -r 1 --json")
        self.assertEqual((got["base"], got["new"], got["ratio"]), (100, 110, 1.1))
        self.assertEqual((got["least"], got["most"], got["faster_pairs"], got["pairs"]), (0.9, 2.0, 2, 3))
        self.assertEqual(got["verdict"], "no difference seen")
        self.assertIn("| tiny.gguf, prefill 512, 2 threads | 100.0 | 110.0 | 1.100 (0.900 to 2.000) | 2 of 3 |", self.text)

    def test_verdicts(self):
        self.assertEqual(self.compare([100] * 8, [101] * 7 + [90], "--pairs", "8")["verdict"], "faster")
        self.assertEqual(self.compare([100] * 8, [99] * 7 + [110], "--pairs", "8")["verdict"], "slower")
        self.assertEqual(self.compare([100] * 8, [101] * 6 + [90] * 2, "--pairs", "8")["verdict"], "no difference seen")

    def test_refusals(self):
        self.assertIn("only one of the programs", self.compare([1], [1], "--pairs", "1", new_rows=4))
        self.assertIn("exit status 1", self.compare([1], [], "--pairs", "1"))
        self.assertIn("--pairs must be 1 or more", self.compare([], [], "--pairs", "0"))


if __name__ == "__main__":
    unittest.main()
