#!/usr/bin/env python3
"""`toccata simulate scheduling`: the classic by default, given requests worked by hand, a day of traffic, faults."""

import json
import xml.etree.ElementTree

from cli import CliTest, main

COSTS = "10,0,0.1,0,1,0"  # ms: a step, any prompt, a prompt token, its keys, a decode, its keys


class Scheduling(CliTest):
    def simulate(self, *arguments):
        done = self.call("simulate", "scheduling", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def settings(self, *arguments):
        return {s["setting"]: s for s in json.loads(self.simulate(*arguments, "--json"))["settings"]}

    def test_the_classic(self):
        settings = self.settings()
        self.assertEqual(list(settings), ["whole prompts", "chunks of 512", "auto", "ITL target 60 ms"])
        whole, chunks, auto, target = settings.values()
        for s in settings.values():
            self.assertEqual([(r["prompt"], r["output"]) for r in s["requests"]], [(64, 128)] * 8 + [(4096, 128)])
        # Its chunks are eight of 512 tokens, each beside all decodes that still run.
        counts = [[i["count"] for i in step["slices"] if i["request"] == 8 and i["first"] < 4096] for step in chunks["timeline"]]
        self.assertEqual([c for c in counts if c], [[512]] * 8)
        self.assertEqual([c for c in ([i["count"] for i in step["slices"] if i["request"] == 8 and i["first"] < 4096]
                                      for step in whole["timeline"]) if c], [[4096]])
        gaps = [s["itl_s"]["max"] for s in (whole, chunks, auto, target)]
        self.assertEqual(gaps, sorted(gaps, reverse=True))
        self.assertLess(target["itl_s"]["max"], 0.060 * 1.15)
        self.assertGreater(whole["itl_s"]["max"], 4)
        text = self.simulate()
        for words in ["whole prompts: ", "chunks of 512", "TTFT p50", "  9 |", "▒", "█"]:
            self.assertIn(words, text)

    def test_by_hand(self):
        path = self.path("two.jsonl", '{"arrival": 0.025, "prompt": 1000, "output": 2}\n\n'
                                      '{"arrival": 0, "prompt": 100, "output": 6, "priority": 1}\n')
        settings = self.settings("--requests", path, "--costs", COSTS, "--chunk-size", "500", "--itl-target", "0")
        self.assertEqual(len(settings), 3)
        expected = {"chunks of 500": ([20, 31, 92, 153, 165, 176], [153, 165]),
                    "whole prompts": ([20, 31, 153, 164, 175, 186], [141, 153])}
        for name, times in expected.items():
            for request, wanted in zip(settings[name]["requests"], times):
                self.assertEqual([round(t * 1e3, 6) for t in request["tokens_s"]], wanted)
                self.assertAlmostEqual(request["ttft_s"], wanted[0] / 1e3 - request["arrival_s"])

    def test_svg(self):
        path = self.path("timeline.svg")
        self.simulate("--streams", "2", "--svg", path)
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertGreater(len(root), 100)

    def test_traffic(self):
        flags = ["--rate", "0.5", "--hours", "0.5", "--prompt-mean", "200", "--output", "50"]
        result = json.loads(self.simulate(*flags, "--json"))
        self.assertLess(abs(result["count"] - 900), 150)
        self.assertNotIn("timeline", result["settings"][0])
        self.assertEqual(self.simulate(*flags), self.simulate(*flags, "--seed", "1"))
        self.assertNotEqual(self.simulate(*flags), self.simulate(*flags, "--seed", "2"))

    def test_measured_costs(self):
        text = self.simulate("-m", self.model, "--streams", "2", "--long-prompt", "600", "--output", "8")
        costs = [float(x) for x in text.split("--costs ")[1].split(",")]
        self.assertEqual(len(costs), 6)
        self.assertGreater(sum(costs), 0)

    def test_faults(self):
        cases = [
            (["--streams", "0", "--long-prompt", "0"], "no requests", 1),
            (["--requests", "x", "--rate", "1"], ["--requests", "--rate"], 2),
            (["--requests", "x", "--streams", "1"], ["--streams", "--requests"], 2),
            (["--rate", "1", "--long-prompt", "1"], ["--long-prompt", "--rate"], 2),
            (["--rate", "0"], ["--rate", "'0'"], 2),
            (["--rate", "9999", "--hours", "8000"], "--rate", 1),
            (["--hours", "1"], ["--hours", "--rate"], 2),
            (["--costs", "1,2"], ["six", "'1,2'"], 2),
            (["--costs", "0,1,1,1,1,1"], "more than 0", 2),
            (["--costs", COSTS, "-m", "x"], "--costs", 2),
            (["--kv-tokens", "64"], ["request", "192 tokens", "64"], 1),
            (["--streams", "64", "--svg", self.path("x.svg")], ["64", "65"], 1),
            (["--svg", self.path("none/x.svg")], "none/x.svg", 1),
            (["-m", "gone.gguf"], "gone.gguf", 1),
            (["--requests", "gone.jsonl"], "gone.jsonl", 1),
        ]
        for arguments, words, code in cases:
            with self.subTest(arguments=arguments):
                self.refused(code, words, "simulate", "scheduling", *arguments)

    def test_bad_requests(self):
        good = '{"arrival": 0, "prompt": 1, "output": 1}\n'
        for line, words in [("{", "line 2"), ("[]", "object"), ('{"arrival": 0}', "'prompt'"),
                            ('{"arrival": -1, "prompt": 1, "output": 1}', "'arrival'"),
                            ('{"arrival": 1e999, "prompt": 1, "output": 1}', "line 2"),
                            ('{"arrival": 0, "prompt": 0, "output": 1}', "'prompt'"),
                            ('{"arrival": 0, "prompt": 1, "output": 1e9}', "'output'"),
                            ('{"arrival": 0, "prompt": 1, "output": 1, "priority": "x"}', "'priority'")]:
            with self.subTest(line=line):
                path = self.path("bad.jsonl", good + line)
                self.refused(1, ["bad.jsonl", words], "simulate", "scheduling", "--requests", path)
        self.refused(1, "no requests", "simulate", "scheduling", "--requests", self.path("empty.jsonl", "\n"))


if __name__ == "__main__":
    main()
