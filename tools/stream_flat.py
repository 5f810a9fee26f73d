#!/usr/bin/env python3
"""Streams a text far past its KV budget and prints whether time per token and memory stay flat.

  tools/stream_flat.py --toccata PATH -m MODEL [--tokens 100000] [--budget 1024] [more options of `toccata run`]

Each line of the table is a tenth of the answer: median and 99th percentile of the gap between two tokens, and the
resident memory at its end, as the kernel reports it. The last line compares the tenth after the budget was passed with
the last one.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def stream(command, tokens):
    """Times of the tokens, and (token, resident KiB) at each hundredth of them."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    times, memory, other = [], [], []
    for line in process.stderr:
        if not line.startswith(b'{"token"'):
            other.append(line.decode(errors="replace"))
            continue
        times.append(time.monotonic())
        if len(times) % max(1, tokens // 100) == 0:
            memory.append((len(times), resident_kib(process.pid)))
    if process.wait() != 0 or len(times) < tokens:
        sys.exit(f"{' '.join(command)}: {len(times)} of {tokens} tokens, exit code {process.returncode}\n{''.join(other)}")
    return times, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--toccata", required=True)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--tokens", type=int, default=100000)
    parser.add_argument("--budget", type=int, default=1024)
    parser.add_argument("--json", action="store_true")
    args, more = parser.parse_known_args()
    if args.tokens < 20 * args.budget:
        parser.error("--tokens must be at least 20 times --budget, or there is nothing to see")
    command = [args.toccata, "run", "-m", args.model, "--raw", "-p", "Once upon a time", "--seed", "1", "--ignore-eos",
               "-n", str(args.tokens), "--kv-policy", "streaming", "--kv-budget", str(args.budget), "--logprobs", "0",
               *more]
    times, memory = stream(command, args.tokens)
    gaps = [1e3 * (b - a) for a, b in zip(times, times[1:])]
    start, tenth = 2 * args.budget, (len(gaps) - 2 * args.budget) // 10
    rows = []
    for i in range(10):
        part = sorted(gaps[start + i * tenth:start + (i + 1) * tenth])
        end = start + (i + 1) * tenth
        rows.append({"tokens": end, "itl_p50_ms": statistics.median(part), "itl_p99_ms": part[len(part) * 99 // 100],
                     "resident_kib": next(kib for token, kib in reversed(memory) if token <= end)})
    ratio = rows[-1]["itl_p50_ms"] / rows[0]["itl_p50_ms"]
    if args.json:
        print(json.dumps({"rows": rows, "itl_last_to_first": ratio}))
        return
    print(f"{'tokens':>8} {'ITL p50 ms':>11} {'p99 ms':>8} {'resident KiB':>13}")
    for r in rows:
        print(f"{r['tokens']:>8} {r['itl_p50_ms']:>11.3f} {r['itl_p99_ms']:>8.3f} {r['resident_kib']:>13}")
    print(f"ITL of the last tenth / of the first: {ratio:.3f}; resident memory grew by "
          f"{rows[-1]['resident_kib'] - rows[0]['resident_kib']} KiB")


if __name__ == "__main__":
    main()
