#!/usr/bin/env python3
"""Load toccata and llama-server with the same model, threads and slots, in turns, and print the ratios.

  tools/compare_servers.py --toccata build/release/apps/toccata/toccata --llama-server DIR/llama-server -m model.gguf \\
      --concurrency 1,8,32 --pairs 3

Each round starts both servers anew, one after the other, and loads each with `toccata bench serve`: so many streams,
each one a prompt of --prompt words and an answer of --output tokens. With --long-prompt, one prompt of so many words
arrives while 8 streams run. The table gives medians over the rounds. Standard library only.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

PORT = 18431


def command_of(name, a, slots):
    longest = a.long_prompt + a.prompt + a.output + 512
    if name == "toccata":
        return [a.toccata, "serve", "-m", a.model, "-t", str(a.threads), "--port", str(PORT), "--max-num-seqs", str(slots),
                "-c", str(longest), *a.toccata_option]
    return [a.llama_server, "-m", a.model, "-t", str(a.threads), "-tb", str(a.threads), "--port", str(PORT), "-np",
            str(slots), "-c", str(longest * slots), "-fa", "on", "--no-webui"]


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit(f"{self.process.args[0]} ended with status {self.process.returncode}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5).read()
                return self
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        sys.exit(f"{self.process.args[0]} does not become ready")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def load(a, streams, extra=()):
    command = [a.toccata, "bench", "serve", "--url", f"http://127.0.0.1:{PORT}", "--concurrency", str(streams), "--requests",
               str(max(4, a.rounds * streams)), "-p", str(a.prompt), "-n", str(a.output), "--json", *extra]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.strip()[-300:]}")
    result = json.loads(done.stdout)
    if result["errors"]:
        sys.exit(f"{result['errors']} requests failed")
    return result


def row(work, got):
    """got: results of each round by server name."""
    figures = {"tokens/s": lambda r: r["output_tokens_per_second"], "TTFT p50 ms": lambda r: r["ttft_ms"]["p50"],
               "ITL p99 ms": lambda r: r["itl_ms"]["p99"], "longest gap ms": lambda r: r["itl_ms"]["max"],
               "longest TTFT ms": lambda r: r["ttft_ms"]["max"]}
    cells = []
    for of in figures.values():
        ours, theirs = ([of(r) for r in got[name]] for name in ("toccata", "llama-server"))
        ratios = sorted(x / y for x, y in zip(ours, theirs))
        cells.append(f"{statistics.median(ours):.0f} / {statistics.median(theirs):.0f} = "
                     f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    return f"| {work} | " + " | ".join(cells) + " |"


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--toccata", required=True)
    ap.add_argument("--toccata-option", action="append", default=[], help="one more word for `toccata serve`")
    ap.add_argument("--llama-server", required=True)
    ap.add_argument("-m", "--model", required=True)
    ap.add_argument("-t", "--threads", type=int, default=2)
    ap.add_argument("--concurrency", default="1,8,32")
    ap.add_argument("--prompt", type=int, default=64)
    ap.add_argument("--output", type=int, default=64)
    ap.add_argument("--rounds", type=int, default=2, help="requests of each stream")
    ap.add_argument("--long-prompt", type=int, default=0)
    ap.add_argument("--pairs", type=int, default=3)
    a = ap.parse_args()
    works = [(f"{n} streams", int(n), []) for n in a.concurrency.split(",") if n]
    if a.long_prompt:
        works.append((f"8 streams and {a.long_prompt} words", 8, ["--long-prompt", str(a.long_prompt)]))
    print("| load | tokens/s | TTFT p50, ms | ITL p99, ms | longest gap, ms | longest TTFT, ms |\n|---|---|---|---|---|---|",
          flush=True)
    for work, streams, extra in works:
        got = {"toccata": [], "llama-server": []}
        for _ in range(a.pairs):
            for name, results in got.items():
                with Server(command_of(name, a, streams + (1 if extra else 0))):
                    load(a, 1, ["--seed", "99"])  # warm, with other prompts
                    results.append(load(a, streams, extra))
        print(row(work, got), flush=True)


if __name__ == "__main__":
    main()
