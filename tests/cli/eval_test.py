#!/usr/bin/env python3
"""`toccata eval`: every kind on the tiny model, malformed reference files, perplexity and dumped logits."""

import json
import math
import os
import re
import struct
import subprocess
import sys

import tiny_gguf
from cli import SECONDS, TOCCATA, CliTest, main

IDS = [tiny_gguf.BOS] + [tiny_gguf.LETTER_BASE + i * 7 % 26 for i in range(40)]


class Eval(CliTest):
    def evaluate(self, kind, cases, *arguments, **extra):
        ref, out = self.path("ref.json", json.dumps({"kind": kind, "cases": cases, **extra})), self.path("out.jsonl")
        done = self.call("eval", "-m", self.model, "--cases", ref, "--out", out, *arguments)
        self.assertEqual((done.returncode, done.stdout), (0, b""), done.stderr)
        with open(out, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_tok_and_piece(self):
        lines = self.evaluate("tok", [{"id": "a", "text": "ab<s>\u00fc"}, {"id": "b", "text": ""}])
        self.assertEqual([x["id"] for x in lines], ["a", "b"])
        self.assertIn(tiny_gguf.BOS, lines[0]["ids"])
        self.assertNotIn(tiny_gguf.BOS, lines[0]["ids_no_special"])
        self.assertEqual(lines[1]["ids"], [])
        pieces = self.evaluate("piece", [{"id": "p", "token": tiny_gguf.BYTE_BASE + 0xFF}, {"id": "q", "token": tiny_gguf.BOS}])
        self.assertEqual([p["hex"] for p in pieces], ["ff", b"<s>".hex()])

    def test_chat_needs_no_model(self):
        ref = self.path("ref.json", json.dumps({
            "kind": "chat",
            "templates": {"t": {"template": "{{ bos_token }}{{ messages[0].content }}", "bos": "<s>", "eos": "</s>"},
                          "bad": {"template": "{{ raise_exception('no') }}", "bos": "", "eos": ""}},
            "cases": [{"id": "x", "template": "t", "messages": [{"role": "user", "content": "hi"}]},
                      {"id": "y", "template": "bad", "messages": [{"role": "user", "content": "hi"}]}]}))
        done = self.call("eval", "--cases", ref)
        self.assertEqual(done.returncode, 0, done.stderr)
        x, y = map(json.loads, done.stdout.splitlines())
        self.assertEqual(x["text"], "<s>hi")
        self.assertIn("no", y["error"])

    def test_logits_ppl_and_greedy_agree_with_each_other(self):
        positions = [{"pos": p} for p in range(len(IDS))]
        logits = self.evaluate("logits", [{"id": "l", "ids": IDS, "positions": positions}])[0]
        self.assertEqual([p["pos"] for p in logits["positions"]], list(range(len(IDS))))
        total = 0.0
        for i, p in enumerate(logits["positions"]):
            self.assertEqual(len(p["top"]), 64)
            self.assertEqual(p["top"], sorted(p["top"], key=lambda t: (-t[1], t[0])))
            self.assertGreater(p["lse"], p["top"][0][1])
            self.assertEqual("next_logprob" in p, i + 1 < len(IDS))
            total -= p.get("next_logprob", 0.0)
        self.assertAlmostEqual(total, logits["nll"], places=6)
        self.assertEqual(self.evaluate("ppl", [{"id": "p", "ids": IDS}], "--chunk-size", "7")[0]["nll"], logits["nll"])
        greedy = self.evaluate("greedy", [{"id": "g", "ids": IDS, "out": [0] * 5}], "-t", "1")[0]["out"]
        self.assertEqual(len(greedy), 5)
        self.assertEqual(greedy[0], logits["positions"][-1]["top"][0][0])
        again = self.evaluate("greedy", [{"id": "g", "ids": IDS + greedy[:2], "out": [0] * 3}])[0]["out"]
        self.assertEqual(again, greedy[2:])

    def test_kv_is_the_same_for_every_chunk_and_full_within_the_budget(self):
        case = lambda policy, **more: {"id": policy, "text": "t", "policy": policy, "prefix": 30, "greedy": [0] * 4, **more}
        cases = [case("full"), case("stream", budget=24, sinks=4), case("window", budget=24), case("streaming", budget=41)]
        lines = {}
        for chunk in ("512", "5"):
            lines[chunk] = self.evaluate("kv", cases, "--chunk-size", chunk, texts={"t": IDS})
        self.assertEqual(lines["5"], lines["512"])
        full, stream, window, whole = lines["5"]
        self.assertEqual([len(full["nll"]), len(full["greedy"])], [len(IDS) - 1, 4])
        self.assertEqual(full["nll"][:24], stream["nll"][:24])
        self.assertNotEqual(full["nll"][24:], stream["nll"][24:])
        self.assertNotEqual(window["nll"], stream["nll"])
        self.assertEqual(full["nll"], whole["nll"])

    def test_malformed_references_are_refused_in_one_line(self):
        case = {"id": "a", "ids": [1]}
        bad = [
            ("", "JSON"), ("{", "JSON"), ("[1,2", "JSON"), ("{} x", "JSON"), ("nonsense", "JSON"), (b"\xff\xfe", "JSON"),
            ("[" * 100000, "JSON"), ('{"kind": "ppl", "cases": [1e999]}', ""),
            ("[]", "object"), ("{}", "'kind'"), ({"kind": 5, "cases": []}, "'kind'"), ({"kind": "ppl"}, "'cases'"),
            ({"kind": "none", "cases": []}, "'none'"), ({"kind": "ppl", "cases": {}}, "'cases'"),
            ({"kind": "ppl", "cases": [5]}, "case 0"), ({"kind": "ppl", "cases": [{}]}, "'id'"),
            ({"kind": "ppl", "cases": [case, case]}, "twice"), ({"kind": "ppl", "cases": [{"id": "a"}]}, "'ids'"),
            ({"kind": "ppl", "cases": [{"id": "a", "ids": []}]}, "empty"),
            ({"kind": "ppl", "cases": [{"id": "a", "ids": [1.5]}]}, "'ids'"),
            ({"kind": "ppl", "cases": [{"id": "a", "ids": [-1]}]}, "'ids'"),
            ({"kind": "ppl", "cases": [{"id": "a", "ids": [10 ** 12]}]}, "'ids'"),
            ({"kind": "ppl", "cases": [{"id": "a", "ids": [tiny_gguf.VOCAB]}]}, "vocabulary"),
            ({"kind": "logits", "cases": [{"id": "a", "ids": [1], "positions": [{"pos": 1}]}]}, "'pos'"),
            ({"kind": "piece", "cases": [{"id": "a", "token": tiny_gguf.VOCAB}]}, "'token'"),
            ({"kind": "tok", "cases": [{"id": "a", "text": None}]}, "'text'"),
            ({"kind": "chat", "cases": []}, "'templates'"),
            ({"kind": "kv", "cases": [{"id": "a"}]}, "'text'"),
            ({"kind": "kv", "cases": [{"id": "a", "text": "t"}]}, "'texts'"),
            ({"kind": "kv", "texts": {"t": [1]}, "cases": [{"id": "a", "text": "t", "policy": "full"}]}, "two tokens"),
            ({"kind": "kv", "texts": {"t": [1, 2]}, "cases": [{"id": "a", "text": "t"}]}, "'policy'"),
            ({"kind": "kv", "texts": {"t": [1, 2]}, "cases": [{"id": "a", "text": "t", "policy": "best"}]}, "no such KV policy"),
            ({"kind": "kv", "texts": {"t": [1, 2]}, "cases": [{"id": "a", "text": "t", "policy": "stream"}]}, "budget"),
            ({"kind": "kv", "texts": {"t": [1, 2]}, "cases": [{"id": "a", "text": "t", "policy": "stream", "budget": -1}]}, "'budget'"),
        ]
        for content, words in bad:
            with self.subTest(content=str(content)[:80]):
                text = json.dumps(content) if isinstance(content, dict) else content
                self.refused(1, words, "eval", "-m", self.model, "--cases", self.path("bad.json", text))

    def test_paths_that_do_not_work(self):
        good = self.path("ref.json", json.dumps({"kind": "tok", "cases": []}))
        self.refused(1, "none.json", "eval", "-m", self.model, "--cases", self.path("none.json"))
        self.refused(1, "nowhere", "eval", "-m", self.model, "--cases", good, "--out", self.path("nowhere/out.jsonl"))
        self.refused(1, "no model", "eval", "--cases", good)
        full = self.path("full.json", json.dumps({"kind": "tok", "cases": [{"id": "a", "text": "b"}]}))
        self.refused(1, "No space", "eval", "-m", self.model, "--cases", full, "--out", "/dev/full")

    def test_perplexity(self):
        text = self.path("text.txt", "the quick brown fox " * 20)
        done = self.call("eval", "-m", self.model, "--perplexity", text, "-c", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        words = done.stdout.decode().split()
        nll, tokens = float(words[5].rstrip(",")), int(words[6])
        self.assertAlmostEqual(math.log(float(words[1])), nll / tokens, places=5)
        self.assertGreater(tokens, 300)
        self.refused(1, "empty.txt", "eval", "-m", self.model, "--perplexity", self.path("empty.txt", ""))
        self.refused(1, "-c", "eval", "-m", self.model, "--perplexity", text, "-c", "2")

    def divergence(self, text, *arguments):
        """KL mean, tokens compared."""
        done = self.call("eval", "-m", self.model, "--divergence", text, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = re.match(rb"KL mean ([\d.]+), .*\((\d+) tokens\)$", done.stdout)
        self.assertTrue(found, done.stdout)
        return float(found[1]), int(found[2])

    def test_divergence(self):
        text = self.path("text.txt", "the quick brown fox " * 20)
        everything = self.divergence(text, "-c", "64", "-ctk", "f16")
        self.assertEqual(everything[0], 0.0)
        coarse, tokens = self.divergence(text, "-c", "64", "--kv-cache-dtype", "q4_0")
        self.assertGreater(coarse, 0.0)
        self.assertEqual(tokens, everything[1])

    def test_divergence_under_a_policy_counts_what_is_behind_the_budget(self):
        text = self.path("text.txt", "the quick brown fox " * 20)
        whole = self.divergence(text, "-c", "64")[1]
        for policy in ("streaming", "h2o", "snapkv"):
            kl, tokens = self.divergence(text, "-c", "64", "--kv-policy", policy, "--kv-budget", "24",
                                         "--kv-evict-interval", "8")
            self.assertGreater(kl, 0.0)
            windows, rest = divmod(whole, 64)
            self.assertEqual(tokens, windows * (64 - 24) + max(0, rest - 24))
        self.refused(1, "none behind the KV budget", "eval", "-m", self.model, "--divergence", text, "-c", "64",
                     "--kv-policy", "streaming", "--kv-budget", "64")

    def test_the_table_of_what_a_small_cache_costs(self):
        text = self.path("text.txt", "the quick brown fox " * 20)
        tool = os.path.join(os.path.dirname(__file__), "../../tools/kv_quality.py")
        call = [sys.executable, tool, "--toccata", TOCCATA, "--text", text, "-m", self.model]
        done = subprocess.run([*call, "--context", "64"], capture_output=True, timeout=SECONDS, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line for line in done.stdout.splitlines() if line.startswith("| ")][1:]
        names = [row.split(" | ")[0][2:] for row in rows]
        policies = ("window", "streaming", "h2o", "snapkv")
        self.assertEqual(names[3:], [f"{p}, {share} %" for share in (50, 25) for p in policies])
        self.assertEqual({len(row.split(" | ")) for row in rows}, {6})
        done = subprocess.run([*call, "--context", "2"], capture_output=True, timeout=SECONDS, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed with status 1", done.stderr)

    def test_dumped_logits_do_not_depend_on_the_step(self):
        prompt = self.path("prompt.txt", "the quick brown fox " * 8)
        base = ["eval", "-m", self.model, "-f", prompt, "--dump-last", "5"]
        first = self.path("first.f32")
        plain = self.call(*base, "--dump-hash", "--logits-dump", first)
        self.assertEqual(plain.returncode, 0, plain.stderr)
        self.assertEqual(len(set(plain.stdout.split()[1::2])), 5)
        with open(first, "rb") as file:
            rows = file.read()
        self.assertEqual(len(rows), 5 * tiny_gguf.VOCAB * 4)
        self.assertTrue(all(map(math.isfinite, struct.unpack(f"<{len(rows) // 4}f", rows))))
        for change in (["--chunk-size", "1"], ["--chunk-size", "7"], ["-t", "1"], ["--neighbours", "3"],
                       ["--neighbours", "8", "--chunk-size", "3"], ["--chunk-size", "1", "--prefix-chunk", "9"]):
            with self.subTest(change=change):
                other = self.path("other.f32")
                done = self.call(*base, "--dump-hash", "--logits-dump", other, *change)
                self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)
                with open(other, "rb") as file:
                    self.assertEqual(file.read(), rows)
        streaming = ["--kv-policy", "streaming", "--kv-budget", "24", "--dump-hash"]
        bounded = self.call(*base, *streaming)
        self.assertNotEqual(bounded.stdout, plain.stdout)
        for change in (["--chunk-size", "7"], ["-t", "1"], ["--neighbours", "3"], ["--kv-evict-interval", "1"]):
            self.assertEqual(self.call(*base, *streaming, *change).stdout, bounded.stdout)
        self.assertNotEqual(self.call(*base, "--dump-hash", "-ctk", "bf16").stdout, plain.stdout)
        self.refused(1, "n_ctx = 8", *base, "--dump-hash", "-c", "8")
        self.assertEqual(self.call(*base, "--dump-hash", "--dump-last", "100000").returncode, 0)
        os.remove(first)

    def test_neighbours_of_a_short_prompt_change_nothing(self):
        for text in ("", "a", "ab"):  # with BOS 1, 3 and 4 tokens: fewer than some neighbours take of a step
            base = ["eval", "-m", self.model, "-f", self.path("short.txt", text), "--dump-hash", "--dump-last", "9"]
            plain = self.call(*base)
            self.assertEqual(plain.returncode, 0, plain.stderr)
            for count in range(1, 9):
                with self.subTest(text=text, count=count):
                    done = self.call(*base, "--neighbours", str(count))
                    self.assertEqual((done.returncode, done.stdout), (0, plain.stdout), done.stderr)


if __name__ == "__main__":
    main()
