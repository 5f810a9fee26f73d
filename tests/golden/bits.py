#!/usr/bin/env python3
"""The logits of a real model are the same bits whatever the instruction set, threads, chunk size and neighbours.

usage: bits.py TOCCATA MODEL.gguf
"""

import os
import re
import subprocess
import sys
import tempfile

import models

TEXT = "The quick brown fox jumps over the lazy dog, and 3.14159 is not 22/7. Das ist ein Test, \u00e9\u00e8\u00ea \u4f60\u597d.\n"
ROWS = 24
# Arguments that must not change a bit. The first is the plain way that the others are compared with.
VARIANTS = [
    [],
    ["-t", "1"],
    ["-t", "3"],
    ["--chunk-size", "7"],
    ["--chunk-size", "64"],
    ["--chunk-size", "1", "--prefix-chunk", "33"],
    ["--neighbours", "3"],
]
# The cache types have bits of their own, which must not depend on these either.
CACHE_TYPES = [("f32", "f32"), ("bf16", "bf16"), ("q8_0", "q8_0"), ("q4_0", "q4_0"), ("q8_0", "q4_0"), ("f16", "q8_0")]
CACHE_VARIANTS = [["--chunk-size", "7", "--neighbours", "3"], ["--chunk-size", "1", "--prefix-chunk", "100", "-t", "1"]]


def available(toccata):
    text = subprocess.run([toccata, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"\(available: (.*)\)", text).group(1).split(", ")


def hashes(toccata, model, prompt, arguments, isa):
    command = [toccata, "eval", "-m", model, "-f", prompt, "--dump-last", str(ROWS), "--dump-hash", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TOCCATA_ISA": isa})
    if result.returncode != 0:
        sys.exit(f"{command} with {isa}: {result.stderr}")
    return result.stdout


def main():
    toccata, model = sys.argv[1], models.require(sys.argv[2])
    sets = available(toccata)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        prompt, short = (os.path.join(folder, name) for name in ("prompt.txt", "short.txt"))
        for path, text in [(prompt, TEXT * 8), (short, TEXT * 2)]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        plain = hashes(toccata, model, prompt, [], sets[-1])
        if plain.count("\n") < ROWS or len(set(plain.splitlines())) < ROWS:
            sys.exit(f"{ROWS} different rows were asked for, not:\n{plain}")
        for arguments, isa in [(arguments, isa) for isa in sets[1:] for arguments in VARIANTS]:
            same = hashes(toccata, model, prompt, arguments, isa) == plain
            failed += not same
            print(f"{'same ' if same else 'OTHER'} bits: {isa} {' '.join(arguments)}", flush=True)
        # The generic set takes 25 times as long a token.
        same = hashes(toccata, model, short, [], "generic") == hashes(toccata, model, short, [], sets[-1])
        failed += not same
        print(f"{'same ' if same else 'OTHER'} bits: generic", flush=True)
        for k, v in CACHE_TYPES:
            types = ["-ctk", k, "-ctv", v]
            own = hashes(toccata, model, prompt, types, sets[-1])
            if own == plain:
                sys.exit(f"{k} and {v}, which change the mathematics, should have changed the bits: the test sees nothing")
            for arguments in CACHE_VARIANTS:
                same = hashes(toccata, model, prompt, types + arguments, sets[-1]) == own
                failed += not same
                print(f"{'same ' if same else 'OTHER'} bits: {' '.join(types + arguments)}", flush=True)
        if hashes(toccata, model, prompt, ["-ctk", "q4_0", "--kv-rotate", "on"], sets[-1]) == \
                hashes(toccata, model, prompt, ["-ctk", "q4_0", "--kv-rotate", "off"], sets[-1]):
            sys.exit("the rotation of q4_0 keys should have changed the bits")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
