#!/usr/bin/env python3
"""What `toccata simulate scheduling -m MODEL` predicts, against the server with the same requests, in turns.

  tools/compare_simulation.py --toccata build/release/apps/toccata/toccata -m model.gguf --pairs 5

Each round loads a server of each setting (chunks of 512, auto, an ITL target) with `toccata bench serve`: --streams
answers of --output tokens, and a prompt of --long-prompt words while they run; then it measures the steps and simulates
the same. The table gives medians over the rounds, and the median of the rounds' ratios with its range. The longest TTFT
is that of the long prompt. Standard library only.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

PORT = 18432
LONG_OUTPUT = 16  # tokens that bench serve asks for behind its long prompt


class Server:
    def __init__(self, a, options):
        self.process = subprocess.Popen([a.toccata, "serve", "-m", a.model, "-t", str(a.threads), "--port", str(PORT), *options],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"the server ended with status {self.process.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/ready", timeout=5).read()
                return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        sys.exit("the server does not become ready")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def percentile(values, percent):
    """Interpolated between the two nearest ones, as `toccata bench serve` does."""
    values = sorted(values)
    k = (len(values) - 1) * percent / 100
    low = int(k)
    return values[low] + (values[min(low + 1, len(values) - 1)] - values[low]) * (k - low)


def figures(ttft, itl):
    """The figures of the table from two summaries (mean, p50, p99, max)."""
    return {"TTFT p50": ttft["p50"], "longest TTFT": ttft["max"], "ITL mean": itl["mean"], "ITL p50": itl["p50"],
            "ITL p99": itl["p99"], "longest gap": itl["max"]}


def summary(values):
    return {"mean": statistics.fmean(values), "p50": percentile(values, 50), "p99": percentile(values, 99), "max": max(values)}


def simulated(requests):
    """figures() of the requests that `simulate scheduling --json` lists."""
    gaps = [1000 * (b - a) for r in requests for a, b in zip(r["tokens_s"], r["tokens_s"][1:])]
    return figures(summary([1000 * r["ttft_s"] for r in requests]), summary(gaps))


def serve(a, options):
    """figures() of a server with these options, and the prompts' tokens in all."""
    with Server(a, options):
        got = call(a.toccata, "bench", "serve", "--url", f"http://127.0.0.1:{PORT}", "--concurrency", a.streams, "--requests",
                   a.streams, "-p", a.prompt, "-n", a.output, "--long-prompt", a.long_prompt, "--long-after", a.long_after,
                   "--json")
    if got["errors"]:
        sys.exit(f"{got['errors']} requests failed")
    return figures(got["ttft_ms"], got["itl_ms"]), got["prompt_tokens"]


def simulate(a, prompt_tokens):
    """figures() by setting; the words of the prompts have `prompt_tokens` tokens in all."""
    per_word = prompt_tokens / (a.streams * a.prompt + a.long_prompt)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as f:
        for at, words, output in [(0, a.prompt, a.output)] * a.streams + [(a.long_after, a.long_prompt, LONG_OUTPUT)]:
            f.write(json.dumps({"arrival": at, "prompt": max(1, round(words * per_word)), "output": output}) + "\n")
        f.flush()
        got = call(a.toccata, "simulate", "scheduling", "-m", a.model, "-t", a.threads, "--requests", f.name, "--chunk-size",
                   512, "--itl-target", a.itl_target, "--json")
    return {s["setting"]: simulated(s["requests"]) for s in got["settings"]}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--toccata", required=True)
    ap.add_argument("-m", "--model", required=True)
    ap.add_argument("-t", "--threads", type=int, default=2)
    ap.add_argument("--streams", type=int, default=8)
    ap.add_argument("--prompt", type=int, default=64)
    ap.add_argument("--output", type=int, default=128)
    ap.add_argument("--long-prompt", type=int, default=3000)
    ap.add_argument("--long-after", type=float, default=1, help="seconds after which it arrives")
    ap.add_argument("--itl-target", type=int, default=60)
    ap.add_argument("--pairs", type=int, default=5)
    a = ap.parse_args()
    settings = {"chunks of 512": ["--chunk-size", "512"], "auto": [],
                f"ITL target {a.itl_target} ms": ["--itl-target", str(a.itl_target)]}
    pairs = {name: [] for name in settings}
    for _ in range(a.pairs):
        served = {name: serve(a, options) for name, options in settings.items()}
        predicted = simulate(a, served["auto"][1])
        for name in settings:
            pairs[name].append((predicted[name], served[name][0]))
    print("| setting | figure | simulated, ms | server, ms | ratio (range) |\n|---|---|---|---|---|")
    for name, rounds in pairs.items():
        for figure in rounds[0][0]:
            ratios = sorted(p[figure] / r[figure] for p, r in rounds)
            medians = [statistics.median(side[figure] for side in sides) for sides in zip(*rounds)]
            print(f"| {name} | {figure} | {medians[0]:.1f} | {medians[1]:.1f} | {statistics.median(ratios):.2f} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f}) |")


if __name__ == "__main__":
    main()
