#!/usr/bin/env python3
"""tools/compare_simulation.py: the arithmetic by hand, and a round on a tiny model."""
import importlib.util
import os
import re
import subprocess
import sys

from cli import TOCCATA, CliTest, main

TOOL = os.path.join(os.path.dirname(__file__), "..", "..", "tools", "compare_simulation.py")
spec = importlib.util.spec_from_file_location("compare_simulation", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


class CompareSimulation(CliTest):
    def test_figures(self):
        got = tool.simulated([{"ttft_s": 0.5, "tokens_s": [1, 2, 4]}, {"ttft_s": 1, "tokens_s": [2, 2.5]},
                              {"ttft_s": 4, "tokens_s": [7, 10]}])
        self.assertEqual(got, {"TTFT p50": 1000, "longest TTFT": 4000, "ITL mean": 1625, "ITL p50": 1500,
                               "ITL p99": 2000 + 0.97 * 1000, "longest gap": 3000})

    def test_a_round(self):
        done = subprocess.run([sys.executable, TOOL, "--toccata", TOCCATA, "-m", self.model, "--streams", "2", "--prompt", "3",
                               "--output", "8", "--long-prompt", "20", "--long-after", "0.1", "--pairs", "1"], capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = [line.split(" | ") for line in done.stdout.splitlines()[2:]]
        self.assertEqual([(r[0], r[1]) for r in rows],
                         [(f"| {s}", f) for s in ("chunks of 512", "auto", "ITL target 60 ms")
                          for f in ("TTFT p50", "longest TTFT", "ITL mean", "ITL p50", "ITL p99", "longest gap")])
        for r in rows:
            self.assertRegex(r[4], r"^\d+\.\d\d \(\d+\.\d\d to \d+\.\d\d\) \|$")
            self.assertTrue(all(re.fullmatch(r"\d+\.\d", x) for x in r[2:4]), r)


if __name__ == "__main__":
    main()
