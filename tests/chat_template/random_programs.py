"""Seeded random template programs: expressions, statements, scoping and whitespace control."""

import random

WORDS = ["a", "b", "foo", "Bar", "hello world", "x,y,z", "", " pad ", "ÄÖ é", "日本語", "😀 smile", "don't", 'say "hi"',
         "line1\nline2\n", "\ttab", "<b>&amp;</b>", "a-b_c", "Straße", "ΟΔΟΣ", "123", "-4.5", "1e3", "%s|%d", "{}-{0}",
         "ǆ ŉ", "\\n", "{{ x }}", "A B C", "0x1f", "tail  "]
NAMES = ["x", "y", "z", "n", "s", "items", "user", "messages", "missing", "flag", "f", "nothing", "nested", "words"]
SPACES = ["", " ", "  ", "\n", "\n  ", " \n", "\t", "\n\n"]


def make_context(rng):
    def scalar():
        return rng.choice([rng.randint(-9, 20), rng.choice([0.5, -1.25, 3.0, 1e20, 1e-7, 100.0]), rng.choice(WORDS),
                           True, False, None])

    def message():
        out = {"role": rng.choice(["user", "assistant", "system", "tool"]), "content": rng.choice(WORDS)}
        if rng.random() < 0.2:
            out["tool_calls"] = [{"function": {"name": rng.choice(["f", "g"]), "arguments": {"k": scalar()}}}]
        if rng.random() < 0.1:
            out["content"] = [{"type": "text", "text": rng.choice(WORDS)}, {"type": "image"}]
        return out

    context = {
        "x": rng.randint(-5, 12),
        "y": rng.choice([2, 3, 0, 7, 2.5]),
        "z": scalar(),
        "n": rng.randint(0, 5),
        "s": rng.choice(WORDS),
        "f": rng.choice([0.1, 1.5, -2.25, 1e16, 3.0]),
        "flag": rng.random() < 0.5,
        "nothing": None,
        "items": [scalar() for _ in range(rng.randint(0, 5))],
        "words": [rng.choice(WORDS) for _ in range(rng.randint(0, 4))],
        "user": {"name": rng.choice(WORDS), "age": rng.randint(0, 99), "tags": [rng.choice(WORDS)], "items": 3,
                 "k": scalar()},
        "nested": [[1, [2, 3]], [], [rng.randint(0, 9), "t"]],
        "messages": [message() for _ in range(rng.randint(0, 4))],
    }
    for name in list(context):
        if rng.random() < 0.08:
            del context[name]
    return context


