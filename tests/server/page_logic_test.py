#!/usr/bin/env python3
"""The page's modules that know no DOM, run in Chromium: the parsers of events and of markdown."""

from browser import PageTest
from serving import main


def plain(nodes):
    """Inline nodes in short: text, or (type, children or text[, href])."""
    out = []
    for n in nodes:
        if isinstance(n, str):
            out.append(n)
        elif n["type"] == "code":
            out.append(("code", n["text"]))
        else:
            out.append((n["type"], *plain(n["children"]), *([n["href"]] if "href" in n else [])))
    return out


class Logic(PageTest):
    def test_events_cut_anywhere(self):
        text = ": ping\r\n\r\ndata: {\"a\": 1}\r\ndata:two\n\ndata\n\nevent: x\ndata:  y\r\rid: 3\n\ndata: [DONE]\n\n"
        want = ['{"a": 1}\ntwo', "", " y", "[DONE]"]
        for size in (1, 2, 3, 7, 1000):
            pieces = [text[i:i + size] for i in range(0, len(text), size)]
            got = self.evaluate("sse.js", "const p = new m.SseParser(); return x.flatMap((t) => p.push(t));", pieces)
            self.assertEqual(got, want, size)
        self.assertEqual(self.evaluate("sse.js", "return new m.SseParser().push('data: half');"), [])

    def inline(self, text):
        return plain(self.evaluate("markdown_inline.js", "return m.parseInline(x);", text))

    def test_inline_markdown(self):
        for text, want in [
                ("a *b* **c** ~~d~~ `e*f*`", ["a ", ("em", "b"), " ", ("strong", "c"), " ", ("strike", "d"), " ",
                                              ("code", "e*f*")]),
                ("***x***", [("em", ("strong", "x"))]),
                ("**a *b* c**", [("strong", "a ", ("em", "b"), " c")]),
                ("*a **b*", [("em", "a **b")]),
                ("2 * 3 * 4 and snake_case_name", ["2 * 3 * 4 and snake_case_name"]),
                ("__init__ and _x_", [("strong", "init"), " and ", ("em", "x")]),
                ("**not closed", ["**not closed"]),
                ("a\\*b\\*", ["a*b*"]),
                ("`` a`b `` and ` open", [("code", "a`b"), " and ` open"]),
                ("~one~ tilde", ["~one~ tilde"]),
                ("**", ["**"]), ("****", ["****"]), ("", []),
                ("[a *b*](https://x.org/y \"t\")", [("link", "a ", ("em", "b"), "https://x.org/y")]),
                ("see https://x.org/a_b_c, or (http://y.org).", [
                    "see ", ("link", "https://x.org/a_b_c", "https://x.org/a_b_c"), ", or (",
                    ("link", "http://y.org", "http://y.org/"), ")."]),
                ("![pic](https://x.org/p.png)", [("link", "pic", "https://x.org/p.png")]),
                ("[x](javascript:alert(1))", ["[x](javascript:alert(1))"]),
                ("[x](JaVa\\script:alert)", ["[x](JaVa\\script:alert)"]),
                ("[x](data:text/html,a)", ["[x](data:text/html,a)"]),
                ("[x](//evil.org)", ["[x](//evil.org)"]),
                ("[x](vbscript:a) [y](file:///etc)", ["[x](vbscript:a) [y](file:///etc)"]),
                ("[x]( java\tscript:alert(1))", ["[x]( java\tscript:alert(1))"]),
                ("[a] (b)", ["[a] (b)"]),
                ("<b>&amp;</b>", ["<b>&amp;</b>"])]:
            self.assertEqual(self.inline(text), want, text)

    def blocks(self, text):
        def short(b):
            kind = b["type"]
            if kind == "code":
                return ("code", b["language"], b["text"])
            if kind == "list":
                return ("ol" if b["ordered"] else "ul", *[[short(c) for c in item] for item in b["items"]])
            if kind == "quote":
                return ("quote", *[short(c) for c in b["blocks"]])
            if kind == "table":
                return ("table", [plain(c) for c in b["header"]], *[[plain(c) for c in row] for row in b["rows"]])
            if kind == "rule":
                return ("rule",)
            return (f"h{b['level']}" if kind == "heading" else "p", *plain(b["inline"]))
        return [short(b) for b in self.evaluate("markdown.js", "return m.parseMarkdown(x);", text)]

    def test_blocks_of_markdown(self):
        for text, want in [
                ("# A #\nb\nc\n\nd", [("h1", "A"), ("p", "b\nc"), ("p", "d")]),
                ("#hash\n####### seven", [("p", "#hash\n####### seven")]),
                ("```py x\na\n  b\n```\nc", [("code", "py x", "a\n  b"), ("p", "c")]),
                ("~~~\n```\n~~~", [("code", "", "```")]),
                ("````\n```\n````", [("code", "", "```")]),
                ("text\n```js\nopen", [("p", "text"), ("code", "js", "open")]),
                ("---\n* * *\n- a", [("rule",), ("rule",), ("ul", [("p", "a")])]),
                ("> a\n> > b\n\nc", [("quote", ("p", "a"), ("quote", ("p", "b"))), ("p", "c")]),
                ("- a\n- b\n  - c\n    more\n- d", [
                    ("ul", [("p", "a")], [("p", "b"), ("ul", [("p", "c\nmore")])], [("p", "d")])]),
                ("1. a\n\n   ```\n   x\n   ```\n\n2. b\n  - c", [
                    ("ol", [("p", "a"), ("code", "", "x")], [("p", "b"), ("ul", [("p", "c")])])]),
                ("1. a\nlazy\n\nafter", [("ol", [("p", "a\nlazy")]), ("p", "after")]),
                ("- a\n1. b", [("ul", [("p", "a")]), ("ol", [("p", "b")])]),
                ("in\n1984. was", [("p", "in\n1984. was")]),
                ("|a|b|\n|-|:-:|\n|1|`x\\|y`|\n|2|\n|3|4|5|\n\nz", [
                    ("table", [["a"], ["b"]], [["1"], [("code", "x|y")]], [["2"], []], [["3"], ["4 | 5"]]), ("p", "z")]),
                ("a | b\nno table", [("p", "a | b\nno table")]),
                ("<script>alert(1)</script>", [("p", "<script>alert(1)</script>")]),
                ("", []), ("\n\n \n", []), ("-", [("ul", [])]), (">", [("quote",)])]:
            self.assertEqual(self.blocks(text), want, text)

    def test_hostile_markdown_ends_soon(self):
        """Work grows with the text, not with its square or worse: a browser would hang on these for minutes."""
        n = 20000
        for text in ("*" * n, "*a " * n, "**a " * n, "[" * n, "![" * n, "[](" * n, "`" * n, "`a``b" * n, "> " * n, "- " * n,
                     "1. " * n, "|" * n + "\n" + "|-" * n, "\n" * n + "- a" + "\n" * n, "_a*b~~" * n, "#" * n, "# " * n,
                     "http://" * n, "\\" * n, " " * n, "- a\n" * n, "- a\n\n" * n, "a|b\n" * n, "~" * n, "<" * n):
            self.assertGreaterEqual(self.evaluate("markdown.js", "return m.parseMarkdown(x).length;", text), 0)
        deep = "".join(" " * (2 * i) + "- a\n" for i in range(300))
        self.assertEqual(self.evaluate("markdown.js", "return m.parseMarkdown(x).length;", deep), 1)

    def test_any_text_comes_through(self):
        """Every letter of a text is somewhere in its tree, whatever marks stand around it."""
        self.evaluate("markdown.js", """
            let seed = 1;
            const draw = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
            const parts = ["a", "b", " ", "\\n", "\\n\\n", "*", "**", "_", "`", "```", "~~", "[", "](", ")", "!", "|", "- ",
                           "1. ", "> ", "# ", "<", "https://x.org/", "\\\\", "  ", "|-|"];
            const letters = (node) => typeof node === "string" ? node :
                Array.isArray(node) ? node.map(letters).join("") :
                ["text", "language", "inline", "children", "blocks", "items", "header", "rows", "href"]
                    .map((key) => (key in node ? letters(node[key]) : "")).join("");
            const count = (text) => text.split("").filter((c) => c === "a" || c === "b").length;
            for (let round = 0; round < 3000; ++round) {
              const text = Array.from({length: draw(30)}, () => parts[draw(parts.length)]).join("");
              const blocks = m.parseMarkdown(text);
              if (count(text) > count(letters(blocks))) throw new Error(JSON.stringify([text, blocks]));
            }""")


if __name__ == "__main__":
    main()
