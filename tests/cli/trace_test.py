#!/usr/bin/env python3
"""--trace of run and bench: the file is JSON, its steps add up to the prompt and the answer, its parts to the steps."""

import os

from cli import CliTest, main
from traces import Trace

PHASES = {"embed", "qkv", "attention", "output", "ffn", "logits"}


class TraceFiles(CliTest):
    def test_run(self):
        path = self.path("run.json")
        plain = self.answer("--raw", "-p", "abc" * 30, "-n", "12", "--ignore-eos", "--temp", "0", "--chunk-size", "16")
        traced = self.answer("--raw", "-p", "abc" * 30, "-n", "12", "--ignore-eos", "--temp", "0", "--chunk-size", "16",
                             "--trace", path)
        self.assertEqual(plain, traced)
        trace = Trace(path)
        prompt = 92  # BOS, the mark of a space and the letters
        self.assertEqual(sum(s["prefill"] for s in trace.steps), prompt)
        self.assertEqual([s["prefill"] for s in trace.steps if s["prefill"]], [16] * 5 + [12])
        self.assertEqual(sum(s["decode"] for s in trace.steps), 11)  # the first token comes with the prompt
        self.assertEqual([s["number"] for s in trace.steps], list(range(1, len(trace.steps) + 1)))
        (request,) = trace.spans.values()
        self.assertEqual(set(request), {"whole", "queued", "prefill", "decode"})
        begin, end, args = request["whole"]
        self.assertEqual((args["finish"], args["prompt_tokens"], args["generated_tokens"]), ("length", prompt, 12))
        self.assertEqual([request[n][0] for n in ("queued", "prefill", "decode")],
                         [begin, request["queued"][1], request["prefill"][1]])
        self.assertEqual(request["decode"][1], end)

    def test_parts_add_up_to_the_step(self):
        path = self.path("parts.json")
        self.answer("--raw", "-p", "abc", "-n", "8", "--ignore-eos", "--trace", path)
        trace = Trace(path)
        for step, parts in trace.inside("step", 1):
            self.assertLessEqual({"forward", "draw"}, {p["name"] for p in parts})
            self.assertAlmostEqual(sum(p["dur"] for p in parts), step["dur"], delta=0.05)
            self.assertAlmostEqual(step["args"]["actual_ms"] * 1e3, step["dur"], delta=0.05)
        for forward, phases in trace.inside("forward", 2):
            self.assertEqual([p["name"] for p in phases], ["embed", "qkv", "attention", "output", "ffn", "logits"])
            self.assertLessEqual(sum(p["dur"] for p in phases), forward["dur"] + 0.05)

    def test_drafts(self):
        path = self.path("drafts.json")
        self.answer("--raw", "-p", "abcabcabcabc", "-n", "40", "--ignore-eos", "--temp", "0", "--spec-method", "ngram",
                    "--spec-num-tokens", "4", "--trace", path)
        trace = Trace(path)
        (request,) = trace.spans.values()
        args = request["whole"][2]
        self.assertGreater(args["drafted_tokens"], 0)
        self.assertEqual(sum(s["drafted"] for s in trace.steps), args["drafted_tokens"])
        self.assertEqual(sum(s["accepted"] for s in trace.steps), args["accepted_tokens"])

    def test_bench(self):
        path = self.path("bench.json")
        done = self.call("bench", "-m", self.model, "-p", "40", "-n", "3", "-r", "2", "-ub", "32", "--rows", "5", "-t", "1",
                         "--trace", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = Trace(path)
        runs = 3  # with the warm-up
        chunks = [s["prefill"] for s in trace.steps if s["prefill"]]
        self.assertEqual(chunks, [32, 8] * runs)
        self.assertEqual(len([s for s in trace.steps if s["decode"] == 1 and s["drafted"] == 0]), 3 * runs)
        self.assertEqual(len([s for s in trace.steps if s["drafted"] == 4]), 8 * runs)
        self.assertEqual({s["name"] for s in trace.slices if s["tid"] == 2}, PHASES)

    def test_refusals(self):
        folder = self.path("")
        for path in ("/dev/full", folder, os.path.join(folder, "no", "trace.json")):
            for command in (("run", "-p", "a"), ("serve", "--port", "0"), ("bench",)):
                self.refused(1, ["cannot", "trace", path], command[0], "-m", self.path("missing.gguf"), *command[1:],
                             "--trace", path)


if __name__ == "__main__":
    main()
