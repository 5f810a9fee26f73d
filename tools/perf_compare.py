#!/usr/bin/env python3
"""Compare two builds of toccata in pairs on one machine and print the ratio of their speeds with its spread.

  tools/perf_compare.py BASE NEW [--pairs 7] -- -m model.gguf -p 512 -n 64 [-t 2] [--rows 1,4,8] ...

BASE and NEW are toccata programs; what follows -- is given to `toccata bench` of both. The two take turns, and who
begins changes with each pair, so that drift of the machine hits both alike. One line a test: medians in tokens/s, the
median of the pairs' ratios NEW / BASE, their range, and in how many pairs NEW was faster. "faster" or "slower" stands
there only if at least seven eighths of the pairs agree (with 8 pairs, noise alone brings each word in 9 of 256 runs).
Standard library only.
"""
import argparse
import json
import statistics
import subprocess
import sys

KEYS = ["model_filename", "n_threads", "n_prompt", "n_gen", "n_depth", "n_seqs", "n_rows"]


def bench(program, arguments):
    command = [program, "bench", *arguments, "-r", "1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()[-400:]}")
    return {tuple(row[key] for key in KEYS): row["avg_ts"] for row in json.loads(done.stdout)}


def name_of(key):
    row = dict(zip(KEYS, key))
    work = [f"prefill {row['n_prompt']}"] if row["n_prompt"] else []
    work += [f"decode {row['n_gen']}"] if row["n_gen"] else []
    work += [f"{row['n_rows']} rows"] if row["n_rows"] else []
    work += [f"depth {row['n_depth']}"] if row["n_depth"] else []
    work += [f"batch {row['n_seqs']}"] if row["n_seqs"] > 1 else []
    return f"{row['model_filename'].split('/')[-1]}, {', '.join(work)}, {row['n_threads']} threads"


def verdict(ratios):
    better = sum(ratio > 1 for ratio in ratios)
    for count, word in [(better, "faster"), (len(ratios) - better, "slower")]:
        if 8 * count >= 7 * len(ratios):
            return word
    return "no difference seen"


def summary(base, new):
    """One test's samples, pair by pair, as a line's figures."""
    ratios = sorted(b / a for a, b in zip(base, new))
    return {"base": statistics.median(base), "new": statistics.median(new), "ratio": statistics.median(ratios),
            "least": ratios[0], "most": ratios[-1], "faster_pairs": sum(r > 1 for r in ratios), "pairs": len(ratios),
            "verdict": verdict(ratios)}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("base")
    ap.add_argument("new")
    ap.add_argument("--pairs", type=int, default=7)
    ap.add_argument("--json", help="write the figures and all samples to this file")
    own, arguments = sys.argv[1:], []
    if "--" in own:
        own, arguments = own[:own.index("--")], own[own.index("--") + 1:]
    a = ap.parse_args(own)
    if a.pairs < 1:
        ap.error("--pairs must be 1 or more")
    samples = {}
    for pair in range(a.pairs):
        for side in ("base", "new") if pair % 2 == 0 else ("new", "base"):
            for key, speed in bench(getattr(a, side), arguments).items():
                samples.setdefault(key, {"base": [], "new": []})[side].append(speed)
    print("| test | base | new | new / base (range) | pairs won | |\n|---|---|---|---|---|---|")
    rows = []
    for key, sides in samples.items():
        if len(sides["base"]) != len(sides["new"]):
            sys.exit(f"{name_of(key)}: only one of the programs runs this test")
        s = summary(sides["base"], sides["new"])
        print(f"| {name_of(key)} | {s['base']:.1f} | {s['new']:.1f} | {s['ratio']:.3f} ({s['least']:.3f} to {s['most']:.3f})"
              f" | {s['faster_pairs']} of {s['pairs']} | {s['verdict']} |")
        rows.append({"test": name_of(key), **s, "samples": sides})
    if a.json:
        with open(a.json, "w", encoding="utf8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
