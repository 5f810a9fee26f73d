"""Words and calls that do not belong into the tree, and the format of the C++ sources."""

import re
import shutil
import subprocess

from common import blank

TEXT_FILES = (".h", ".cc", ".py", ".sh", ".txt", ".cmake", ".md", ".json", "quickstart", "run-tests")
SELF = "tests/lint/"

# Anywhere in a text file.
WORDS = [
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "unfinished work has its place in an issue, not in the tree"),
    (re.compile(r"^(<{7}|>{7}) ", re.MULTILINE), "a merge conflict"),
    (re.compile(r"-ffast-math|-Ofast"), "breaks bit-exactness"),
]
# In C++ code, outside comments and literals.
CALLS = [
    (re.compile(r"\busing namespace std\b"), "name what is used"),
    (re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof)\s*\("), "unbounded, or hides errors"),
    (re.compile(r"\bstd::(regex|rand|srand|random_shuffle)\b|(?<![\w:.>])s?rand\s*\("), "slow or not reproducible"),
    (re.compile(r"#\s*pragma\s+(omp|STDC\s+FP_CONTRACT)"), "threads are the pool's; contraction is off"),
]


def check_words(context):
    problems = []

    def search(path, text, rules):
        for pattern, why in rules:
            for match in pattern.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                problems.append(f"{path}:{line}: '{match.group(0).strip()}': {why}")

    for path in context.files(*TEXT_FILES):
        if path.startswith(SELF):
            continue
        text = context.read(path)
        search(path, text, WORDS)
        if path.endswith((".h", ".cc")):
            search(path, blank(text), CALLS)
    return problems


def check_format(context):
    tool = shutil.which("clang-format-14")
    if tool is None:
        return None
    files = context.cpp_files()
    if not files:
        return []
    result = subprocess.run([tool, "--dry-run", "--style=file", *files], cwd=context.root, capture_output=True,
                            text=True)
    bad = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "[-Wclang-format-violations]" in line})
    return [f"{path}: not formatted; run clang-format-14 -i on it" for path in bad]


_STYLE = {".clang-format": "BasedOnStyle: Google\n"}

WORDS_SAMPLES = [
    ({"a.cc": "int x;  // TO DO, strcpy(\nconst char* s = \"sprintf(\";\n"}, None),
    ({"a.md": "TODO: more\n"}, "a.md:1: 'TODO'"),
    ({"a.h": "\n// FIXME\n"}, "a.h:2: 'FIXME'"),
    ({"CMakeLists.txt": "add_compile_options(-ffast-math)\n"}, "bit-exactness"),
    ({"a.cc": "int f() { return atoi(x); }\n"}, "'atoi('"),
    ({"a.cc": "using namespace std;\n"}, "name what is used"),
    ({"a.cc": "int f() { return std::rand(); }\n"}, "not reproducible"),
]

FORMAT_SAMPLES = [
    ({**_STYLE, "a.cc": "int f() { return 1; }\n"}, None),
    ({**_STYLE, "a.cc": "int f()   {return 1;}\n"}, "a.cc: not formatted"),
]
