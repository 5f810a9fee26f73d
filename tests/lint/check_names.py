"""One definition of a type in the program: two of one name meet in templates' weak symbols, where the linker keeps either."""

import re

from common import blank

TOKEN = re.compile(
    r"\bnamespace(?P<space>[ \w:]*)(?=\{)"
    r"|(?<!enum )(?P<kind>\b(?:struct|class|union)|\benum(?: class| struct)?)\s+(?:alignas\([^)]*\)\s*)?(?P<name>\w+(?:::\w+)*)"
    r"(?P<base>(?:\s*final)?(?:\s*:(?!:)[^;{}()=]*)?)\s*(?=\{)"
    r"|(?P<brace>[{}])"
)


def types(text):
    """(qualified name, line) of every type that the text defines in a named namespace or none."""
    scopes, pending = [], "block"  # of each open brace: a namespace's name, or "block"
    for match in TOKEN.finditer(blank(text)):
        if match.group("brace") == "{":
            scopes.append(pending)
            pending = "block"
        elif match.group("brace"):
            if scopes:
                scopes.pop()
        elif match.group("kind"):
            if "block" not in scopes and "" not in scopes:
                yield "::".join([*scopes, match.group("name")]), text.count("\n", 0, match.start()) + 1
        else:
            pending = match.group("space").strip()


def check(context):
    seen, problems = {}, []
    for path in context.cpp_files():
        for name, line in types(context.read(path)):
            if name in seen:
                problems.append(f"{path}:{line}: '{name}' is also defined in {seen[name]}")
            seen[name] = f"{path}:{line}"
    return problems


_ROW = "namespace a {\nstruct Row { int x; };\n}\n"
SAMPLES = [
    ({"a.h": _ROW, "b.h": _ROW}, "b.h:2: 'a::Row' is also defined in a.h:2"),
    ({"a.h": _ROW, "b.cc": "namespace a { class Row final : public B {}; }\n"}, "'a::Row'"),
    ({"a.h": "namespace a { enum class E : int { kX }; }\n", "b.h": "namespace a { struct E {}; }\n"}, "'a::E'"),
    ({"a.h": _ROW, "b.h": "namespace b { struct Row {}; }\nnamespace a { struct Row; }\n"}, None),
    ({"a.h": _ROW, "b.cc": "namespace a { struct Row::Impl { int y; }; }\n"}, None),
    ({"a.h": _ROW, "b.cc": "namespace a { namespace { struct Row {}; } }\n"}, None),
    ({"a.h": _ROW, "b.h": "namespace a { struct Table { struct Row {}; }; inline void f() { struct Row {}; } }\n"}, None),
]
