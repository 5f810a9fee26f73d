#!/usr/bin/env python3
"""Runs `toccata eval` on one reference file and compares. usage: reference.py TOCCATA REF.json"""

import json
import os
import subprocess
import sys
import tempfile

import models

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference", "check_refs.py")


def main():
    toccata, reference = sys.argv[1:3]
    with open(reference, encoding="utf-8") as file:
        # The chat cases bring their own templates; any model does.
        model = models.require(json.load(file).get("file", "smollm2-135m-q4_1.gguf"))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.jsonl")
        subprocess.run([toccata, "eval", "-m", model, "--cases", reference, "--out", out], check=True)
        return subprocess.run([sys.executable, CHECK, reference, out]).returncode


if __name__ == "__main__":
    sys.exit(main())
