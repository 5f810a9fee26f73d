"""Nothing is forgotten: every source is compiled; CTest runs every program of a *_test.cc and every Python test."""

import json
import os
import re
import subprocess

UNBUILT_WITHOUT_OPTION = ("fuzz/", "bench/")  # parts that a build may leave out


def compiled_sources(context):
    """{absolute source: names of the targets that compile it} from the build's compile_commands.json."""
    with open(os.path.join(context.build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.loads(file.read().replace("@root@", context.root))  # the self-test's placeholder
    targets = {}
    for entry in entries:
        match = re.search(r"CMakeFiles/([^/]+)\.dir/", entry.get("output", "") or entry["command"])
        path = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
        targets.setdefault(path, set()).add(match.group(1) if match else "?")
    return targets


def registered_tests(context):
    """CTest's listing."""
    fake = os.path.join(context.build, "ctest.json")  # self-tests
    if os.path.exists(fake):
        with open(fake, encoding="utf-8") as file:
            listing = json.load(file)
    else:
        listing = json.loads(subprocess.run(["ctest", "--show-only=json-v1"], cwd=context.build, capture_output=True,
                                            text=True, check=True).stdout)
    return listing["tests"]


def programs_of(tests):
    """Names of the programs that CTest runs. A program that is not built yet stands there as NAME_NOT_BUILT."""
    names = {re.sub(r"_NOT_BUILT.*$", "", test["name"]) for test in tests}
    return names | {os.path.basename(word) for test in tests for word in test.get("command", [])[:1]}


def check_scripts(context, tests):
    run = {os.path.basename(word) for test in tests for word in test.get("command", [])}
    return [f"{path}: CTest does not run this script" for path in context.files(".py")
            if re.search(r"^    def test_", context.read(path), re.MULTILINE) and os.path.basename(path) not in run]


def check(context):
    tests = registered_tests(context)
    targets, programs, problems = compiled_sources(context), programs_of(tests), check_scripts(context, tests)
    for path in context.files(".cc"):
        owners = targets.get(os.path.realpath(context.path(path)))
        if owners is None:
            if not path.startswith(UNBUILT_WITHOUT_OPTION):
                problems.append(f"{path}: no target compiles it")
        elif path.endswith("_test.cc") and not owners & programs:
            problems.append(f"{path}: CTest does not run its program {', '.join(sorted(owners))}")
    return problems


def _tree(sources, registered):
    commands = [{"directory": "/", "file": "@root@/" + s, "command": f"c++ -o CMakeFiles/{t}.dir/{s}.o"}
                for s, t in sources]
    return {"compile_commands.json": json.dumps(commands),
            "ctest.json": json.dumps({"tests": [{"name": n, "command": n.split()} for n in registered]})}


SAMPLES = [
    ({"src/a_test.cc": "\n", **_tree([("src/a_test.cc", "a_test")], ["a_test"])}, None),
    ({"src/a_test.cc": "\n", **_tree([("src/a_test.cc", "a_test")], ["a_test_NOT_BUILT"])}, None),
    ({"src/a_test.cc": "\n", **_tree([("src/a_test.cc", "a_test")], [])}, "CTest does not run its program a_test"),
    ({"src/a_test.cc": "\n", **_tree([], ["a_test"])}, "src/a_test.cc: no target compiles it"),
    ({"src/a.cc": "\n", **_tree([], [])}, "src/a.cc: no target compiles it"),
    ({"tests/a.py": "class A:\n    def test_b(self):\n", **_tree([], ["python3 tests/a.py"])}, None),
    ({"tests/a.py": "class A:\n    def test_b(self):\n", **_tree([], ["a"])}, "tests/a.py: CTest does not run this"),
    ({"tests/a.py": "def helper():\n", **_tree([], [])}, None),
]