class Generator:
    def __init__(self, rng):
        self.rng = rng
        self.locals = []
        self.macros = []
        self.loop = 0
        self.in_macro = 0

    # --- expressions ---

    def quote(self, text):
        quote = self.rng.choice("'\"")
        out = ""
        for c in text:
            if c == "\n":
                out += self.rng.choice(["\\n", "\n"])
            elif c == "\\":
                out += "\\\\"
            elif c == quote:
                out += "\\" + c
            else:
                out += c
        return quote + out + quote

    def literal(self):
        rng = self.rng
        return rng.choice([
            lambda: str(rng.randint(0, 12)), lambda: self.quote(rng.choice(WORDS)), lambda: rng.choice(["true", "false"]),
            lambda: "none", lambda: rng.choice(["0.5", "2.0", "1e3", "3.14", "1_000", "0x1F", "0b11", "1.5e-3"]),
            lambda: "[]", lambda: "{}", lambda: "()",
        ])()

    def name(self):
        if self.locals and self.rng.random() < 0.5:
            return self.rng.choice(self.locals)
        if self.loop and self.rng.random() < 0.3:
            return "loop." + self.rng.choice(["index", "index0", "first", "last", "length", "revindex", "revindex0",
                                              "depth", "previtem", "nextitem"])
        return self.rng.choice(NAMES)

    def expr(self, depth=3):
        rng = self.rng
        if depth <= 0:
            return self.name() if rng.random() < 0.6 else self.literal()
        kind = rng.randrange(16)
        sub = lambda: self.expr(depth - 1)  # noqa: E731
        if kind == 0:
            return f"({sub()} {rng.choice(['+', '-', '*', '/', '//', '%', '~', '~', '+'])} {sub()})"
        if kind == 1:
            return f"{sub()} {rng.choice(['==', '!=', '<', '<=', '>', '>=', 'in', 'not in'])} {sub()}"
        if kind == 2:
            return f"({sub()} {rng.choice(['and', 'or'])} {sub()})"
        if kind == 3:
            return f"(not {sub()})" if rng.random() < 0.7 else f"(-{sub()})"
        if kind == 4:
            tail = f" else {sub()}" if rng.random() < 0.8 else ""
            return f"({sub()} if {sub()}{tail})"
        if kind == 5:
            return "[" + ", ".join(sub() for _ in range(rng.randint(0, 3))) + "]"
        if kind == 6:
            return "{" + ", ".join(f"{self.key(depth)}: {sub()}" for _ in range(rng.randint(0, 3))) + "}"
        if kind == 7:
            return f"({sub()}).{rng.choice(['name', 'age', 'items', 'role', 'content', 'k', '0', 'foo', 'tags'])}"
        if kind == 8:
            # A slice of a constant that cannot be sliced is Undefined when jinja2 folds it and an error when it does not.
            index = self.subscript(depth)
            return f"{self.name()}[{index}]" if ":" in index else f"({sub()})[{index}]"
        if kind in (9, 10):
            return f"({sub()}) | {self.filter(depth)}"
        if kind == 11:
            return f"(({sub()}) is {rng.choice(['', 'not '])}{self.test(depth)})"
        if kind == 12:
            return self.method(depth)
        if kind == 13 and self.macros:
            return self.macro_call(depth)
        if kind == 14:
            return rng.choice([f"range({rng.randint(-2, 6)})", f"range(1, {rng.randint(0, 8)}, {rng.choice([1, 2, 3, -1])})",
                               f"dict(a={sub()}, b=1)", f"(range({rng.randint(0, 6)}) | list)"])
        return self.name()

    def key(self, depth):
        rng = self.rng
        return rng.choice([lambda: self.quote(rng.choice(WORDS)), lambda: str(rng.randint(0, 3)), lambda: "true",
                           lambda: "1.0", lambda: "none", lambda: self.expr(depth - 2)])()

    def subscript(self, depth):
        rng = self.rng
        part = lambda: rng.choice(["", "", str(rng.randint(-4, 4)), "n"])  # noqa: E731
        kind = rng.randrange(5)
        if kind == 0:
            return f"{part()}:{part()}"
        if kind == 1:
            return f"{part()}:{part()}:{rng.choice(['', '1', '2', '-1', '-2'])}"
        if kind == 2:
            return self.quote(rng.choice(["name", "role", "content", "items", "zzz"]))
        if kind == 3:
            return str(rng.randint(-3, 4))
        return self.expr(depth - 1)

    def filter(self, depth):
        rng = self.rng
        word = lambda: self.quote(rng.choice(WORDS))  # noqa: E731
        number = lambda: str(rng.randint(0, 9))  # noqa: E731
        return rng.choice([
            lambda: rng.choice(["upper", "lower", "title", "capitalize", "trim", "length", "count", "string", "list", "first",
                                "last", "sort", "unique | list", "reverse | list", "abs", "int", "float", "round", "join",
                                "sum", "min", "max", "safe", "escape", "e", "forceescape", "wordcount", "striptags",
                                "urlencode", "dictsort", "items | list", "pprint", "tojson", "d", "xmlattr",
                                "filesizeformat"]),
            lambda: f"default({word()})", lambda: f"default({word()}, true)", lambda: f"d({self.expr(depth - 2)}, boolean=true)",
            lambda: f"replace({word()}, {word()})", lambda: f"replace({word()}, {word()}, {number()})",
            lambda: f"join({word()})", lambda: f"join({word()}, attribute='role')", lambda: f"join(d={word()})",
            lambda: f"indent({number()})", lambda: f"indent({number()}, true, {rng.choice(['true', 'false'])})",
            lambda: f"indent(width={word()}, first={rng.choice(['true', 'false'])})",
            lambda: f"truncate({number()})", lambda: f"truncate({number()}, true, '..', {number()})",
            lambda: f"center({number()})", lambda: f"trim({word()})", lambda: f"batch({number()}) | list",
            lambda: f"batch({number()}, {word()}) | list", lambda: f"slice({rng.randint(1, 4)}) | list",
            lambda: f"slice({rng.randint(1, 4)}, {word()}) | list", lambda: f"tojson(indent={number()})",
            lambda: "tojson(sort_keys=true)", lambda: "tojson(ensure_ascii=true)",
            lambda: "tojson(separators=(',', ':'))", lambda: "tojson(indent=2, ensure_ascii=true, sort_keys=true)",
            lambda: f"round({number()})", lambda: "round(" + number() + rng.choice([", 'ceil')", ", 'floor')"]),
            lambda: f"int({number()})", lambda: f"int(default={word()})", lambda: f"int(0, {rng.choice([2, 8, 16, 0])})",
            lambda: f"float({word()})", lambda: "map('upper') | list", lambda: "map('length') | list",
            lambda: "map(attribute=" + rng.choice(["'role'", "'content'", "0", "'k.z'"]) + ") | list",
            lambda: f"map(attribute='role', default={word()}) | list", lambda: f"map('default', {word()}) | join(',')",
            lambda: "select | list", lambda: "reject | list", lambda: f"select('{self.plain_test()}') | list",
            lambda: f"reject('{self.plain_test()}') | list", lambda: "selectattr('role') | list",
            lambda: f"selectattr('role', 'equalto', {word()}) | list", lambda: "selectattr('role', '==', 'user') | list",
            lambda: "rejectattr('content', 'none') | list", lambda: "rejectattr('tool_calls', 'defined') | map(attribute='role') | join('/')",
            lambda: "sort(reverse=true)", lambda: "sort(case_sensitive=true)", lambda: "sort(attribute='role')",
            lambda: "sort(attribute='role,content')", lambda: "unique(attribute='role') | list",
            lambda: "groupby('role') | list", lambda: "groupby('role', default='none') | map('first') | list",
            lambda: "min(attribute='role')", lambda: "max(case_sensitive=true)", lambda: "sum(attribute='age')",
            lambda: f"sum(start={number()})", lambda: "dictsort(by='value')", lambda: "dictsort(true, reverse=true)",
            lambda: f"format({word()}, {number()})", lambda: "attr('name')", lambda: "attr('items')",
            lambda: "wordwrap(5, break_on_hyphens=false)", lambda: "wordwrap(7, false, '|', false)",
            lambda: "filesizeformat(true)", lambda: "items",
        ])()

    def plain_test(self):
        return self.rng.choice(["defined", "none", "string", "number", "integer", "float", "boolean", "mapping", "sequence",
                                "iterable", "true", "false", "odd", "even", "lower", "upper", "undefined", "callable"])

    def test(self, depth):
        rng = self.rng
        return rng.choice([
            self.plain_test, self.plain_test, lambda: f"divisibleby {rng.randint(1, 4)}", lambda: f"divisibleby({rng.randint(0, 3)})",
            lambda: f"{rng.choice(['eq', 'equalto', 'ne', 'lt', 'gt', 'le', 'ge', 'lessthan', 'greaterthan'])}({self.expr(depth - 2)})",
            lambda: f"in {rng.choice(['items', 'words', '[1, 2, none]', 's'])}", lambda: "sameas none", lambda: "sameas(true)",
            lambda: "escaped", lambda: "filter", lambda: "test",
        ])()

    def method(self, depth):
        rng = self.rng
        word = lambda: self.quote(rng.choice(WORDS))  # noqa: E731
        number = lambda: str(rng.randint(-3, 9))  # noqa: E731
        target = rng.choice([lambda: "s", word, lambda: "user.name", lambda: f"({self.expr(depth - 1)})"])()
        call = rng.choice([
            lambda: rng.choice(["upper", "lower", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip",
                                "split", "rsplit", "splitlines", "isdigit", "isalpha", "isalnum", "isspace", "isupper",
                                "islower", "istitle", "isnumeric", "isdecimal", "isidentifier", "isprintable", "isascii",
                                "expandtabs", "items", "keys", "values"]) + "()",
            lambda: f"strip({word()})", lambda: f"lstrip({word()})", lambda: f"rstrip({word()})", lambda: f"split({word()})",
            lambda: f"split({word()}, {number()})", lambda: f"split(none, {number()})", lambda: f"rsplit({word()}, {number()})",
            lambda: f"rsplit(none, {number()})", lambda: f"split(maxsplit={number()})", lambda: "splitlines(true)",
            lambda: f"startswith({word()})", lambda: f"endswith({word()})", lambda: f"startswith(({word()}, {word()}))",
            lambda: f"startswith({word()}, {number()})", lambda: f"find({word()})", lambda: f"rfind({word()}, {number()})",
            lambda: f"find({word()}, {number()}, {number()})", lambda: f"index({word()})", lambda: f"count({word()})",
            lambda: f"count({word()}, {number()})", lambda: f"replace({word()}, {word()})",
            lambda: f"replace({word()}, {word()}, {number()})", lambda: f"join({self.expr(depth - 1)})", lambda: "join(words)",
            lambda: f"center({number()})", lambda: f"ljust({number()}, '*')", lambda: f"rjust({number()})",
            lambda: f"zfill({number()})", lambda: f"partition({word()})", lambda: f"rpartition({word()})",
            lambda: f"removeprefix({word()})", lambda: f"removesuffix({word()})", lambda: f"expandtabs({number()})",
            lambda: f"format({self.expr(depth - 2)}, {number()}, k={word()})", lambda: f"get({word()})",
            lambda: f"get('name', {number()})", lambda: f"append({number()})", lambda: f"count({number()})",
            lambda: f"index({number()})",
        ])()
        return f"{target}.{call}"

    def macro_call(self, depth):
        rng = self.rng
        name, arguments = rng.choice(self.macros)
        parts = [self.expr(depth - 1) for _ in range(rng.randint(0, max(0, len(arguments))))]
        if arguments and rng.random() < 0.4:
            parts = parts[:-1]
            if len(parts) < len(arguments):
                parts.append(f"{arguments[-1]}={self.expr(depth - 2)}")
        if rng.random() < 0.1:
            parts.append("extra=1")
        return f"{name}({', '.join(parts)})"

    # --- statements ---

    def space(self):
        return self.rng.choice(SPACES)

    def tag(self, body):
        rng = self.rng
        begin = rng.choice(["", "", "-", "-", "+"])
        end = rng.choice(["", "", "-", "-", "+"])
        return "{%" + begin + " " + body + " " + end + "%}"

    def output(self):
        rng = self.rng
        return "{{" + rng.choice(["", "", "-"]) + " " + self.expr(rng.randint(0, 3)) + " " + rng.choice(["", "", "-"]) + "}}"

    def new_local(self):
        name = self.rng.choice(["x", "y", "v", "w", "acc", "item", "s"])
        return name

    def block(self, depth):
        return "".join(self.space() + self.statement(depth) for _ in range(self.rng.randint(1, 3))) + self.space()

    def scoped(self, names, depth):
        saved = list(self.locals)
        self.locals += names
        body = self.block(depth)
        self.locals = saved
        return body

    def statement(self, depth):
        rng = self.rng
        choices = [self.output, self.output, lambda: rng.choice(["text", "  lead", "a\nb", "ünï", "{", "}", "%", "#"])]
        choices += [self.set, lambda: self.tag(self.comment_or_print()), lambda: "{#" + rng.choice(["", "-"]) + " note " + rng.choice(["", "-"]) + "#}"]
        if depth > 0:
            choices += [lambda: self.if_(depth), lambda: self.if_(depth), lambda: self.for_(depth), lambda: self.for_(depth),
                        lambda: self.set_block(depth), lambda: self.namespace(depth), lambda: self.macro(depth),
                        lambda: self.with_(depth), lambda: self.filter_block(depth), lambda: self.call_block(depth),
                        lambda: self.recursive(depth), lambda: self.raw(), lambda: self.generation(depth)]
        if self.loop and rng.random() < 0.3:
            choices = [lambda: self.tag(f"if {self.expr(1)}") + self.tag(rng.choice(["break", "continue"])) + self.tag("endif"),
                       lambda: "{{ loop.cycle('a', 'b') }}", lambda: f"{{{{ loop.changed({self.expr(1)}) }}}}"]
        return rng.choice(choices)()

    def comment_or_print(self):
        return "print " + self.expr(1)

    def set(self):
        if self.rng.random() < 0.2:
            out = self.tag(f"set v, w = {self.expr(1)}, {self.expr(1)}")
            self.locals += ["v", "w"]
            return out
        name = self.new_local()
        out = self.tag(f"set {name} = {self.expr(2)}")
        self.locals.append(name)
        return out

    def set_block(self, depth):
        name = self.new_local()
        filters = self.rng.choice(["", "", " | upper", " | trim", " | length", " | replace('a', 'b') | trim"])
        body = self.block(depth - 1)
        self.locals.append(name)
        return self.tag(f"set {name}{filters}") + body + self.tag("endset")

    def namespace(self, depth):
        return (self.tag(f"set ns = namespace(a={self.expr(1)}, n=0)") + self.tag(f"for i in {self.rng.choice(['items', 'range(3)', 'words'])}")
                + self.tag(f"set ns.n = ns.n + {self.rng.randint(0, 2)}") + self.tag(f"set ns.a = ns.a ~ {self.expr(1)}")
                + self.tag("endfor") + "{{ ns.n }}:{{ ns.a }}")

    def if_(self, depth):
        out = self.tag(f"if {self.expr(2)}") + self.block(depth - 1)
        if self.rng.random() < 0.3:
            out += self.tag(f"elif {self.expr(2)}") + self.block(depth - 1)
        if self.rng.random() < 0.5:
            out += self.tag("else") + self.block(depth - 1)
        return out + self.tag("endif")

    def for_(self, depth):
        rng = self.rng
        target, names, source = rng.choice([
            ("i", ["i"], "items"), ("i", ["i"], "range(3)"), ("m", ["m", "m.role", "m.content"], "messages"), ("w", ["w"], "words"),
            ("k, v", ["k", "v"], "user.items()"), ("k, v", ["k", "v"], "user | dictsort"), ("c", ["c"], "s"),
            ("i", ["i"], self.expr(2)), ("k, v", ["k", "v"], self.expr(2)), ("(a, b)", ["a", "b"], "nested"), ("x", ["x"], "nested"),
        ])
        test = f" if {self.expr(2)}" if rng.random() < 0.25 else ""
        saved = list(self.locals)
        self.locals += names
        if test and rng.random() < 0.5:
            test = f" if {names[0]} {rng.choice(['!=', '==', 'is'])} {'string' if test.endswith('is') else rng.choice(['1', 'none', 'x'])}"
        self.loop += 1
        head = self.tag(f"for {target} in {source}{test}")
        body = self.block(depth - 1)
        self.loop -= 1
        self.locals = saved
        if rng.random() < 0.25:
            body += self.tag("else") + self.block(depth - 1)
        return head + body + self.tag("endfor")

    def recursive(self, depth):
        saved, self.loop = self.loop, 0
        out = (self.tag("for q in nested recursive") + "<{{ loop.depth }}:{{ loop(q) if q is iterable and q is not string else q }}>"
               + self.block(depth - 2) + self.tag("endfor"))
        self.loop = saved
        return out

    def macro(self, depth):
        rng = self.rng
        name = rng.choice(["m1", "m2", "m3"])
        arguments = rng.sample(["p", "q", "r"], rng.randint(0, 3))
        signature = []
        defaulted = False
        for argument in arguments:
            defaulted = defaulted or rng.random() < 0.4
            signature.append(f"{argument}={self.expr(1)}" if defaulted else argument)
        saved_locals, saved_loop = list(self.locals), self.loop
        self.locals += arguments + rng.choice([[], ["varargs"], ["kwargs"], ["caller is defined"]])
        self.loop = 0
        saved_macros, self.macros = self.macros, []
        body = self.block(depth - 1)
        self.macros = saved_macros
        self.locals, self.loop = saved_locals, saved_loop
        if rng.random() < 0.3:
            body += "{{ caller() if caller is defined and caller }}"
        self.macros.append((name, arguments))
        return self.tag(f"macro {name}({', '.join(signature)})") + body + self.tag("endmacro") + "{{ " + self.macro_call(2) + " }}"

    def call_block(self, depth):
        saved, self.loop = self.loop, 0
        arguments = self.rng.choice(["", "", "(u)", "(u, t=2)"])
        body = self.scoped(["u"] if arguments else [], depth - 1)
        self.loop = saved
        value = self.expr(1)
        macro = self.tag("macro cm(a)") + "[{{ a }}|{{ caller(" + ("a" if arguments else "") + ") }}]" + self.tag("endmacro")
        return macro + self.tag(f"call{arguments} cm({value})") + body + self.tag("endcall")

    def filter_block(self, depth):
        return self.tag("filter " + self.rng.choice(["upper", "trim", "replace('a', 'é')", "indent(2)", "title | trim", "length"])) + self.block(depth - 1) + self.tag("endfilter")

    def with_(self, depth):
        name = self.new_local()
        head = self.tag(f"with {name} = {self.expr(2)}, w = {self.expr(1)}")
        return head + self.scoped([name, "w"], depth - 1) + self.tag("endwith")

    def generation(self, depth):
        saved, self.loop = self.loop, 0
        body = self.block(depth - 1)
        self.loop = saved
        return self.tag("generation") + body + self.tag("endgeneration")

    def raw(self):
        rng = self.rng
        sign = lambda: rng.choice(["", "-"])  # noqa: E731
        return ("{%" + sign() + " raw " + sign() + "%}" + self.space() + "{{ raw }}{% if %}" + self.space() + "{%" + sign()
                + " endraw " + sign() + "%}")


def make_program(seed):
    """A template and its context."""
    rng = random.Random(seed)
    context = make_context(rng)
    if rng.random() < 0.4:  # one expression: more of them get through without an error
        template = "{{ " + Generator(rng).expr(rng.randint(1, 3)) + " }}"
    else:
        generator = Generator(rng)
        template = "".join(generator.space() + generator.statement(3) for _ in range(rng.randint(1, 4))) + generator.space()
    return template, context
