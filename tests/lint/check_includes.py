"""Includes point downwards only: the order of layers.txt, narrowed to the dependencies that CMake links."""

import re

from common import blank

LAYERS = "tests/lint/layers.txt"
PUBLIC = "toccata"  # include/toccata stands below all modules
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ALLOW = re.compile(r"^allow\s+(\S+)\s+->\s+(\S+)\s+:\s+\S")


def read_layers(context):
    order, allowed, problems = [], set(), []
    for number, line in enumerate(context.read(LAYERS).splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("allow"):
            match = ALLOW.match(line)
            if match and context.exists(match.group(1)):
                allowed.add((match.group(1), match.group(2)))
            else:
                problems.append(f"{LAYERS}:{number}: not 'allow FILE -> MODULE : reason', or the file is gone")
        else:
            order.append(line)
    return order, allowed, problems


def direct_dependencies(context, module):
    """The modules that the CMakeLists.txt of `module` links."""
    path = "apps/toccata/CMakeLists.txt" if module == "apps" else f"src/{module}/CMakeLists.txt"
    if not context.exists(path):
        return set()
    text = re.sub(r"#[^\n]*", "", context.read(path))
    found = set(re.findall(r"\btoccata_(\w+)\b", " ".join(re.findall(r"target_link_libraries\(([^)]*)\)", text))))
    for arguments in re.findall(r"toccata_module\(([^)]*)\)", text):
        words = arguments.split()
        if "DEPS" in words:
            for word in words[words.index("DEPS") + 1:]:
                if word.isupper():
                    break
                found.add(word)
    return found


def closure(context, order):
    """For each module all modules that it may include; `order` is lowest first, so one pass is enough."""
    reach, problems = {}, []
    for index, module in enumerate(order):
        reach[module] = {module}
        for dependency in direct_dependencies(context, module) & set(order) - {module}:
            if order.index(dependency) > index:
                problems.append(f"src/{module}/CMakeLists.txt: {module} depends on {dependency}, a higher layer")
            else:
                reach[module] |= reach[dependency]
    return reach, problems


def check(context):
    order, allowed, problems = read_layers(context)
    reach, faults = closure(context, order)
    problems += faults
    for path in context.cpp_files():
        parts = path.split("/")
        if parts[0] not in ("src", "apps", "include"):
            continue
        module = {"src": parts[1], "include": PUBLIC}.get(parts[0], "apps")
        if module not in reach and module != PUBLIC:
            problems.append(f"{path}: module '{module}' is missing in {LAYERS}")
            continue
        text = context.read(path)
        code = blank(text, keep_comments=False).splitlines()
        for match in INCLUDE.finditer(text):
            number = text.count("\n", 0, match.start(1)) + 1
            if "#" not in code[number - 1]:  # inside a comment
                continue
            target = match.group(1).split("/")[0]
            if target == PUBLIC:
                continue
            if module == PUBLIC:
                problems.append(f'{path}:{number}: a public header includes "{match.group(1)}" (only {PUBLIC}/...)')
                continue
            if ("/" not in match.group(1) and module == "apps") or (path, target) in allowed:
                continue
            if target not in order and not (path.endswith("_test.cc") and target == "support"):
                problems.append(f'{path}:{number}: "{match.group(1)}" is not a path below src/')
            elif target in order and target not in reach[module]:
                problems.append(f"{path}:{number}: {module} may not include {match.group(1)} "
                                f"(allowed: {', '.join(sorted(reach[module]))})")
    return problems


_CMAKE = {
    "src/base/CMakeLists.txt": "toccata_module(base)\n",
    "src/text/CMakeLists.txt": "toccata_module(text DEPS base LIBS icuuc)\n",
    "src/model/CMakeLists.txt": "toccata_module(model DEPS text)\n",
    LAYERS: "base\nkernels\ntext\nmodel\napps\n",
}

SAMPLES = [
    ({**_CMAKE, "src/model/a.cc": '#include "base/x.h"\n#include "text/y.h"\n// #include "apps/z.h"\n'}, None),
    ({**_CMAKE, "src/base/a.cc": '#include "model/x.h"\n'}, "base may not include model/x.h"),
    ({**_CMAKE, "src/base/a.cc": '#include "toccata/x.h"\n', "include/toccata/x.h": '#include "toccata/y.h"\n'}, None),
    ({**_CMAKE, "include/toccata/x.h": '#include "base/y.h"\n'}, "a public header includes"),
    ({**_CMAKE, "src/text/a.h": '#include "kernels/x.h"\n'}, "text may not include kernels/x.h"),
    ({**_CMAKE, "src/odd/a.h": "\n"}, "module 'odd' is missing"),
    ({**_CMAKE, "src/text/a.h": '#include "neighbour.h"\n'}, "not a path below src/"),
    ({**_CMAKE, "src/base/CMakeLists.txt": "toccata_module(base DEPS text)\n"}, "a higher layer"),
    ({**_CMAKE, LAYERS: "base\nkernels\ntext\nmodel\nallow src/text/a.h -> kernels : a reason\n",
      "src/text/a.h": '#include "kernels/x.h"\n'}, None),
    ({**_CMAKE, LAYERS: "base\nkernels\ntext\nmodel\nallow src/text/gone.h -> kernels : a reason\n"}, "gone"),
]
