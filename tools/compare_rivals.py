#!/usr/bin/env python3
"""Run toccata beside llama-bench programs on the same files and threads, interleaved, and print the ratios.

  tools/compare_rivals.py --toccata build/release/apps/toccata/toccata --rival llama.cpp=DIR --rival ik=DIR \\
      -m a.gguf -m b.gguf --prefill 512 --decode 64 --depth 0 --batch 4,8,16 --pairs 5

DIR holds llama-bench and llama-batched-bench; ik_llama.cpp repacks at load (-rtr), its faster way. In each round every
program runs once, one after the other, so that drift of the machine hits all alike; the table gives medians over the
rounds and the median of the per-round ratios with its range. Standard library only.
"""
import argparse
import json
import statistics
import subprocess
import sys


def numbers(text):
    return [int(x) for x in text.split(",") if x]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed with status {done.returncode}: {done.stderr.strip()[-400:]}")
    return done


def bench_toccata(binary, model, threads, case):
    kind, size, depth, batch = case
    command = [binary, "bench", "-m", model, "-t", str(threads), "-r", "1", "--json", "-d", str(depth)]
    command += ["-p", str(size), "-n", "0"] if kind == "prefill" else ["-p", "0", "-n", str(size)]
    if kind == "decode":
        command += ["-b", str(batch)]
    rows = json.loads(run(command).stdout)
    rows = rows["results"] if isinstance(rows, dict) else rows
    return rows[-1]["avg_ts"]


def bench_llama(folder, model, threads, case):
    kind, size, depth, batch = case
    if kind == "decode" and batch > 1:
        command = [f"{folder}/llama-batched-bench", "-m", model, "-t", str(threads), "-tb", str(threads), "-fa", "on",
                   "-c", str(batch * (size + 64) + 256), "-b", "2048", "-npp", "16", "-ntg", str(size), "-npl", str(batch),
                   "--output-format", "jsonl"]
        if "ik_llama" in folder:
            command[command.index("on")] = "1"
            command[command.index("--output-format"):] = ["-rtr"]
            for line in run(command).stderr.splitlines():
                cells = [c.strip() for c in line.split("|") if c.strip()]
                if len(cells) == 10 and cells[0].isdigit():
                    return float(cells[7])
            sys.exit("llama-batched-bench printed no row")
        for line in run(command).stdout.splitlines():
            if line.startswith("{"):
                return json.loads(line)["speed_tg"]
        sys.exit("llama-batched-bench printed no row")
    command = [f"{folder}/llama-bench", "-m", model, "-t", str(threads), "-fa", "1", "-r", "1", "-o", "json"]
    if "ik_llama" in folder:
        command += ["-rtr", "1"]
    command += ["-p", str(size), "-n", "0"] if kind == "prefill" else ["-p", "0", "-n", str(size)]
    if depth and "ik_llama" in folder:
        # ik_llama.cpp has no depth option: -gp PROMPT,GEN times the generation after a prompt.
        command = command[:-4] + ["-p", "0", "-n", "0", "-gp", f"{depth},{size}"]
    elif depth:
        command += ["-d", str(depth)]
    return json.loads(run(command).stdout)[-1]["avg_ts"]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--toccata", required=True)
    ap.add_argument("--rival", action="append", default=[], help="NAME=FOLDER")
    ap.add_argument("-m", "--model", action="append", required=True)
    ap.add_argument("-t", "--threads", type=int, default=2)
    ap.add_argument("--prefill", type=numbers, default=[512])
    ap.add_argument("--decode", type=int, default=64)
    ap.add_argument("--depth", type=numbers, default=[0])
    ap.add_argument("--batch", type=numbers, default=[])
    ap.add_argument("--pairs", type=int, default=5)
    ap.add_argument("--json")
    a = ap.parse_args()
    rivals = dict(r.split("=", 1) for r in a.rival)
    cases = [("prefill", p, 0, 1) for p in a.prefill if p]
    cases += [("decode", a.decode, d, 1) for d in a.depth if a.decode] + [("decode", a.decode, 0, b) for b in a.batch]
    print("| model | work | toccata | " + " | ".join(rivals) + " | ratio to the best (range) |")
    print("|---|---|---|" + "---|" * len(rivals) + "---|", flush=True)
    out = []
    for model in a.model:
        for case in cases:
            got = {name: [] for name in ["toccata", *rivals]}
            for _ in range(a.pairs):
                got["toccata"].append(bench_toccata(a.toccata, model, a.threads, case))
                for name, folder in rivals.items():
                    got[name].append(bench_llama(folder, model, a.threads, case))
            best = max(rivals, key=lambda n: statistics.median(got[n])) if rivals else None
            ratios = sorted(x / y for x, y in zip(got["toccata"], got[best])) if best else [1.0]
            kind, size, depth, batch = case
            work = f"{kind} {size}" + (f" at depth {depth}" if depth else "") + (f", batch {batch}" if batch > 1 else "")
            cells = [f"{statistics.median(v):.1f}" for v in got.values()]
            print(f"| {model.split('/')[-1]} | {work} | " + " | ".join(cells) +
                  f" | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |", flush=True)
            out.append({"model": model, "work": work, "samples": got, "best": best, "ratios": ratios})
    if a.json:
        with open(a.json, "w", encoding="utf8") as f:
            json.dump(out, f, indent=1)


if __name__ == "__main__":
    main()
