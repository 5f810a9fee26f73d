#!/usr/bin/env python3
"""`toccata bench serve` against the server: what it counts is what the server did. No figure is judged."""

import json
import subprocess

from serving import SECONDS, TOCCATA, ServerTest, main


class BenchServe(ServerTest):
    context = 2048
    arguments = ("--api-key", "k", "--max-num-seqs", "4", "--kv-memory", "32M")

    def bench(self, *arguments, key="k"):
        return subprocess.run([TOCCATA, "bench", "serve", "--url", self.server.url, "--api-key", key, *arguments],
                              capture_output=True, text=True, timeout=SECONDS)

    def test_counts(self):
        for loop in (["--concurrency", "3"], ["--rate", "200"]):
            done = self.bench("--requests", "9", "-p", "6", "-n", "5", "--prefix", "8", "--long-prompt", "40", "--long-after",
                              "0.01", "--json", *loop)
            self.assertEqual(done.returncode, 0, done.stderr)
            out = json.loads(done.stdout)
            self.assertEqual((out["requests"], out["completed"], out["errors"]), (10, 10, 0), out)
            self.assertEqual(out["output_tokens"], 9 * 5 + 16)
            self.assertGreater(out["prompt_tokens"], 9 * 14)
            for name in ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"):
                values = [out[name][k] for k in ("p50", "p90", "p95", "p99", "max")]
                self.assertEqual(values, sorted(values))
            self.assertEqual(out["goodput_requests_per_second"], out["requests_per_second"])
        self.assertTrue(self.server.settle())

    def test_goodput_and_the_table(self):
        done = self.bench("--requests", "2", "-p", "4", "-n", "3", "--slo-ttft", "0.000001")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("goodput 0.00", done.stdout)
        for word in ("TTFT", "ITL", "TPOT", "p99"):
            self.assertIn(word, done.stdout)

    def test_errors_are_counted_and_shown(self):
        done = self.bench("--requests", "2", "-p", "3000", "-n", "3", "--json")
        out = json.loads(done.stdout)
        self.assertEqual((out["completed"], out["errors"]), (0, 2))
        self.assertIn("context_length_exceeded", out["first_error"])
        wrong = self.bench(key="wrong")
        self.assertEqual((wrong.returncode, wrong.stdout), (1, ""))
        self.assertIn("401", wrong.stderr)
        nobody = subprocess.run([TOCCATA, "bench", "serve", "--url", "http://127.0.0.1:1"], capture_output=True, text=True)
        self.assertEqual((nobody.returncode, nobody.stderr.count("\n")), (1, 1), nobody)
        for url in ("https://a", "http://", ""):
            self.assertEqual(subprocess.run([TOCCATA, "bench", "serve", "--url", url], capture_output=True).returncode, 2)


if __name__ == "__main__":
    main()
