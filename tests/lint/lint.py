#!/usr/bin/env python3
"""Runs one lint check over the tree: first on samples that it must refuse, then for real.

usage: lint.py CHECK --root DIR [--build DIR] [--compiler CXX] [--objects FILE...]
Exit codes: 0 clean, 1 faults (one line each), 77 the check's tool is not installed.
"""

import argparse
import sys

import check_docs
import check_headers
import check_includes
import check_names
import check_registered
import check_sizes
import check_style
import check_symbols
from common import Context, self_test

# name: (check(context) -> list of faults, or None if its tool is missing; samples for the self-test)
CHECKS = {
    "includes": (check_includes.check, check_includes.SAMPLES),
    "weak_symbols": (check_symbols.check, check_symbols.SAMPLES),
    "headers_alone": (check_headers.check, check_headers.SAMPLES),
    "sizes": (check_sizes.check, check_sizes.SAMPLES),
    "one_definition": (check_names.check, check_names.SAMPLES),
    "registered": (check_registered.check, check_registered.SAMPLES),
    "optimizations_doc": (check_docs.check_optimizations, check_docs.OPTIMIZATIONS_SAMPLES),
    "readme_commands": (check_docs.check_readme, check_docs.README_SAMPLES),
    "words": (check_style.check_words, check_style.WORDS_SAMPLES),
    "format": (check_style.check_format, check_style.FORMAT_SAMPLES),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=sorted(CHECKS))
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", default="")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--objects", nargs="*", default=[])
    args = parser.parse_args()
    check, samples = CHECKS[args.check]
    found = check(Context(args.root, args.build, args.objects, args.compiler))
    if found is None:
        print(f"{args.check}: skipped, its tool is not installed")
        return 77
    problems = self_test(args.check, check, samples) + found
    for problem in problems:
        print(problem)
    print(f"{args.check}: {len(samples)} samples, {len(problems)} faults")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
