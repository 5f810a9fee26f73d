"""Runs the programs of the C API on a tiny model."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import tiny_gguf  # noqa: E402


def main():
    tests, example = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        model = tiny_gguf.write(os.path.join(folder, "tiny.gguf"))
        subprocess.run([tests, model], check=True)
        answer = subprocess.run([example, model, "abc"], check=True, capture_output=True, text=True).stdout
        again = subprocess.run([example, model, "abc"], check=True, capture_output=True, text=True).stdout
        assert answer == again and len(answer) > 5, answer
        missing = subprocess.run([example, os.path.join(folder, "none.gguf"), "abc"], capture_output=True, text=True)
        assert missing.returncode == 1 and "none.gguf" in missing.stderr, missing
    return 0


if __name__ == "__main__":
    sys.exit(main())
