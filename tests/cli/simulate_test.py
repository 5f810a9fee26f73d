#!/usr/bin/env python3
"""`toccata simulate speculative`: exact texts, the same from the script, counts of many rounds, real models, faults."""

import json
import math
import os
import re
import subprocess
import sys

import tiny_gguf
from cli import SECONDS, CliTest, main

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "speculative_decoding_simulator.py")
LESSON = """\
=== STARTING SPECULATIVE DECODING VALIDATION ===
Draft Model Candidates: ['the', 'quick', 'red', 'fox', 'leaps']
✅ Token 'the' accepted (Prob: 0.99)
✅ Token 'quick' accepted (Prob: 0.95)
❌ Token 'red' REJECTED (Prob: 0.05)
🔧 Target model corrected token to: 'brown'

--- PERFORMANCE SUMMARY ---
Total draft tokens evaluated: 5
Tokens accepted before rejection: 2
Final validated sequence: the quick brown
=================================================
"""
KEPT = [0.99, 0.95, 0.05, 0.90, 0.10]


class Speculative(CliTest):
    def simulate(self, *arguments):
        done = self.call("simulate", "speculative", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""), arguments)
        return done.stdout.decode()

    def test_the_lesson_byte_for_byte(self):
        self.assertEqual(self.simulate(), LESSON)
        done = subprocess.run([sys.executable, SCRIPT], capture_output=True, timeout=SECONDS, check=True)
        self.assertEqual((done.stdout.decode(), done.stderr), (LESSON, b""))
        done = subprocess.run([sys.executable, SCRIPT, "--seed"], capture_output=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 2)

    def test_seeds(self):
        texts = [self.simulate("--seed", str(seed)) for seed in range(60)]
        self.assertEqual(texts, [self.simulate(f"--seed={seed}") for seed in range(60)])
        self.assertGreater(len(set(texts)), 2)
        for text in texts:
            corrected = re.search(r"REJECTED.*\n🔧 .*: '(.*)'\n", text)
            rejected = re.search(r"❌ Token '(.*)' REJ", text)
            self.assertEqual(corrected[1], "brown" if rejected[1] == "red" else "jumps")
            kept = text.count("✅")
            words = ["the", "quick", "red", "fox", "leaps"][:kept] + [corrected[1]]
            self.assertIn(f"before rejection: {kept}\nFinal validated sequence: {' '.join(words)}\n=", text)

    def test_own_tokens(self):
        flags = ["--tokens", "it's,ok,no", "--probs", "1,1,0", "--correction", "no=yes"]
        text = self.simulate(*flags)
        self.assertIn("""Candidates: ["it's", 'ok', 'no']\n✅ Token "it's" accepted (Prob: 1.00)\n""", text)
        self.assertIn("❌ Token 'no' REJECTED (Prob: 0.00)\n🔧 Target model corrected token to: 'yes'\n", text)
        path = self.path("lesson.json", json.dumps({"tokens": ["it's", "ok", "no"], "probabilities": [1, 1.0, 0],
                                                    "corrections": {"no": "yes"}}))
        self.assertEqual(self.simulate("--file", path), text)
        self.assertIn("to: 'perhaps'", self.simulate("--tokens", "a", "--probs", "0", "--otherwise", "perhaps"))
        self.assertNotIn("🔧", self.simulate("--tokens", "a,b", "--probs", "1,1"))

    def check_counts(self, result, kept):
        n, drafted = result["rounds"], len(kept)
        for k, count in enumerate(result["kept_counts"]):
            p = math.prod(kept[:k]) * (1 - kept[k] if k < drafted else 1)
            self.assertAlmostEqual(result["kept_probabilities"][k], p)
            self.assertLess(abs(count - n * p), 4.4 * math.sqrt(n * p * (1 - p)) + 1e-6, (k, count))
        expected = sum(math.prod(kept[:k]) for k in range(drafted + 1))
        self.assertAlmostEqual(result["tokens_per_step_formula"], expected)
        self.assertLess(abs(result["tokens_per_step"] / expected - 1), 0.01)

    def test_trials(self):
        self.check_counts(json.loads(self.simulate("--trials", "100000", "--json")), KEPT)
        costs = ["--draft-cost", "0.1", "--verify-cost", "1.2"]
        for a, k in [(0.8, 4), (0.5, 1), (0.95, 8)]:
            flags = ["--trials", "100000", "--acceptance", str(a), "--draft-tokens", str(k), *costs]
            result = json.loads(self.simulate(*flags, "--json"))
            self.check_counts(result, [a] * k)
            formula = (1 - a ** (k + 1)) / (1 - a)
            self.assertAlmostEqual(result["tokens_per_step_formula"], formula)
            self.assertAlmostEqual(result["speed_up_formula"], formula / (k * 0.1 + 1.2))
            self.assertAlmostEqual(result["speed_up"], result["tokens_per_step"] / (k * 0.1 + 1.2))
            self.assertIn(f"{formula:.4f}", self.simulate(*flags))

    def test_rounds_restart_behind_the_last_token(self):
        text = self.simulate("--trials", "6", "--acceptance", "0.7", "--draft-tokens", "3")
        position = 0
        lines = re.findall(r"round \d+: drafts tokens (\d+) to (\d+), keeps (\d), .* token (\d+)", text)
        self.assertEqual(len(lines), 6)
        for first, last, kept, own in (map(int, line) for line in lines):
            self.assertEqual((first, last, own), (position, position + 2, position + kept))
            position = own + 1

    def test_real_models(self):
        other = tiny_gguf.write(self.path("other.gguf"), seed=2)
        pair = ["--real", "-m", self.model, "-p", "abc", "-n", "20", "--temp"]
        plain = self.answer("-p", "abc", "--raw", "-n", "20", "--temp", "0").decode()
        for draft in (self.model, other):
            text = self.simulate(*pair, "0", "--draft", draft)
            self.assertIn("✅" if draft == self.model else "❌", text)
            # Greedy, so rejection changes nothing. Control characters are shown as "?".
            self.assertEqual(text.split("sequence: ")[1].split("\n===")[0].rstrip("\n"),
                             re.sub(r"[\x00-\x1f\x7f]", "?", plain.removesuffix("\n")).replace("\ufffd", "?"))
        text = self.simulate(*pair, "1", "--draft", other)
        self.assertEqual(text, self.simulate(*pair, "1", "--draft", other))
        self.assertNotEqual(text, self.simulate(*pair, "1", "--draft", other, "--seed", "2"))
        for kept, p, q in re.findall(r"✅.*Prob: ([\d.]+), p ([\d.]+), q ([\d.]+)\)", text):
            self.assertAlmostEqual(float(kept), min(1, float(p) / float(q)), delta=0.02)

    def test_faults(self):
        cases = [
            (["simulate"], "speculative"),
            (["simulate", "dreams"], ["'dreams'", "speculative"]),
            (["--tokens", "a,b"], ["2 tokens", "not 5"]),
            (["--probs", "0.5,x"], ["--probs", "'0.5,x'"]),
            (["--probs", "1,1,1,1,1.5"], "--probs"),
            (["--probs", "1,1,1,1,nan"], "--probs"),
            (["--tokens", "jumps", "--probs", "0.5"], ["'jumps'", "to itself"]),
            (["--tokens", "a," * 64, "--probs", "1"], "at most 64"),
            (["--correction", "red"], ["--correction", "'red'"]),
            (["--acceptance", "0.5"], "--trials"),
            (["--trials", "9", "--acceptance", "2"], ["--acceptance", "'2'"]),
            (["--trials", "9", "--draft-tokens", "3"], "--acceptance"),
            (["--trials", "9", "--acceptance", "0.5", "--probs", "1"], ["--probs", "--acceptance"]),
            (["--trials", "9", "--verify-cost", "0"], "--verify-cost"),
            (["--temp", "1"], "--real"),
            (["--real", "-m", self.model, "-p", "x"], "--draft"),
            (["--real", "-m", self.model, "--draft", self.model], "-p"),
            (["--real", "--trials", "3"], ["--trials", "--real"]),
        ]
        for arguments, words in cases:
            with self.subTest(arguments=arguments):
                self.refused(2, words, *([] if arguments[0] == "simulate" else ["simulate", "speculative"]), *arguments)

    def test_bad_files(self):
        for content, words in [("{", "JSON"), ("[]", "object"), ("{}", "'tokens'"), ('{"tokens": [1]}', "'probabilities'"),
                               ('{"tokens": [1], "probabilities": [1]}', "strings"),
                               ('{"tokens": ["a"], "probabilities": ["1"]}', "numbers"),
                               ('{"tokens": ["a"], "probabilities": [2]}', "'a'"),
                               ('{"tokens": ["a"], "probabilities": [1], "corrections": 1}', "'corrections'"),
                               ('{"tokens": ["a"], "probabilities": [1], "otherwise": 1}', "'otherwise'")]:
            with self.subTest(content=content):
                path = self.path("bad.json", content)
                self.refused(1, ["bad.json", words], "simulate", "speculative", "--file", path)
        self.refused(1, "gone.json", "simulate", "speculative", "--file", "gone.json")
        real = ["simulate", "speculative", "--real", "-p", "x", "-m", self.model]
        self.refused(1, "gone.gguf", *real, "--draft", "gone.gguf")
        keys = tiny_gguf.metadata()
        kind, value = keys["tokenizer.ggml.tokens"]
        keys["tokenizer.ggml.tokens"] = (kind, value.replace(b"<|user|>", b"<|uter|>"))
        other = self.path("words.gguf", bytes(tiny_gguf.encode(keys, tiny_gguf.tensors())))
        self.refused(1, ["words.gguf", "cannot draft", "<|uter|>", "<|user|>"], *real, "--draft", other)


if __name__ == "__main__":
    main()
