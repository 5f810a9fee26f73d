#!/usr/bin/env python3
"""Replays speculative decoding: a front to `toccata simulate speculative`, whose options it takes (--help lists them).

The program is $TOCCATA_PROGRAM, else the one in build/release, which is built first if it is not there.
"""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = os.path.join(ROOT, "build", "release", "apps", "toccata", "toccata")


def build():
    """As ./quickstart does; all that cmake says goes to stderr."""
    configured = os.path.exists(os.path.join(ROOT, "build", "release", "CMakeCache.txt"))
    options = [] if configured else ["-DTOCCATA_TESTS=OFF", "-DTOCCATA_BENCH=OFF"]
    print("building toccata (the first time takes some minutes)", file=sys.stderr)
    for command in (["cmake", "--preset", "release", *options],
                    ["cmake", "--build", "--preset", "release", "--target", "toccata"]):
        try:
            subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"toccata cannot be built ({error}); ./quickstart installs what the build needs")


def main():
    program = os.environ.get("TOCCATA_PROGRAM")
    if not program:
        program = BUILT
        if not os.access(program, os.X_OK):
            build()
    try:
        os.execv(program, [program, "simulate", "speculative", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"cannot start '{program}': {error.strerror}")


if __name__ == "__main__":
    main()
