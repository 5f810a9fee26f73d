"""Every header compiles alone, so that it names all it needs and may be included in any order.

A header that a source includes before all else is proven by that source's compilation; the others are compiled here.
"""

import concurrent.futures
import os
import re
import subprocess

# Flags of kernels/CMakeLists.txt, for headers of one instruction set.
ISA_FLAGS = {
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi2"],
    "avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni", "-mavx2", "-mfma", "-mf16c",
               "-mbmi2"],
}


def flags_for(path):
    parts = path.split("/")
    return ISA_FLAGS.get(parts[3], []) if path.startswith("src/kernels/x86/") and len(parts) > 4 else []


def compile_alone(context, path):
    command = [context.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-pragma-once-outside-header",
               "-Wno-unused-const-variable", "-I", context.path("src"), "-I", context.path("tests"),
               "-I", context.path("include"), *flags_for(path), "-x", "c++", context.path(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0:
        return None
    lines = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
    return f"{path}: does not compile alone: {lines[0] if lines else 'no message'}"


def included_first(context):
    """Headers that stand first in a source. What lint.registered proves: the build compiles every source of these."""
    found = set()
    for source in context.files(".cc", under="src") + context.files(".cc", under="apps"):
        first = re.search(r"^#include (.*)$", context.read(source), re.MULTILINE)
        name = first and re.fullmatch(r'"(.*)"', first.group(1))
        if name:
            folders = [os.path.dirname(source), "src", "include"]
            paths = [os.path.normpath(os.path.join(folder, name.group(1))) for folder in folders]
            found.update([path for path in paths if context.exists(path)][:1])
    return found


def check(context):
    headers = context.files(".h")
    problems = [f"{path}: lacks '#pragma once'" for path in headers if "#pragma once\n" not in context.read(path)]
    proven = included_first(context)
    alone = [path for path in headers if path not in proven]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        problems += [p for p in pool.map(lambda path: compile_alone(context, path), alone) if p]
    return problems


SAMPLES = [
    ({"src/a.h": "#pragma once\n#include <string>\nstd::string f();\n"}, None),
    ({"src/a.h": "#pragma once\nstd::string f();\n"}, "src/a.h: does not compile alone"),
    ({"src/a.h": "#pragma once\nstd::string f();\n", "src/b.cc": '#include <string>\n#include "a.h"\n'}, "src/a.h: does not"),
    ({"src/a.h": "#pragma once\nstd::string f();\n", "src/b/a.h": "#pragma once\n", "src/b/a.cc": '#include "a.h"\n'},
     "src/a.h: does not"),
    ({"src/a.h": "#pragma once\nstd::string f();\n", "src/a.cc": '#include "a.h"\n'}, None),
    ({"src/a.h": "inline int f() { return 1; }\n"}, "lacks '#pragma once'"),
]
