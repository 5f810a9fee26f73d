"""Small files and small functions."""

import re

from common import blank

LIMITS = {".h": 200, ".cc": 500, ".py": 500}
FUNCTION_LIMIT = 70
CONTAINER = re.compile(r'\b(namespace|class|struct|union|enum)\b|extern\s*"?\s*"?\s*$')


def opens_container(head):
    """Whether a brace after `head` opens a namespace or a type, so that functions may stand inside."""
    head = re.sub(r"template\s*<.*?>\s*(?=(class|struct|union)\b)", "", head, flags=re.DOTALL)
    match = CONTAINER.search(head)
    return bool(match) and "(" not in head[match.start():].split("alignas(")[0] and "=" not in head


def functions(text):
    """(first line, lines) of each function body at namespace or class level; a heuristic on braces."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), blank(text),
                  flags=re.MULTILINE)
    depth_of_function, start, head_begin, stack = None, 0, 0, []
    for position, char in enumerate(code):
        if char == "{":
            head = code[head_begin:position]
            if depth_of_function is None and not opens_container(head) and "(" in head:
                depth_of_function = len(stack)
                start = head_begin + len(head) - len(head.lstrip())
            stack.append(char)
        elif char == "}":
            if stack:
                stack.pop()
            if depth_of_function is not None and len(stack) == depth_of_function:
                first = code.count("\n", 0, start) + 1
                yield first, code.count("\n", 0, position) + 2 - first
                depth_of_function = None
        if char in ";{}":
            head_begin = position + 1


def check(context):
    problems = []
    for path in context.files(*LIMITS):
        suffix = path[path.rindex("."):]
        text = context.read(path)
        lines = text.count("\n")
        if lines >= LIMITS[suffix]:
            problems.append(f"{path}: {lines} lines, the limit is {LIMITS[suffix]}")
        if suffix == ".py":
            continue
        for first, length in functions(text):
            if length >= FUNCTION_LIMIT:
                problems.append(f"{path}:{first}: a function of {length} lines, the limit is {FUNCTION_LIMIT}")
    return problems


def _function(lines):
    return "int f(int x) {\n" + "  x += 1;\n" * (lines - 2) + "}\n"


_DATA = "constexpr int kTable[] = {\n" + "    1,\n" * 100 + "};\n"
_CLASS = "struct A {\n  A() : b_{1} {}\n" + "  void f() { call(\"{\"); }\n" * 100 + "  int b_;\n};\n"
_LOCAL = "auto raw = R\"x({{{)x\";\nchar c = '{';  // {\n"

SAMPLES = [
    ({"a.h": "\n" * 199, "a.cc": "\n" * 499, "b.cc": _function(69), "c.cc": _DATA, "d.cc": _CLASS, "e.cc": _LOCAL +
      _function(69)}, None),
    ({"a.h": "\n" * 200}, "a.h: 200 lines"),
    ({"a.cc": "\n" * 500}, "a.cc: 500 lines"),
    ({"a.py": "\n" * 500}, "a.py: 500 lines"),
    ({"a.cc": "namespace n {\n" + _function(70) + "}\n"}, "a.cc:2: a function of 70 lines"),
    ({"a.cc": "struct S {\n  int g();\n\n" + _function(75) + "};\n"}, "a.cc:4: a function of 75 lines"),
    ({"a.cc": "template <class T>\n" + _function(70)}, "a.cc:1: a function of 71 lines"),
    ({"a.cc": _LOCAL + _function(80)}, "a.cc:3: a function of 80 lines"),
]
