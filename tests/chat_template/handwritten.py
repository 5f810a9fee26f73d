"""Cases written by hand, one corner of the language each: (template, context). Expected results come from jinja2."""

CONTEXT = {
    "i": 7, "neg": -3, "big": 12345678901234567890, "f": 2.5, "tiny": 1e-9, "huge": 1e22, "zero": 0, "t": True, "u": False,
    "none_value": None, "s": "Hello, World", "e": "", "uni": "Ünïcödé 日本 😀", "pad": "  \t padded \n", "multi": "a\nb\n\nc",
    "l": [3, 1, 2], "mixed": [1, "a", None, 2.5, True, [1], {"k": "v"}], "d": {"b": 1, "a": 2, "items": "own", "z z": 3},
    "people": [{"name": "Bo", "age": 30, "city": {"n": "Rome"}}, {"name": "al", "age": 25, "city": {"n": "oslo"}},
               {"name": "Cy", "age": 30, "city": {"n": "Oslo"}}],
    "tree": [{"n": "r", "c": [{"n": "x", "c": []}, {"n": "y", "c": [{"n": "z", "c": []}]}]}],
    "html": "<a href='x'>T & \"U\"</a>", "digits": "42", "messages": [{"role": "user", "content": "hi"},
                                                                      {"role": "assistant", "content": "yo"}],
    "q1": "it's", "q2": 'say "hi"', "q3": "both ' and \"", "esc": "tab\there\\ \x01 \x7f \u00a0 \u2028 \U0001F600 \u0301",
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2, -7 // 2, 7 // -2, -7 % 3, 7 % -3, 7.5 // 2, -7.5 // 2, 7.5 % 2, -7.5 % 2
2 ** 10, 2 ** -1, 2 ** 0.5, (-2) ** 3, -2 ** 2, 0 ** 0, 2 ** 3 ** 2
7 / 2, 6 / 3, 1 / 3, -1 / 4
1 / 0
1 % 0
1 // 0
1.0 / 0
0.1 + 0.2, 1e16, 1e15, 123456789012345680.0, 1e-4, 1e-5, 0.0001234, 100.0, -0.0
1e22, 1e21, 5e-324, 1.7976931348623157e308, 2.5, 3.0
big, big + 1, big * 2, big // 3, big % 1000, -big, big == 12345678901234567890, big > 1e19
true + true, true * 3, -true, +false, true == 1, false == 0, 1.0 == 1, "1" == 1
1 < 2 < 3, 1 < 3 < 2, 1 == 1.0 == true, 3 > 2 >= 2 != 1
"a" < "b", "B" < "a", "é" > "z", "日" < "😀"
"abc" + 1
1 + "abc"
"ab" * 3, 3 * "ab", "ab" * -1, "ab" * true, [1] * 2, 2 * [1, 2], (1,) * 2
[1] + [2], (1,) + (2,)
[1] + (2,)
1 ~ 2 ~ "x" ~ none ~ true ~ [1, "a"] ~ 2.0
"a" in "abc", "" in "abc", "z" not in "abc", 1 in [1, 2], 1.0 in [1], true in [1], "b" in d, "q" in d, 2 in (1, 2)
1 in "abc"
1 in 5
missing in "abc"
"a" in missing
none in [none], missing in [missing], missing == missing, missing != none
not true, not 0, not "", not [], not missing, not none
1 and 2, 0 and 2, 1 or 2, 0 or 2, "" or "x", none or missing, missing or 3
1 if true else 2, 1 if false, (1 if false) is defined, ("a" if s) ~ "b"
"x" if missing else "y" if none else "z"
- i, + i, - f, -(-i), +true
-s
+none
s[0], s[-1], s[1:4], s[::-1], s[::2], s[:-1], s[7:], s[100:], s[:0], s[-3:-1], s[5:2], s[5:2:-1]
uni[0], uni[-1], uni[2:5], uni[::-1], uni | length, uni[8:10], uni[1:-1:3]
s[100], s[100] is defined, s["x"] is defined, s[1.5] is defined, s[true]
l[0], l[-1], l[1:], l[::-1], l[5] is defined, l["0"] is defined, l[true], l[none] is defined
s[::0]
s["a":]
s[1.5:]
missing[1:]
none_value[1:]
d.a, d["a"], d.zzz, d["zzz"], d["z z"], d[1] is defined, d[[1]] is defined
d["items"], d.get("a"), d.get("q"), d.get("q", 5), d.get("q", default=5)
d.get("a"), d.get("q"), d.get("q", 5)
d.keys() | list, d.values() | list, d.items() | list
d.keys(), d.values(), d.items()
d.keys() | length, "a" in d.keys(), 2 in d.values(), ("a", 2) in d.items(), d.items() is iterable, d.items() is sequence
d.copy(), d == {"b": 1, "a": 2, "items": "own", "z z": 3}, d == d.copy(), d.keys() == d.keys(), d.values() == d.values()
l.index(1), l.count(3), l.copy(), (1, 2, 2).count(2), (1, 2).index(2)
l.index(9)
l.append(4)
l.append
d.update({})
d.pop("a")
l.sort()
s.foo, s.foo is defined, 5.foo is defined
missing.foo
missing["foo"]
missing.foo.bar
none_value.foo, none_value.foo is defined
none_value.foo.bar
d.zzz.foo
d.__class__, d.__class__ is defined, s.__len__ is defined
d.__class__.__mro__
d._x, d["_x"] is defined
missing()
s()
d()
5()
none()
i.real, i.imag, f.real, i.numerator, i.denominator, true.real
f.is_integer(), (3.0).is_integer()
range(3), range(1, 3), range(0, 10, 3), range(5, 0, -2), range(0) | list, range(5)[1:3], range(10)[::3], range(10)[::-1]
range(5) | list, range(2, 9, 3) | list, range(3)[1], 3 in range(5), 3.0 in range(5), "a" in range(3), range(3) == range(0, 3, 1)
range(4).start, range(4).stop, range(4).step, range(4) | length, range(4).index(2), range(4).count(9)
range(200000)
range(1.5)
range()
range(1, 2, 0)
range("a")
[1, 2, 3] == [1, 2, 3], [1] == (1,), (1, 2) < (1, 3), [1, "a"] < [2, 0], [] < [1], {} == {}
[1] < ["a"]
1 < "a"
none < none
missing < 1
missing + 1
1 + missing
missing ~ "x"
missing * 2
-missing
missing | length, missing | list, missing | join(","), missing | upper, missing | string
{"a": 1, "b": [1, {"c": none}], 1: true, 1.5: false, none: "n", true: "over"}
{1: "a", 1.0: "b", true: "c"}
{"a": 1}["a"], {"a": {"b": 2}}.a.b
{[1]: 2}
[], {}, (), (1,), (1, 2), [[]], [()], [{}], "", ""
[1, 2.0, "a", 'b"c', "d'e", 'f\'g"h', none, true, missing]
q1, [q1], [q2], [q3], [esc], [uni], [html | safe], [e]
"\x41\u00e9\U0001F600\101\n\t\\\'\"\a\z|", "a" "b" 'c'
"\é\日"
"\ud800"
1_000, 0x1F, 0b101, 0o17, 1_0.5_0, 1e3, 1E-2, 00, 0_0
i.0 is defined, l.0, l.1, people.0.name, l.0.real
people[0].name, people[0]["city"].n, people[-1].city.n, people[9].name
l is sequence, d is sequence, s is sequence, 5 is sequence, range(3) is sequence, missing is sequence, none is sequence
l is iterable, d is iterable, s is iterable, 5 is iterable, missing is iterable, none is iterable, range(3) is iterable
l is mapping, d is mapping, s is string, 5 is number, 5.0 is number, true is number, "5" is number, none is number
5 is integer, true is integer, 5.0 is integer, 5.0 is float, true is boolean, 1 is boolean, none is none, missing is none
true is true, 1 is true, false is false, 0 is false, missing is defined, missing is undefined, none is defined
3 is odd, 4 is even, 4 is odd, 2.0 is even, -1 is odd, 9 is divisibleby 3, 9 is divisibleby(2), true is odd
"a" is odd
missing is odd
5 is divisibleby 0
range is callable, s.upper is callable, s is callable, missing is callable, d.get is callable
1 is sameas 1, none is sameas none, true is sameas 1, l is sameas l, l is sameas [3, 1, 2], missing is sameas missing
"abc" is lower, "ABC" is upper, "aBc" is lower, "123" is lower, "" is upper, 5 is lower, "ǅ" is upper, "ß" is lower
"upper" is filter, "nope" is filter, "odd" is test, "nope" is test, "==" is test, 5 is filter
1 is in [1, 2], "a" is in "abc", 3 is not in [1]
2 is eq 2, 2 is equalto 3, 2 is ne 3, 2 is lt 3, 2 is gt 3, 2 is le 2, 2 is ge 3, 2 is lessthan 3, 2 is greaterthan 1
2 is == 2
1 is defined and 2 is defined or missing, not missing is defined, missing is not defined
1 is string is defined
s is escaped, (s | safe) is escaped, (s | escape) is escaped, (s | tojson) is escaped
s | upper | lower | title | capitalize
"hello-world (foo) {bar} [baz] <qux> it's o'neil mcDONALD ÀÉ" | title
"hello-world it's 3rd ǆ ßa ŉb ΟΔΟΣ" .title(), "ǆabc ΣΑΣ".capitalize(), "ß ŉ ﬁ İ ı".upper(), "İI ΟΔΟΣ ΑΣ. Σ".lower(), "ßﬁİ".casefold()
"aBc ÀÉß ǅ".swapcase(), "ΑΣ ΑΣΑ".lower(), "αΣ".swapcase()
"the ß ŉ" | capitalize, "ΟΔΟΣ ΣΑΣ" | lower, "ΟΔΟΣ ΣΑΣ" | title, "ﬁne ßx" | title
pad | trim, "xxaxx" | trim("x"), "xyaxy" | trim("yx"), "\u00a0\u3000a\u2028\x1c" | trim, pad.strip() ~ "|", pad.lstrip() ~ "|", pad.rstrip()
"a,b,,c".split(","), "a b  c ".split(), " a b c".rsplit(none, 1), " a  b c ".split(none, 1), "a,b,c".rsplit(",", 1), "".split(), "".split(","), "abc".split("b", 0)
"abc".split("")
"a\nb\r\nc\rd\x0be\x1cf\u2028g\n".splitlines(), "a\nb\r\n".splitlines(true), "".splitlines(), "\n".splitlines(), "a\n\nb".splitlines(keepends=true)
"a-b-c".partition("-"), "a-b-c".rpartition("-"), "abc".partition("-"), "abc".rpartition("-")
"abcabc".find("c"), "abcabc".rfind("c"), "abc".find("z"), "abcabc".find("c", 3), "abcabc".find("c", -2), "日本日本".find("本", 2), "abc".find("", 3), "abc".find("", 4), "abc".find("a", 1, 0)
"abc".index("b"), "aXbX".rindex("X")
"abc".index("z")
"aaaa".count("aa"), "abc".count(""), "abc".count("", 1), "abc".count("", 4), "日本日".count("日"), "abc".count("b", 2)
"abc".startswith("a"), "abc".startswith("b", 1), "abc".startswith(("x", "a")), "abc".endswith("c"), "abc".endswith("b", 0, 2), "abc".startswith(""), "abc".startswith("", 4)
"abc".startswith(["a"])
"abc".startswith(1)
"aaa".replace("a", "b"), "aaa".replace("a", "b", 2), "abc".replace("", "-"), "abc".replace("", "-", 2), "".replace("", "x"), "aaa".replace("a", "", 1), "日本".replace("", ".")
"abc".replace("a")
"-".join(["a", "b"]), "".join(d), ",".join("abc"), "-".join([])
"-".join([1])
"-".join(missing)
"abc".center(9), "abc".center(8, "*"), "abcd".center(9, "*"), "abc".ljust(5) ~ "|", "abc".rjust(5, "."), "42".zfill(5), "-42".zfill(5), "+1".zfill(1), "日".center(4, "本")
"abc".center(5, "xx")
"a\tb\tcd\te".expandtabs(), "a\tb\n\tc".expandtabs(4), "\t".expandtabs(0) ~ "|", "日\tx".expandtabs(4)
"TestHook".removeprefix("Test"), "TestHook".removesuffix("Hook"), "abc".removeprefix("z"), "aa".removeprefix("aa")
"abc".isalpha(), "ab1".isalnum(), "12".isdigit(), "²".isdigit(), "²".isdecimal(), "½".isnumeric(), "½".isdigit(), "٣".isdecimal(), " \t".isspace(), "".isspace(), "Ab".istitle(), "AB Cd".istitle(), "abc".isidentifier(), "1a".isidentifier(), "a\n".isprintable(), "".isprintable(), "é".isascii(), "日本".isalpha(), "Ⅷ".isupper(), "ª".islower(), "A1".isupper(), "a1_".islower()
"abc".upper("x")
"abc".strip(1)
"%s-%d-%5.2f|%-5s|%05d|%x|%X|%o|%e|%g|%%|%c|%r" % ("a", 3, 2.5, "b", 42, 255, 255, 8, 12345.678, 0.0001, "z", "q")
"%s" % "x", "%s %s" % ("a", none), "%d" % 3.9, "%5s|" % "é", "%.2s|" % "日本語", "%+d % d" % (3, 4), "%#x %#o" % (255, 8), "%i" % true
"%(a)s-%(b)05d" % {"a": 1, "b": 2}, "%s" % [1], "abc" % [1], "%s" % {"a": 1}, "%s" % missing, "%*d|%-*d|" % (5, 1, 4, 2), "%.3d|%8.3d|%-8.3d|" % (5, 6, 7), "%g %g %g %G" % (1e10, 1e-10, 100000, 1e20)
"%s %s" % ("a",)
"%s" % ("a", "b")
"abc" % 1
"%d" % "x"
"%d" % none
"%y" % 1
"%" % 1
"%x" % 1.5
"%f %F %e %E" % (1.5, 2, 1e100, 123), "%.0f %.1f %.10f" % (2.5, 0.25, 0.1), "%5.1f|%-8.3f|%08.3f|%+.2f" % (1.25, 1.5, -1.5, 2)
"{} {}".format(1, "a"), "{0} {1} {0}".format("x", "y"), "{a} {b[0]} {c.k} {d[k]}".format(a=1, b=[2], c={"k": 3}, d={"k": 4}), "{{}}".format(), "{!r} {!s}".format("a", "b")
"{:5}|{:<5}|{:>5}|{:^5}|{:*^7}|{:05d}|{:+}|{:,}|{:_}|{:x}|{:#x}|{:b}|{:o}|{:.2f}|{:8.3f}|{:e}|{:g}|{:%}|{:.1%}".format("a", "b", "c", "d", "e", 42, 5, 1234567, 1234567, 255, 255, 5, 8, 1.005, 2.5, 12345.6789, 1e-10, 0.25, 0.333)
"{:>8}|{:.3}|{:08.2f}|{:=+8}|{:<8}|{:é^5}".format(2.5, "abcdef", 3.14159, 7, true, "x")
"{} {1}".format(1, 2)
"{}".format()
"{a}".format()
"{".format()
"}".format()
"{:d}".format("x")
"{:q}".format(1)
"{!z}".format(1)
"{.upper}".format("a")
l | sort, l | sort(reverse=true), ["b", "A", "c"] | sort, ["b", "A", "c"] | sort(case_sensitive=true), [true, 0, 2.5] | sort, ["é", "z", "E"] | sort
[1, "a"] | sort
[none, none] | sort, [[2], [1, 5], [1]] | sort
[none, 1] | sort
people | sort(attribute="age") | map(attribute="name") | list, people | sort(attribute="city.n") | map(attribute="name") | join(","), people | sort(attribute="age,name") | map(attribute="name") | list, people | sort(reverse=true, attribute="age") | map(attribute="name") | list
people | groupby("age"), people | groupby("city.n") | map("first") | list, people | groupby("city.n", case_sensitive=true) | map(attribute="grouper") | list
(people | groupby("age"))[0].grouper, (people | groupby("age"))[0].list | length, (people | groupby("nope", default="x"))[0].grouper
people | map(attribute="city.n") | list, people | map(attribute="nope", default="-") | list, l | map("string") | join("+"), ["a"] | map("upper") | first, [[1, 2]] | map(attribute=0) | list, [[1, 2]] | map("first") | list, ["a b"] | map("replace", " ", "_") | list
l | map | list
l | map("nope") | list
l | map(attribute="x", foo=1) | list
l | select("odd") | list, l | reject("odd") | list, mixed | select | list, mixed | select("string") | list, l | select("gt", 1) | list, l | select(">", 1) | list, [1, 2, 3, 4] | select("divisibleby", 2) | list
people | selectattr("age", "equalto", 30) | map(attribute="name") | list, people | rejectattr("age", "gt", 26) | list | length, people | selectattr("nope") | list, people | selectattr("city.n", "upper") | list, messages | selectattr("role", "in", ["user"]) | list
l | select("nope") | list
l | selectattr | list
(l | select("odd")) is iterable, (l | select("odd")) is sequence, (l | select) is true, (l | map("string")) and 1, (l | select("odd"))[0] is defined
(l | select("odd")) | length
l | first, l | last, [] | first, [] | last, s | first, s | last, d | first, d | last, range(3) | last, missing | first, missing | last, (l | reverse | first), d.keys() | last
(l | map("string")) | last
5 | first
l | min, l | max, ["b", "A"] | min, ["b", "A"] | min(case_sensitive=true), [] | max, people | max(attribute="age"), s | max, [1, 2.5, true] | max, people | map(attribute="age") | max
l | sum, [] | sum, [0.1, 0.2] | sum, people | sum(attribute="age"), l | sum(start=10), [[1], [2]] | sum(start=[]), [true, true] | sum
["a"] | sum
l | sum(start="")
l | unique | list, ["a", "A", "b"] | unique | list, ["a", "A"] | unique(case_sensitive=true) | list, people | unique(attribute="age") | map(attribute="name") | list, [1, 1.0, true] | unique | list
[[1]] | unique | list
l | reverse | list, s | reverse, d | reverse | list, (1, 2) | reverse | list, range(3) | reverse | list, (l | map("string") | reverse), d.items() | reverse | list, missing | reverse | list
5 | reverse
l | list, s | list, d | list, (1, 2) | list, uni | list
5 | list
l | join, l | join(", "), mixed | join("|"), people | join(", ", attribute="name"), s | join("."), d | join(","), l | join(1), [missing, 1] | join("-"), l | join(d="/")
none | join
[1, 2, 3, 4, 5] | batch(2) | list, [1, 2, 3] | batch(2, "x") | list, [] | batch(2) | list, [1] | batch(5, 0) | list, [1, 2] | batch(0) | list
[1, 2, 3, 4, 5] | slice(2) | list, [1, 2, 3, 4, 5] | slice(3, "x") | list, [] | slice(2) | list, [1] | slice(3) | list
[1] | slice(0) | list
d | dictsort, d | dictsort(reverse=true), {"b": "x", "A": "y"} | dictsort, {"b": "x", "A": "y"} | dictsort(true), {"a": 2, "b": 1} | dictsort(by="value"), {"a": "B", "b": "a"} | dictsort(false, "value")
{"a": 1} | dictsort(by="x")
{1: 1, "a": 2} | dictsort
l | dictsort
d | items | list, missing | items | list
l | items | list
missing | default("x"), missing | d, none | default("x"), none | default("x", true), "" | default("x", true), 0 | d("y", boolean=true), d.zzz | default({}), s | default(missing)
d.zzz.q | default("x")
3.7 | int, "3.7" | int, "abc" | int, "abc" | int(5), " 42 " | int, "0x1F" | int(0, 16), "101" | int(0, 2), "0b11" | int(0, 0), "1_000" | int, none | int, [] | int(-1), true | int, "-5" | int, "1e3" | int, "inf" | int, "٣" | int, "12" | int(base=8), "zz" | int(7, 36), "08" | int, "08" | int(1, 0), "1__0" | int, "_1" | int
missing | int
3 | float, "2.5" | float, "abc" | float, "abc" | float(1.5), "1e400" | float, "-inf" | float, "nan" | float, " 1_0.5 " | float, true | float, none | float, "1e-400" | float, "infinity" | float, ".5" | float, "5." | float, "." | float, "1_" | float
missing | float
2.5 | round, 3.5 | round, 2.675 | round(2), 1234 | round(-2), 1250 | round(-2), 42.55 | round(1, "ceil"), 42.55 | round(1, "floor"), 5 | round, 42 | round(0, "ceil"), -2.5 | round, 0.5 | round, 1e300 | round(2), 2.5 | round(method="floor"), 1.15 | round(1), true | round
"a" | round
2.5 | round(1, "up")
-5 | abs, 2.5 | abs, -2.5 | abs, true | abs
"a" | abs
s | length, l | count, d | length, "日本" | length, range(5) | length, (1, 2) | length
5 | length
none | length
s | replace("l", "L"), s | replace("l", "L", 1), 123 | replace(2, "x"), s | replace("", "-", 3), html | replace("<", "["), none | replace("N", "n")
s | replace("a")
html | escape, html | e, html | safe, html | forceescape, (html | safe) | escape, (html | safe) | forceescape, 5 | escape, none | e, [html] | escape
(html | safe) + "<b>", "<b>" + (html | safe), (html | safe) ~ "<b>", ("a" | safe) + ("<b>" | safe), ("a" | safe) * 2, ("<a>" | safe).upper(), ("<a>" | safe)[0:2] is escaped, ("a,b" | safe).split(","), ("<" | safe).join(["<", ">"]), ("ab" | safe).replace("a", "<"), ("a" | safe).center(5, "*"), ("a" | safe) == "a", ("<a>" | safe) | upper | lower | trim, ("<a>" | safe) | replace("a", "<"), ("a b" | safe) | title, {"a": 1}["a" | safe], ("a" | safe) in "abc"
("a" | safe) + 1
"<b>bold</b> <!-- c --> x   y\n z" | striptags, "a < b > c" | striptags, "<!-<!-- x -->- y -->z" | striptags, "<a<b>>" | striptags
"hello world foo bar" | truncate(9), "hello world foo bar" | truncate(9, true), "hello world" | truncate(11), "hello world" | truncate(6, false, "", 0), "hello world foo" | truncate(11, false, "...", 0), "日本語日本語日本語日本語" | truncate(5, true, "…"), "abc" | truncate(2, true, ""), "foo bar baz qux" | truncate(length=10, leeway=0)
"abc" | truncate(2)
"a b c" | wordcount, "it's a_b é-x 日本" | wordcount, "" | wordcount, 123 | wordcount
"the quick brown fox" | wordwrap(10, break_on_hyphens=false), "abcdefghijkl mno" | wordwrap(5, break_on_hyphens=false), "abcdefghijkl mno" | wordwrap(5, false, "|", false), "a b\n\nc  d" | wordwrap(3), "  lead   trail  " | wordwrap(6), "x" | wordwrap
"a" | center(5) ~ "|", "ab" | center, 12 | center(6) ~ "|"
multi | indent, multi | indent(2), multi | indent(2, true), multi | indent(2, blank=true), multi | indent("> ", true), "" | indent, "a" | indent(first=true), multi | indent(width=1, first=true, blank=true), "a\n" | indent, "\n\n" | indent(2, true, true), multi | indent(-1)
5 | indent
missing | indent
none | indent
s | urlencode, "a b&c=d/é?" | urlencode, {"a b": "c&d", "e": 1} | urlencode, [("a", 1), ("b c", "/")] | urlencode, 5 | urlencode, none | urlencode, "~_.-" | urlencode
{"class": "a<b", "id": none, "x": missing, "n": 5, "t": true} | xmlattr, {} | xmlattr, {"a": 1} | xmlattr(false)
{"a b": 1} | xmlattr
1 | filesizeformat, 0 | filesizeformat, 999 | filesizeformat, 1000 | filesizeformat, 13000 | filesizeformat, 4100000 | filesizeformat, 1024 | filesizeformat(true), 1e9 | filesizeformat, "5000" | filesizeformat, 3e24 | filesizeformat, 1e30 | filesizeformat, 1500.5 | filesizeformat, 0.5 | filesizeformat, -5 | filesizeformat
"x" | filesizeformat
"%s, %s!" | format("a", 1), "%(x)s" | format(x=1), "%d%%" | format(5), "x" | format
"%s %s" | format("a")
"%s" | format("a", b=1)
5 | string, none | string, l | string, s | string, 1.0 | string, true | string, missing | string
d | attr("a"), d | attr("items") is callable, d | attr("zzz"), s | attr("upper") is callable, l | attr("append") is defined
missing | attr("x")
{"b": 1, "a": [1, "x"]} | pprint, "x" | pprint, 5 | pprint, none | pprint, [1, 2] | pprint, {"z": {"y": 1, "x": 2}} | pprint, uni | pprint
d | tojson, mixed | tojson, s | tojson, uni | tojson, html | tojson, esc | tojson, none | tojson, true | tojson, 5 | tojson, 2.0 | tojson, 1e22 | tojson, big | tojson, [] | tojson, {} | tojson, (1, 2) | tojson
d | tojson(indent=2), mixed | tojson(indent=4), [] | tojson(indent=2), {} | tojson(indent=2), [[]] | tojson(indent=1), [{}] | tojson(indent=0), {"a": []} | tojson(indent="\t"), d | tojson(indent=-1), l | tojson(indent=true)
d | tojson(sort_keys=true), uni | tojson(ensure_ascii=true), esc | tojson(ensure_ascii=true), d | tojson(separators=(",", ":")), d | tojson(separators=[";", "="]), d | tojson(indent=2, separators=(", ", ": ")), d | tojson(true, 2), {1: 2, none: 3, true: 4, 1.5: 5} | tojson, {"b": {"d": 1, "c": 2}, "a": 0} | tojson(indent=2, sort_keys=true), (html | safe) | tojson
missing | tojson
[missing] | tojson
range(3) | tojson
d.items() | tojson
{(1, 2): 3} | tojson
{1: 2, "a": 3} | tojson(sort_keys=true)
d | tojson(indent=1.5)
d | tojson(foo=1)
s | nope
missing | upper | d("x")
s | upper(1)
s | join(",", foo=1)
s | default(default_value="x", boolean=true, extra=1)
dict(a=1, b=2), dict({"x": 1}, y=2), dict([("a", 1), ["b", 2]]), dict(), dict.fromkeys("ab"), dict.fromkeys(["x"], 1)
dict(1)
dict([1])
dict({}, {})
namespace(a=1).a, namespace(a=1).b is defined, namespace({"x": 1}).x, namespace(a=1)["a"], namespace(), namespace(a=1, b="x")
namespace(_a=1)
namespace(a=1) | tojson
"a" in namespace(a=1)
strftime_now("%Y-%m-%d %H:%M:%S"), strftime_now("%d %b %Y"), strftime_now("%A, %B %d, %Y"), strftime_now("%j %U %w %p %I %y %f|%z|%Z|%%"), strftime_now("%e|%-d|%_d|%D|%F|%T|%R|%a|%c|%x|%X"), strftime_now(""), strftime_now("日%Y本")
strftime_now()
strftime_now(5)
raise_exception("boom: " ~ s)
raise_exception(5)
raise_exception(missing)
raise_exception()
lipsum is defined, raise_exception is callable, cycler is defined, joiner is defined
bogus_function(1)
[1, 2, 3][1:], (1, 2, 3)[::-1], "abc"[1], {"a": 1}.a, [1][0].real
(1, 2,), (1,), 1,
l[0:2] + l[-1:], l[:], l[::], l[10:], l[-10:2]
i if i > 5 else neg, (i if i > 5 else neg) | abs
s.split(", ") | map("lower") | join("_"), s.split()[0][:-1] | upper, (s | lower).replace("o", "0")
i is number and i > 3 or missing.foo
missing is defined and missing.foo
f ** 2, i ** f, 2 ** 0.5 * 2 ** 0.5
1e200 ** 2
0.0 ** -1
0 ** -1
10 ** 20, 2 ** 100, 3 ** 50 // 7, -(2 ** 90) % 1000, 2 ** 64 - 1, (2 ** 70) / (2 ** 69)
"{} {}".format(2 ** 100, 1e100), [2 ** 100, 1e100] | tojson
l == l | sort, (l | sort) == [1, 2, 3], l != [3, 1, 2]
1 == "1", "a" == "a", none == false, 0 == none, [] == false, "" == missing
"a" "b" ~ "c" "d", "x" ~ ("y" "z")
{"a": 1, "a": 2}, {"a": 1}.items() | list, {} is mapping, {}.x is defined
caller is defined, varargs is defined, kwargs is defined, loop is defined, loop.index
"abc" | list | reverse | join, "abc"[::-1], "abc" | reverse
"-" * 10, "=" * 3 ~ ">", ("ab" * 2) | upper
people | map(attribute="name") | map("lower") | sort | join(" "), people | selectattr("age", "gt", 26) | sum(attribute="age")
(people | map(attribute="age") | list | sum) / (people | length), people | length > 2, not people | length
"x" in people[0], "name" in people[0], people[0] == people[0], people[0].items() | first
[1, [2, [3, [4]]]] | string | length, [[1, 2], [3]] | sum(start=[]) | join
"a;b" | replace(";", "\n") | indent(2, true), "\\n" | length, '\\' ~ "\\\\"
"é" | urlencode, "é" | tojson(ensure_ascii=true), "é" | upper | list, "é" | length
true and "yes" or "no", (false and "yes") or "no", not (true and false), not true == false
1 in [1] == true, 1 < 2 == true, "a" in "ab" in ["ab"]
i.bit_length is callable
none_value is none and none_value == none, none_value ~ "", none_value | string
[1, 2] is iterable and [1, 2] is not string and [1, 2] is not mapping
messages[0]["content"] is string, messages[-1].role, messages | length, messages[0].foo is defined, messages[5] is defined, messages[0].content[:1]
loop.index0 is defined
"a" ~ loop
cycler("a", "b").next(), cycler(1, 2).current, joiner()() ~ joiner("x")(), joiner().sep
cycler()
42 is divisibleby(7) and 42 is not odd
5 is foo
"nan" | float == "nan" | float, ("nan" | float) | string, [("inf" | float), -("inf" | float)], "inf" | float | tojson, "nan" | float | tojson
"inf" | float | int
("inf" | float) | round
1 ~ -1, 1 - -1, 1 - - 1, 1 --1, 2 - +1
(1).real, (1.5).imag, -1 | abs, - 1 | abs, 2 * -3
"abc"|upper~"d"|upper, 1+2|string, (1+2)|string, "a"*2|length
""

"""

STATEMENTS = [
    # loops
    "{% for x in l %}{{ loop.index }}/{{ loop.length }}:{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}|{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}<{{ loop.nextitem }};{% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{% if loop.changed(x) %}[{{ x }}]{% endif %}{% endfor %}",
    "{% for x in [1] %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [] %}a{% else %}empty{% endfor %}",
    "{% for x in l %}{% continue %}{% else %}else after continue{% endfor %}",
    "{% for x in l %}{{ x }}{% break %}{% else %}else after break{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% else %}E{% endfor %}",
    "{% for x in l %}{% if x == 3 %}{% continue %}{% endif %}{{ x }}{% else %}E{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} {{ loop.length }} {% endfor %}",
    "{% for x in l if x > 5 %}{{ x }}{% else %}none{% endfor %}",
    "{% for x in missing %}a{% else %}e{% endfor %}",
    "{% for x in 5 %}a{% endfor %}",
    "{% for x in none_value %}a{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }};{% endfor %}",
    "{% for k, v in d | dictsort %}{{ k }}={{ v }};{% endfor %}",
    "{% for k, v in d | items %}{{ k }}={{ v }};{% endfor %}",
    "{% for a, b in [(1, 2), [3, 4], 'xy'] %}{{ a }}-{{ b }} {% endfor %}",
    "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
    "{% for a, b in [(1,)] %}{% endfor %}",
    "{% for a, b in [1] %}{% endfor %}",
    "{% for c in uni %}[{{ c }}]{% endfor %}",
    "{% for x in range(3) %}{% for y in range(x) %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{{ loop.index }}|{% endfor %}",
    "{% for x in range(3) %}{% set outer = loop %}{% for y in range(2) %}{{ outer.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for n in tree recursive %}{{ loop.depth }}{{ n.n }}({{ loop(n.c) }}){% endfor %}",
    "{% for n in tree recursive %}{{ n.n }}{% if n.c %}<{{ loop(n.c) }}>{% endif %}{% else %}!{% endfor %}",
    "{% for n in tree recursive %}{{ n.n }}{{ loop.depth0 }}{% for m in n.c %}{{ loop.depth }}{% endfor %}{% endfor %}",
    "{% for n in tree %}{{ loop(n.c) }}{% endfor %}",
    "{% for x in l %}{{ loop }}{% endfor %}",
    "{% for x in l %}{{ loop is iterable }}{{ loop is sequence }}{{ loop is callable }}{{ loop | length }}{% if loop %}y{% endif %}{% endfor %}",
    "{% set g = l | select('gt', 0) %}{% for x in g %}{{ x }}{% endfor %}|{% for x in g %}{{ x }}{% endfor %}",
    "{% set g = l | map('string') %}{{ g | join }}|{{ g | join }}|{{ 'y' if g }}",
    "{% set g = l | select('gt', 0) %}{% for x in g %}{{ x }}{{ loop.last }}{{ loop.length }}{% endfor %}",
    "{% for x in l | reverse %}{{ x }}{{ loop.revindex }}{% endfor %}",
    "{% for x in l %}{% if loop.last %}L{% endif %}{% if loop.index == 1 %}F{% endif %}{% endfor %}",
    "{% set ns = namespace(found=false) %}{% for x in l if not ns.found %}{{ x }}{% if x == 1 %}{% set ns.found = true %}{% endif %}{% endfor %}",
    "{% for x in l %}{% for x in 'ab' %}{{ x }}{% endfor %}{{ x }}{% endfor %}{{ x }}",
    "{% for loop in l %}{% endfor %}",
    "{% for x in l %}{% set loop = 1 %}{% endfor %}",
    "{% for x in l %}{% set x = x * 2 %}{{ x }} {% endfor %}",
    "{% break %}",
    "{% for x in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}",
    "{% for x in l %}{% set y %}a{% if x == 1 %}{% break %}{% endif %}b{% endset %}{{ y }}{% endfor %}",
    "{% for x in l %}{% filter upper %}a{% if x == 1 %}{% continue %}{% endif %}b{% endfilter %}{{ x }}{% endfor %}",
    "{% for x in l %}{% with y = x %}{% if y == 1 %}{% continue %}{% endif %}{{ y }}{% endwith %}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [] %}{% else %}{% break %}{% endfor %}{{ x }}{% endfor %}",
    "{% for x in l, 9 %}{{ x }};{% endfor %}",
    "{% for x in (l if true else []) %}{{ x }}{% endfor %}",
    "{% for x in l if true else [] %}{{ x }}{% endfor %}",
    "{% for i in range(100001) %}{% endfor %}",
    "{% for d in d %}{{ d }}{% endfor %}|{{ d.a }}",
    # scoping
    "{% set x = 1 %}{% for y in l %}{% set x = x + y %}{{ x }} {% endfor %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% if false %}{% set i = 1 %}{% endif %}{{ i }}",
    "{% if false %}{% set q = 1 %}{% endif %}{{ q is defined }}",
    "{% for y in [1] %}{{ i }}{% endfor %}{% set i = 99 %}{{ i }}",
    "{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% set i = 99 %}{{ m() }}",
    "{{ i }}{% set i = 99 %}{{ i }}",
    "{% for y in [1, 2] %}{% if y == 1 %}{% set z = 'one' %}{% endif %}{{ z }}{% endfor %}",
    "{% for y in [1, 2] %}{{ i }}{% set i = y %}{{ i }} {% endfor %}{{ i }}",
    "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% set a = 3 %}{{ a }}{% endwith %}{{ a }}",
    "{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}",
    "{% with a, b = (1, 2) %}{{ a }}{{ b }}{% endwith %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d2), e2 = [[3, 4], 5] %}{{ c }}{{ d2 }}{{ e2 }}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set a %}x{{ i }}y{% endset %}[{{ a }}]{{ a is escaped }}",
    "{% set a | upper | replace('X', 'z') %}x{{ i }}y{% endset %}[{{ a }}]",
    "{% set a | length %}abc{% endset %}{{ a + 1 }}",
    "{% set a | default(unknown_name) %}x{% endset %}{{ a }}",
    "{% set ns = namespace(x=1) %}{% set ns.x %}block{% endset %}{{ ns.x }}",
    "{% set ns = namespace(x=1) %}{% for y in l %}{% set ns.x = ns.x + y %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace() %}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}{{ ns.c is defined }}{{ ns }}",
    "{% set ns = namespace(x=1) %}{% set ns._y = 1 %}",
    "{% set d.x = 1 %}",
    "{% set missing.x = 1 %}",
    "{% set a.b.c = 1 %}",
    "{% set d['x'] = 1 %}",
    "{% set 1 = 2 %}",
    "{% set none = 2 %}",
    "{% set true = 2 %}",
    "{% set a = %}",
    "{% set x = x %}{{ x is defined }}",
    "{% set messages = messages[1:] %}{% for m in messages %}{{ m.role }}{% endfor %}",
    "{% if messages[0].role == 'user' %}{% set loop_messages = messages[1:] %}{% set sys = messages[0].content %}{% else %}{% set loop_messages = messages %}{% endif %}{{ sys }}{{ loop_messages | length }}",
    "{% for m in messages %}{% if loop.first %}{% set first = m %}{% endif %}{{ first.role }}{% endfor %}",
    "{% for x in [1] %}{% if true %}{% if true %}{% set q = x %}{% endif %}{% endif %}{{ q }}{% endfor %}{{ q is defined }}",
    "{% macro m(a) %}{% set a = a ~ '!' %}{{ a }}{% endmacro %}{{ m('x') }}{{ m('y') }}",
    "{% set fs = namespace(f=none) %}{% for x in [1, 2] %}{% macro m() %}{{ x }}{% endmacro %}{% set fs.f = m %}{{ fs.f() }}{% endfor %}",
    "{% macro outer() %}{% macro inner(x) %}[{{ x }}{{ y }}]{% endmacro %}{% set y = 5 %}{{ inner(1) }}{% endmacro %}{{ outer() }}",
    "{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}",
    "{% for x in [1] %}{% set y = 1 %}{% for z in [1] %}{% set y = y + 1 %}{{ y }}{% endfor %}{{ y }}{% endfor %}",
    "{% set y %}{% set inner = 1 %}{{ inner }}{% endset %}{{ y }}{{ inner is defined }}",
    "{% filter upper %}{% set inner = 'a' %}{{ inner }}{% endfilter %}{{ inner is defined }}",
    # macros
    "{% macro m(a, b=2, c='x') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c='z') }} {{ m(b=1, a=2) }} {{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}",
    "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m(a=b, b=1) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}",
    "{% macro m(a, a) %}{% endmacro %}",
    "{% macro m(a=1, b) %}{% endmacro %}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}",
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m() %}x{% endmacro %}{{ m }}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.caller }}",
    "{% macro m() %}  x  {% endmacro %}[{{ m() | trim }}]{{ m() is string }}{{ m() | length }}",
    "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% if true %}{% macro m() %}x{% endmacro %}{% endif %}{{ m() }}",
    "{% if false %}{% macro m() %}x{% endmacro %}{% endif %}{{ m is defined }}",
    "{% macro m(a) %}[{{ a }}|{{ caller() }}]{% endmacro %}{% call m(1) %}body{% endcall %}",
    "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b=5, c=6) m() %}{{ a }}{{ b }}{{ c }}{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller }}{% endmacro %}{% call m() %}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(caller) %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(caller=none) %}{{ caller is none }}{% endmacro %}{{ m() }}",
    "{% macro m() %}{{ kwargs }}{{ caller() }}{% endmacro %}{% call m(z=1) %}q{% endcall %}",
    "{% call range(3) %}{% endcall %}",
    "{% call 5 %}{% endcall %}",
    "{% set x = 3 %}{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ x }}{% set x = 4 %}{{ x }}{% endcall %}{{ x }}",
    "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(*[1, 2]) }}{{ m(**{'a': 3, 'b': 4}) }}{{ m(5, *[6]) }}{{ m(*'xy') }}",
    "{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(a=1, **{'a': 3}) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**missing) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*missing) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(a=1, a=2) }}",
    "{{ f(1, x=2, 3) }}",
    "{% macro field(x, t='text') -%}\n  <{{ t }}>{{ x }}\n{%- endmacro %}\n{{ field('a') }}\n{{ field('b', t='pw') }}",
    "{% macro a(x) %}({{ b(x) }}){% endmacro %}{% macro b(x) %}{{ x }}{% endmacro %}{{ a(1) }}",
    "{% generation %}a{{ i }}{% set q = 1 %}{{ q }}{% endgeneration %}{{ q is defined }}",
    "{% for m in messages %}{% generation %}{{ m.role }}{{ loop.index }}{% endgeneration %}{% endfor %}",
    # filter and other blocks
    "{% filter upper %}abc {{ s }}{% endfilter %}",
    "{% filter replace('a', 'b') | upper %}abca{% endfilter %}",
    "{% filter length %}abc{% endfilter %}",
    "{% filter indent(2, true) %}a\nb{% endfilter %}",
    "{% filter nope %}a{% endfilter %}",
    "{% print 1, 'a', [2] %}{% print %}",
    "{% if true %}{{ 'x' | nope }}{% endif %}",
    "{% if false %}{{ 'x' | nope }}{% endif %}ok",
    "{% if false %}{{ 'x' is nope }}{% endif %}ok",
    "{{ 'x' | nope if false else 'ok' }}",
    "{% if false %}{% for a in [1] %}{{ 'x' | nope }}{% endfor %}{% endif %}ok",
    # conditions
    "{% if i > 5 %}a{% elif i > 3 %}b{% else %}c{% endif %}{% if zero %}z{% elif missing %}m{% elif e %}e{% else %}else{% endif %}",
    "{% if l, %}a{% endif %}{% if () %}b{% endif %}",
    "{% if i > 5: %}a{% endif %}",
    "{% if %}a{% endif %}",
    "{% if true %}a",
    "{% if true %}{% for x in l %}{% endif %}",
    "{% endif %}",
    "{% else %}",
    "{% nope %}",
    "{% do l.append(1) %}",
    "{% include 'x' %}",
    "{% extends 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% trans %}a{% endtrans %}",
    "{{ }}", "{{", "{%", "{#", "{{ 1", "{{ 1 }", "{% if 1", "{{ (1 }}", "{{ 1) }}", "{{ [1) }}", "{{ {'a' 1} }}", "{{ 'abc }}", "{{ 1 2 }}",
    "{{ a b }}", "{{ 1 + }}", "{{ | upper }}", "{{ x. }}", "{{ x[ }}", "{{ x['a' }}", "{{ not }}", "{{ a = 1 }}", "{{ @ }}", "{{ a ! b }}",
    "{{ a && b }}", "{{ $x }}", "{{ 'a' if }}", "{{ x | }}", "{{ x is }}", "{{ f(,) }}", "{{ f(1,) }}", "{{ [1,,2] }}", "{{ a; b }}",
    "{{ \"\\x4\" }}", "{{ '\\u12' }}", "{{ '\\' }}", "{{ '\\N{DASH}' }}", "{{ 1__0 }}", "{{ 0x }}", "{{ 1e }}", "{{ .5 }}", "{{ 5. }}", "{{ 1.e5 }}",
    "{{ 012 }}", "{{ 1.5.real }}", "{{ l.0.real }}", "{{ x.1.5 }}", "{{ ...x }}", "{{ l[1:2, 3] }}", "{{ l[] }}", "{{ l[1,2] is defined }}",
    # text and whitespace
    "", "\n", "\n\n", "a\n", "a\n\n", "a\r\nb\rc\n", "  a  ", "{ { } } % # {x} {%%", "{{ '{{' }}{{ '}}' }}", "a {# c #} b", "a\n{# c #}\nb", "a\n  {# c #}\nb", "a {#- c -#} b", "a\n {#+ c +#}\n b",
    "a\n  {% if true %}\n  b\n  {% endif %}\nc", "a\n  {%+ if true %}\n  b\n  {%+ endif %}\nc", "a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc",
    "a\n  {% if true +%}\n  b\n  {% endif +%}\nc", "  {% if true %}x{% endif %}", " x {% if true %}y{% endif %} ", "\t{% if true %}\t\n\tx{% endif %}\n\n",
    "a {{- 1 -}} b {{ 2 }} c", "a\n{{- 1 }}\n{{ 2 -}}\nb", "{{+1}} {{-1}} {{- 1 -}} {{ -1 }}", "{{ 1 -}}\n\n  x", "x \u00a0\n{{- 1 }}\u2003y",
    "{% raw %}{{ x }}{% if %}{% endraw %}", "a\n  {% raw %}\n  x {{ y }}\n  {% endraw %}\nb", "a {%- raw -%} x {%- endraw -%} b", "{% raw %}a{% endraw -%}  b", "{% raw %}",
    "{% raw +%}a{% endraw %}", "{%+ raw %} a {%+ endraw +%}\n b", "{% raw %}{% endraw", "{% raw %}{#{% endraw %}#}",
    "{% if true -%}\n\n  a\n{%- endif %}\n\nb", "{% for x in l -%}\n {{ x }}\n{%- endfor %}", "{% for x in l %}\n  {{ x }}\n{% endfor %}\nend",
    "{%- set a = 1 -%}\n{{ a }}\n{%- set b = 2 %}\n{{ b }}", "{{ 'a' }}\n{{ 'b' }}\n", "{% set x = 1 %}\n\n{{ x }}", "a{#\n\n#}\nb", "{# {{ x }} {% raw %} #}c", "{#-#}a{#--#}b{#++#}", "{# a #}\n{# b #}\nc",
    "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}['a']['b']}}", "{{ '%}' }}{% if '%}' %}x{% endif %}", "{{ '}}' }}", "{{ \"#}\" }}", "{{ x }}}", "{{{x: 1}}}", "{{ {1: 2}}}",
    "{{ 'a\nb' }}", "{{ 'a\r\nb' }}", "{{ 'x\\\ny' }}", "{{\n1\n+\n2\n}}", "{%\nif\ntrue\n%}a{%\nendif\n%}", "{{'a'}}{{\"b\"}}", "{{1}}{{-1}}{{- 1}}", "{%if true%}a{%else%}b{%endif%}", "{%-if true-%} a {%-endif-%}",
    "\ufeffa{{ 1 }}", "日本{{ uni }}語", "{{ '日本' }}", "a\x00b", "{{ 'a\x00b' }}", "a\u2028b\n", "\x0c{% if true %}a{% endif %}", "x\x0b  {%- if true %}a{% endif %}",
    # templates as people write them
    "{% for m in messages %}{{ '<|' + m['role'] + '|>\\n' + m['content'] + '\\n' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}{{ add_generation_prompt }}",
    "{%- if tools is not defined %}{%- set tools = none %}{%- endif %}{{ tools is none }}",
    "{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = message['role'] ~ ': ' ~ message['content'] | trim ~ '\\n' %}{% if loop.index0 == 0 %}{% set content = 'BOS' + content %}{% endif %}{{ content }}{% endfor %}",
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate!') }}{% endif %}{{ m.content }}{% endfor %}",
    "{{ messages[0] if messages else raise_exception('none') }}",
    "{{ raise_exception('always') if messages | length > 1 else 'ok' }}",
    "{%- macro render(x) -%}{%- if x is mapping -%}{{ '{' }}{%- for k, v in x.items() -%}{{ k }}:{{ render(v) }}{{ ',' if not loop.last }}{%- endfor -%}{{ '}' }}{%- elif x is iterable and x is not string -%}[{%- for v in x -%}{{ render(v) }}{{ ',' if not loop.last }}{%- endfor -%}]{%- else -%}{{ x }}{%- endif -%}{%- endmacro -%}{{ render(d) }}{{ render(mixed) }}{{ render(people) }}",
    "{%- set ns = namespace(is_first=false, is_tool=false, is_output_first=true, system_prompt='') -%}{%- for m in messages -%}{%- if m.role == 'user' -%}{%- set ns.is_tool = false -%}{{ '<U>' + m.content }}{%- else -%}{{ '<A>' + m.content.split('</think>')[-1] }}{%- endif -%}{%- endfor -%}{{ ns.is_tool }}",
    "{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}{%- for message in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}{%- if ns.multi_step_tool and message.role == 'user' %}{%- set ns.multi_step_tool = false %}{%- set ns.last_query_index = index %}{%- endif %}{%- endfor %}{{ ns.last_query_index }}",
    "{%- set date = strftime_now('%d %b %Y') if strftime_now is defined else '26 Jul 2024' %}{{ date }}",
    "{%- for message in messages %}\n    {%- if message.content is string %}\n        {{- message.content }}\n    {%- else %}\n        {%- for part in message.content %}\n            {{- part.text }}\n        {%- endfor %}\n    {%- endif %}\n{%- endfor %}",
    "{{ messages | map(attribute='role') | unique | join('/') }} {{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
    "{% set user_messages = messages | selectattr('role', 'equalto', 'user') | list %}{{ user_messages[-1].content }}{{ messages.index(user_messages[-1]) }}",
    "{{ '<s>' ~ ('\\n' ~ (messages[0].content | trim)) | indent(4) ~ '</s>' }}",
]

# What jinja2 can do and the interpreter refuses: (template, words of the error).
REFUSED = [
    ("{{ 1e200 * 1e200 }}", "range of a float"), ("{{ i / big }}", "division of integers"), ("{{ 2 ** 127 }}", "127 bits"),
    ("{{ 2 ** 126 * 3 }}", "127 bits"), ("{{ 170141183460469231731687303715884105728 }}", "127 bits"), ("{{ 1e999 }}", "infinite number"),
    ("{{ (-8) ** 0.5 }}", "complex"), ("{{ d.items }}", "method object"), ('{{ "a".upper }}', "method object"),
    ('{{ l | select("odd") }}', "generator object"), ("{{ [range] }}", "function object"), ("{{ l | reverse }}", "address"),
    ('{{ "{:>{}}".format("a", 5) }}', "nested fields"), ('{{ "{:.3}".format(2.5) }}', "precision without a type"),
    ('{{ "{:n}".format(5) }}', "format type 'n'"), ('{{ "{!a}".format(5) }}', "conversion !a"), ('{{ "%a" % 5 }}', "format %a"),
    ("{{ self }}", "variable 'self'"), ("{{ false and ('x' | nope) }}", "filter 'nope'"), ("{{ 日本 }}", "日本"),
    ("{% block a %}x{% endblock %}", "tag 'block'"), ("{% autoescape true %}x{% endautoescape %}", "tag 'autoescape'"),
    ("{{ 'www.x.de' | urlize }}", "filter 'urlize'"), ("{{ l | random }}", "filter 'random'"), ("{{ lipsum() }}", "lipsum"),
    ("{{ 'a-b c' | wordwrap(3) }}", "hyphens"), ("{{ '&lt;b' | striptags }}", "HTML entities"), ("{{ s.encode() }}", "str.encode"),
    ("{{ s.translate({}) }}", "str.translate"), ("{{ s.format_map({}) }}", "str.format_map"), ("{{ i.bit_length() }}", "int.bit_length"),
    ("{{ ('%s' | safe) % 1 }}", "% operator on Markup"), ("{{ ('a' | safe).format() }}", "Markup.format"), ("{{ 1.5 is sameas 1.5 }}", "sameas"),
    ("{{ s is sameas ('Hello, ' ~ 'World') }}", "sameas"), ("{{ 12345.6 | round(-2) }}", "negative precision"),
    ("{{ people | pprint }}", "pprint"), ("{{ d.keys() - ['a'] }}", "set operations"), ("{{ d.keys() < d.keys() }}", "ordering of dict views"),
    ("{% set d.x %}y{% endset %}", "items of a dict"), ("{{ strftime_now('%s') }}", "date format '%s'"), ("{{ strftime_now('%5d') }}", "date format"),
    ("{% for x in l %}{{ loop | list }}{% endfor %}", "loop variable"), ("{{ ['nan' | float, 1.0] | sort }}", "NaN"),
    ("{{ '\\N{DIGIT ONE}' }}", "\\N"),
]


def cases():
    for expression in EXPRESSIONS.strip("\n").split("\n"):
        if expression:
            # A tuple prints as repr() of its items; each one alone prints as str().
            yield "{{ " + expression + " }}", CONTEXT
            parts = expression.split(", ")
            if len(parts) > 1 and all(part.count("(") == part.count(")") and part.count("[") == part.count("]") and
                                      part.count("{") == part.count("}") and part.count('"') % 2 == 0 for part in parts):
                for part in parts:
                    yield "{{ " + part + " }}", CONTEXT
    for template in STATEMENTS:
        yield template, CONTEXT


CASES = list(cases())
