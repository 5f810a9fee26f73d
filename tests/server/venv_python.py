"""For tests that need packages from PyPI: they run with $TOCCATA_PYTHON, the interpreter that ./run-tests prepares."""

import importlib.util
import os
import sys

SKIPPED = 77


def run_with_packages(script, *packages):
    """Returns if this interpreter has the packages; else starts the script again with the one that should, or ends."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    if not missing:
        return
    python = os.environ.get("TOCCATA_PYTHON")
    if python and "TOCCATA_PYTHON_TRIED" not in os.environ:
        os.execve(python, [python, script, *sys.argv[1:]], {**os.environ, "TOCCATA_PYTHON_TRIED": "1"})
    print(f"skipped: this Python lacks {', '.join(missing)}")
    sys.exit(SKIPPED)
