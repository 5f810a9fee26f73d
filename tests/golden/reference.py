#!/usr/bin/env python3
"""Runs `toccata eval` on one reference file and compares. usage: reference.py TOCCATA REF.json"""

import json
import os
import subprocess
import sys
import tempfile

import models

# Besides check_refs.py's bound for each position: the mean over all positions of a file. Measured with eight-bit and
# fourteen-bit activations: SmolLM2 0.087, Gemma 3 0.064, Qwen2.5-Coder 0.034.
MEAN_BOUND = 0.1

# The policies of bounded caches that the engine has, by the references' names.
POLICIES = ("full", "window", "stream", "h2o")

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference", "check_refs.py")


def mean_difference(reference, out):
    """Mean |difference| of the log-probabilities of the reference's 32 most likely tokens, over all positions."""
    with open(out, encoding="utf-8") as file:
        lines = {o["id"]: o for o in map(json.loads, file)}
    means = []
    for case in reference["cases"]:
        positions = {p["pos"]: p for p in lines[case["id"]]["positions"]}
        for want in case["positions"]:
            got = positions[want["pos"]]
            logits = dict(map(tuple, got["top"]))
            pairs = [(x - want["lse"], logits[i] - got["lse"]) for i, x in want["top"] if i in logits]
            means.append(sum(abs(a - b) for a, b in pairs) / len(pairs))
    return sum(means) / len(means)


def main():
    toccata, reference = sys.argv[1:3]
    with open(reference, encoding="utf-8") as file:
        content = json.load(file)
    # The chat cases bring their own templates; any model does.
    model = models.require(content.get("file", "smollm2-135m-q4_1.gguf"))
    logits = content["kind"] == "logits"
    with tempfile.TemporaryDirectory() as folder:
        if content["kind"] == "kv":
            content["cases"] = [c for c in content["cases"] if c["policy"] in POLICIES]
            reference = os.path.join(folder, "cases.json")
            with open(reference, "w", encoding="utf-8") as file:
                json.dump(content, file)
        out = os.path.join(folder, "out.jsonl")
        subprocess.run([toccata, "eval", "-m", model, "--cases", reference, "--out", out], check=True)
        code = subprocess.run([sys.executable, CHECK, reference, out]).returncode
        if logits:
            mean = mean_difference(content, out)
            print(f"mean difference of log-probabilities {mean:.4f}, bound {MEAN_BOUND}")
            code = code or int(mean > MEAN_BOUND)
        return code


if __name__ == "__main__":
    sys.exit(main())
