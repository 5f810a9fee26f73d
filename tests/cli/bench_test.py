#!/usr/bin/env python3
"""`toccata bench`: the tests that are asked for, as a table and as JSON. No figure is judged."""

import json
import subprocess

from cli import SECONDS, TOCCATA, CliTest, main


class Bench(CliTest):
    def rows(self, *arguments):
        done = self.call("bench", "-m", self.model, "-r", "2", "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_json_has_the_fields_of_llama_bench(self):
        rows = self.rows("-p", "16,24", "-n", "4", "-pg", "8,2", "-d", "0,32", "-b", "1,3", "--rows", "1,2", "-t", "1,2")
        self.assertEqual(len(rows), 2 * 2 * (2 + 2 + 1 + 2))
        self.assertEqual({r["n_threads"] for r in rows}, {1, 2})
        for r in rows:
            for key in ["model_filename", "model_type", "model_size", "model_n_params", "type_k", "type_v", "avg_ns",
                        "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts", "n_depth", "limit_ts", "isa"]:
                self.assertIn(key, r)
            self.assertEqual(len(r["samples_ts"]), 2)
            self.assertAlmostEqual(sum(r["samples_ts"]) / 2, r["avg_ts"], delta=1e-6 * r["avg_ts"])
            self.assertGreater(r["limit_ts"], 0)
            tokens = r["n_rows"] * 8 or r["n_seqs"] * (r["n_prompt"] + r["n_gen"])
            self.assertAlmostEqual(r["samples_ts"][0], tokens / (r["samples_ns"][0] / 1e9), delta=1e-6 * r["avg_ts"])
        self.assertEqual([(r["n_prompt"], r["n_gen"], r["n_seqs"], r["n_rows"]) for r in rows[:7]],
                         [(16, 0, 1, 0), (24, 0, 1, 0), (0, 4, 1, 0), (0, 4, 3, 0), (8, 2, 1, 0), (0, 0, 1, 1), (0, 0, 1, 2)])
        self.assertEqual(rows[5]["rows_cost"], 1.0)

    def test_repeated_flags_add_up_and_replace_the_default(self):
        self.assertEqual([r["n_prompt"] for r in self.rows("-p", "8", "-p", "9,10", "-n", "0")], [8, 9, 10])

    def test_the_table_shows_limits(self):
        done = self.call("bench", "-m", self.model, "-m", self.model, "-p", "8", "-n", "2", "-r", "1", "--attention", "naive")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.decode().splitlines()
        self.assertEqual(sum("GB/s" in line for line in lines), 2)
        table = [line for line in lines if line.startswith("|")]
        self.assertEqual(len(table), 8)
        self.assertEqual({len(line) for line in table}, {len(table[0])})
        self.assertIn("llama", table[2])
        self.assertIn("\u00b1", table[2])

    def test_more_than_the_memory_is_refused(self):
        done = self.call("bench", "-m", self.model, "-p", str(1 << 24), "-n", "0", "-d", str(1 << 24), "-b", "1024", "-r", "1",
                         "-n", str(1 << 24))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_a_closed_pipe_ends_it(self):
        process = subprocess.Popen([TOCCATA, "bench", "-m", self.model, "-p", "8", "-n", "2", "-r", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        error = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(SECONDS), 1, error)


if __name__ == "__main__":
    main()
