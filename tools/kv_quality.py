#!/usr/bin/env python3
"""What a smaller KV cache costs in quality, as a table in Markdown.

  tools/kv_quality.py --toccata build/release/apps/toccata/toccata --text book.txt --context 2048 -m a.gguf -m b.gguf

Each cell is one run of `toccata eval --divergence`: the text in windows of `context` tokens, compared token by token
with the same model and an f16 cache of all tokens. Cache types count all tokens; policies those behind the budget,
which is 25 % and 50 % of the window. "window" is streaming without sinks. Standard library only.
"""
import argparse
import pathlib
import re
import subprocess
import sys

LINE = re.compile(r"KL mean ([\d.]+), .*same top token ([\d.]+) %; PPL ([\d.]+), f16 ([\d.]+) \((\d+) tokens\)")


def settings(context):
    yield "q8_0", ["--kv-cache-dtype", "q8_0"]
    yield "q4_0, rotated", ["--kv-cache-dtype", "q4_0"]
    yield "K q8_0, V q4_0, rotated", ["-ctk", "q8_0", "-ctv", "q4_0", "--kv-rotate", "on"]
    for share in (50, 25):
        budget = ["--kv-budget", str(context * share // 100)]
        yield f"window, {share} %", ["--kv-policy", "streaming", "--kv-sinks", "0", *budget]
        for policy in ("streaming", "h2o", "snapkv"):
            yield f"{policy}, {share} %", ["--kv-policy", policy, *budget]


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True)
    found = LINE.search(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}\nfailed with status {done.returncode}: {done.stderr.strip()[-400:]}")
    return found.groups()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toccata", required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("-m", "--model", action="append", required=True)
    args, more = parser.parse_known_args()
    for model in args.model:
        print(f"\n{pathlib.Path(model).stem}\n\n| cache | KL mean | same top token | PPL | PPL, f16 and all | tokens |\n"
              "|---|---|---|---|---|---|")
        for name, options in settings(args.context):
            kl, same, ppl, full, tokens = measure([args.toccata, "eval", "-m", model, "--divergence", args.text, "-c",
                                                   str(args.context), *options, *more])
            print(f"| {name} | {float(kl):.4f} | {same} % | {float(ppl):.3f} | {float(full):.3f} | {tokens} |", flush=True)


if __name__ == "__main__":
    main()
