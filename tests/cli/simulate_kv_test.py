#!/usr/bin/env python3
"""`toccata simulate kv`: memory worked by hand, the tokens that stay in a real text, faults."""

import json
import xml.etree.ElementTree

from cli import CliTest, main

SHAPE = ("--layers", "2", "--kv-heads", "1", "--head-dim", "64", "--tokens", "320", "--columns", "5")


class SimulateKv(CliTest):
    def simulate(self, *arguments, **options):
        done = self.call("simulate", "kv", *arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def curves(self, *arguments):
        answer = json.loads(self.simulate(*arguments, "--json"))
        return {(c["policy"], c["type"]): c for c in answer["curves"]}

    def test_memory_by_hand(self):
        curves = self.curves(*SHAPE, "--kv-budget", "96")
        self.assertEqual(list(curves), [(p, t) for p in ("full", "streaming", "h2o", "snapkv") for t in ("f16", "q8_0", "q4_0")])
        # 2 layers x (K and V) x 32 tokens of 64 channels: 2 bytes each; 1 byte and 2 scales of 2 bytes; half a byte and those.
        block = {"f16": 4 * 32 * 128, "q8_0": 4 * 32 * 68, "q4_0": 4 * 32 * 36}
        # 4 sinks take a block, 92 latest tokens and an interval of 32 a ring of four. By rank 95 tokens take three blocks
        # and the present interval one; 192 slots of attention and position in 2 layers.
        blocks = {"full": [2, 4, 6, 8, 10], "streaming": [2, 4, 5, 5, 5], "h2o": [2, 4, 4, 4, 4], "snapkv": [2, 4, 4, 4, 4]}
        kept = {"full": [64, 128, 192, 256, 320], "streaming": [64] + [96] * 4, "h2o": [64] + [95 + 32] * 4,
                "snapkv": [64] + [95 + 32] * 4}
        for (policy, kind), curve in curves.items():
            state = 192 * 2 * 8 if policy in ("h2o", "snapkv") else 0
            self.assertEqual((curve["block_bytes"], curve["state_bytes"]), (block[kind], state))
            self.assertEqual([p["tokens"] for p in curve["points"]], [64, 128, 192, 256, 320])
            self.assertEqual([p["kept"] for p in curve["points"]], kept[policy], policy)
            self.assertEqual([p["blocks"] for p in curve["points"]], blocks[policy], policy)
            self.assertEqual([p["bytes"] for p in curve["points"]], [b * block[kind] + state for b in blocks[policy]])

    def test_text_and_picture(self):
        path = self.path("kv.svg")
        text = self.simulate(*SHAPE, "--kv-budget", "96", "--kv-policy", "streaming", "--cache-type", "f16", "--svg", path)
        self.assertEqual(text.splitlines()[:2], ["full      f16   |▂▃▅▆█| 0.16 MiB", "streaming f16   |▂▃▄▄▄| 0.08 MiB"])
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual(len([e for e in root if e.tag.endswith("polyline")]), 4)  # two curves, two in the legend

    def test_a_quarter_by_default(self):
        self.assertEqual({c["points"][-1]["kept"] for (p, _), c in self.curves("--tokens", "1000").items() if p == "streaming"},
                         {250})

    def kept(self, *arguments):
        answer = json.loads(self.simulate("-m", self.model, "-p", "abcdefghij" * 6, *arguments, "--json"))
        tokens = answer["text"]["tokens"]
        self.assertEqual(len(tokens), 62)  # BOS, the mark of a space and the letters
        return answer["text"]["heads"], tokens

    def test_tokens_of_a_text(self):
        heads, tokens = self.kept("--kv-budget", "20", "--kv-sinks", "3", "--kv-evict-interval", "8")
        self.assertEqual(heads, {"streaming": 1, "h2o": 4, "snapkv": 4})  # 2 layers of 2 heads
        self.assertEqual([i for i, t in enumerate(tokens) if t["kept_by"]["streaming"]], [0, 1, 2, *range(45, 62)])
        for policy in ("h2o", "snapkv"):
            # The last eviction was at 56: 19 tokens stayed, the sinks and the latest 9 of them; 6 have come since.
            counts = [t["kept_by"][policy] for t in tokens]
            self.assertEqual(sum(counts), 4 * (19 + 6))
            self.assertEqual(counts[:3] + counts[47:], [4] * (3 + 15))
            self.assertTrue(all(0 <= c <= 4 for c in counts))

    def test_a_head_and_chunks(self):
        flags = ("--kv-budget", "20", "--kv-evict-interval", "8", "--kv-policy", "h2o")
        heads, tokens = self.kept(*flags, "--layer", "1", "--kv-head", "0", "--chunk-size", "7")
        self.assertEqual(heads, {"h2o": 1})
        self.assertEqual(sum(t["kept_by"]["h2o"] for t in tokens), 19 + 6)
        self.assertEqual(self.kept(*flags), self.kept(*flags, "--chunk-size", "5"))

    def test_marks(self):
        text = self.simulate("-m", self.model, "-p", "abcdefghij", "--kv-budget", "4", "--kv-sinks", "2", "--kv-policy", "streaming")
        # BOS and the space are the sinks, then the latest two letters.
        self.assertTrue(text.endswith("[<s> ]abcdefgh[ij]\n"), text)
        # A character that is several tokens is not torn.
        text = self.simulate("-m", self.model, "-p", "aébc", "--kv-budget", "4", "--kv-sinks", "1", "--kv-policy", "streaming")
        self.assertTrue(text.endswith("[<s>] aé[bc]\n"), text)

    def test_faults(self):
        for words, arguments in [("need -m", ("-p", "a")), ("not both", ("-m", "x", "-p", "a", "-f", "b")),
                                 ("--layers", ("-m", "x", "--layers", "3")), ("--layer ", ("--layer", "0")),
                                 ("f32, f16", ("--cache-type", "q3_0"))]:
            self.refused(2, words, "simulate", "kv", *arguments)
        self.refused(1, "no room", "simulate", "kv", "--kv-budget", "4")
        self.refused(1, "no layer 2", "simulate", "kv", "-m", self.model, "-p", "abcdefghij" * 6, "--layer", "2")
        self.refused(1, "missing.gguf", "simulate", "kv", "-m", self.path("missing.gguf"))
        self.refused(1, "longer than the model", "simulate", "kv", "-m", self.model, "-p", "a" * 400)


if __name__ == "__main__":
    main()
