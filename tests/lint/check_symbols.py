"""Kernel objects of one instruction set share no symbol with other objects.

A weak symbol (an inline function, a template, a vague-linkage constant) that was compiled with -mavx2 or -mavx512f may
be the copy that the linker keeps for the whole program, which then crashes on an older CPU. So the objects must
define none, and their sources may include only headers without C++ code, and our own kernel headers.
"""

import os
import re
import shutil
import subprocess
import tempfile

PLAIN_HEADERS = {"immintrin.h", "cstdint", "cstddef", "stdint.h", "stddef.h", "cstring", "string.h", "cfloat", "climits"}
INCLUDE = re.compile(r"^\s*#\s*include\s+<([^>]+)>", re.MULTILINE)
NAMESPACE = re.compile(r"namespace\s+[\w:]*\b(\w+)\s*\{")


def weak_symbols(path):
    """Names of defined weak (W, V) and unique (u) symbols."""
    text = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return [line.split(maxsplit=2)[2] for line in text.splitlines() if re.match(r"^[0-9a-f]+ [WVu] ", line)]


def check_sources(context):
    problems = []
    for path in context.files(".cc", ".h", under="src/kernels/x86"):
        if path.endswith("_test.cc"):
            continue
        isa = path.split("/")[3]  # for a header that all instruction sets share: its own name
        text = context.read(path)
        for header in INCLUDE.findall(text):
            if header not in PLAIN_HEADERS:
                problems.append(f"{path}: includes <{header}>, whose inline code would be compiled for {isa}")
        if path.endswith(".cc") and isa not in NAMESPACE.findall(text):
            problems.append(f"{path}: its code is not in a namespace named {isa}")
    return problems


def compile_sources(context, folder):
    """Objects of the x86 sources of a self-test's tree, which no build has made."""
    objects = []
    for path in context.files(".cc", under="src/kernels/x86"):
        objects.append(os.path.join(folder, os.path.basename(path) + ".o"))
        subprocess.run(["g++", "-O0", "-c", context.path(path), "-o", objects[-1]], check=True)
    return objects


def check(context):
    if shutil.which("nm") is None:
        return None
    problems = check_sources(context)
    with tempfile.TemporaryDirectory() as folder:
        objects = compile_sources(context, folder) if context.is_sample else context.objects
        for path in objects:
            problems += [f"{os.path.basename(path)}: weak symbol {symbol}" for symbol in weak_symbols(path)]
    return problems


_OPEN = "namespace toccata::kernels::avx2 {\n"
_WEAK = "inline int twice(int x) { return 2 * x; }\nint use(int x) { return twice(x); }\n"

SAMPLES = [
    ({"src/kernels/x86/avx2/a.cc": f"#include <immintrin.h>\n{_OPEN}int use(int x) {{ return x; }}\n}}\n"}, None),
    ({"src/kernels/x86/avx2/a.cc": f"#include <vector>\n{_OPEN}}}\n"}, "<vector>"),
    ({"src/kernels/x86/avx2/a.cc": "namespace toccata::kernels {\n}\n"}, "namespace named avx2"),
    ({"src/kernels/x86/avx2/a.cc": f"{_OPEN}{_WEAK}}}\n"}, "weak symbol toccata::kernels::avx2::twice(int)"),
]
