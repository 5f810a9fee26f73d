#!/usr/bin/env python3
"""`toccata bench ablate`: the arithmetic on recorded takes worked by hand, the report, a run on a tiny model, faults."""

import html.parser
import json
import os

import tiny_gguf
from cli import CliTest, main


def row(metric, smaller, off, on, limit=None, name="chunked prefill"):
    return {"optimization": name, "phase": "prefill", "bottleneck": "waiting", "metric": metric, "unit": "ms",
            "smaller_is_better": smaller, "off": off, "on": on, "limit": limit, "limit_note": "bytes" if limit else ""}


RECORDED = {"model": "a <b> & \"c\".gguf", "machine": "two CPUs", "workload": "5 pairs",
            "rows": [row("TTFT", True, [10, 30, 20], [5, 10, 40]), row("speed", False, [100, 200], [150, 250], limit=1.6),
                     row("KL", True, [0], [0.25]), row("once", True, [8], [2], name="<script>alert(1)</script>"),
                     row("huge", True, [4e50], [1e7])],
            "plots": [{"title": "over <time>", "x": "s", "y": "ms", "series": [
                {"name": "off & on", "points": [[0, 1], [2, 10]]}, {"name": "empty", "points": []}]}]}


class Page(html.parser.HTMLParser):
    """The tags, and the texts of the table's cells."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells, self.points, self.inside = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.inside = tag in ("td", "th")
        if tag == "polyline":
            self.points.append(dict(attributes)["points"].split())
        for name, value in attributes:
            assert name not in ("src", "href") and not name.startswith("on"), (tag, name, value)

    def handle_data(self, data):
        if self.inside:
            self.cells.append(data)

    def handle_endtag(self, tag):
        self.inside = False


class Ablate(CliTest):
    def shown(self, recorded, prefix=""):
        source = self.path("recorded.json", json.dumps(recorded))
        done = self.call("bench", "ablate", "--from", source, "--out", prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def test_ratios_by_hand(self):
        lines = [line for line in self.shown(RECORDED).splitlines() if line.startswith("| ")]
        self.assertEqual(lines[0], "| optimization | targeted phase | bottleneck | metric | off | on | ratio | limit |")
        # 10/5, 30/10, 20/40: the median is 2. Medians of the sides: 20 and 10.
        self.assertEqual(lines[1], "| chunked prefill | prefill | waiting | TTFT, ms | 20.0 | 10.0 | 2.00 (0.50 to 3.00) | - |")
        # 150/100 and 250/200: between 1.5 and 1.25.
        self.assertEqual(lines[2],
                         "| chunked prefill | prefill | waiting | speed, ms | 150 | 200 | 1.38 (1.25 to 1.50) | 1.60, bytes |")
        self.assertEqual(lines[3], "| chunked prefill | prefill | waiting | KL, ms | 0.0000 | 0.25 | - | - |")
        self.assertIn("| once, ms | 8.00 | 2.00 | 4.00 (4.00 to 4.00) | - |", lines[4])
        self.assertIn("| huge, ms | 4e+50 | 1e+07 | 4e+43 (4e+43 to 4e+43) | - |", lines[5])

    def test_the_report(self):
        prefix = self.path("again")
        self.shown(RECORDED, prefix)
        with open(prefix + ".json", encoding="utf-8") as file:
            again = json.load(file)
        self.assertEqual(again["rows"][0].pop("ratio"), {"median": 2, "least": 0.5, "most": 3, "pairs": 3})
        for r in again["rows"]:
            r.pop("ratio", None)
        self.assertEqual(again, RECORDED)
        with open(prefix + ".html", encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("://", text)  # nothing from elsewhere
        page = Page(text)
        self.assertTrue({"script", "b", "time"}.isdisjoint(page.tags), page.tags)
        self.assertEqual([page.cells[i] for i in (0, 8, 14, 15)],
                         ["optimization", "chunked prefill", "2.00 (0.50 to 3.00)", "-"])
        self.assertEqual(len(page.cells), 8 * 6)
        # From zero: x from 64 to 624 pixels over 0 to 2, y from 256 to 12 over 0 to 10.5.
        self.assertEqual(page.points, [["64.0,232.8", "624.0,23.6"], []])

    def test_a_run(self):
        model = tiny_gguf.write(self.path("long.gguf"), context=1024)
        prefix = self.path("run")
        done = self.call("bench", "ablate", "-m", model, "--draft-model", model, "--quick", "--pairs", "1", "-o", prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(prefix + ".json", encoding="utf-8") as file:
            report = json.load(file)
        names = list(dict.fromkeys(r["optimization"] for r in report["rows"]))
        self.assertEqual(names, ["FlashAttention", "chunked prefill", "speculation, n-grams, copying",
                                 "speculation, draft model, going on", "q8_0 KV cache", "q4_0 KV cache", "StreamingLLM, 25 %",
                                 "H2O, 25 %", "all together"])
        for r in report["rows"]:
            self.assertEqual((len(r["off"]), len(r["on"])), (1, 1), r)
        accepted = [r["on"][0] for r in report["rows"] if r["metric"] == "drafted tokens accepted"]
        self.assertIn(accepted[1], (0, 100))  # the draft model is the model, too dear to be asked on some machines
        fits = [r["on"][0] for r in report["rows"] if "in the same memory" in r["metric"]]
        self.assertEqual(len(fits), 4)
        self.assertTrue(all(n >= 2 for n in fits) and fits[1] > fits[0], fits)
        self.assertEqual([len(p["series"]) for p in report["plots"]], [2, 2, 2, 5, 2, 2])
        self.assertIn("| all together |", done.stdout.decode())

    def test_a_short_text(self):
        model = tiny_gguf.write(self.path("long.gguf"), context=1024)
        text = self.path("short.txt", "the quick fox leaps over the lazy dog and the quick fox leaps again. " * 4)
        done = self.call("bench", "ablate", "-m", model, "-f", text, "--quick", "-r", "1", "-o", "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("TTFT at 960 tokens", done.stdout.decode())

    def test_faults(self):
        self.refused(2, "-m FILE", "bench", "ablate")
        self.refused(2, "-m FILE", "bench", "ablate", "-m", self.model, "--from", "x.json")
        self.refused(1, "no folder", "bench", "ablate", "-m", self.model, "-o", os.path.join(self.folder, "none", "x"))
        self.refused(1, "no.gguf", "bench", "ablate", "-m", self.path("no.gguf"), "-o", "")
        self.refused(1, "too short", "bench", "ablate", "-m", self.model, "-o", "")
        with open(self.model, "rb") as file:
            data = file.read()
        letter = (1).to_bytes(8, "little")  # a string's length
        other = self.path("other.gguf", data.replace(letter + b"q", letter + b"~", 1))
        self.refused(1, "vocabular", "bench", "ablate", "-m", self.model, "--draft", other, "-o", "")
        for text, word in [("[]", "object"), ("{", "JSON"), (json.dumps({**RECORDED, "rows": [{}]}), "row 1"),
                           (json.dumps({**RECORDED, "rows": [row("x", True, ["a"], [])]}), "'off'"),
                           (json.dumps({**RECORDED, "plots": [{**RECORDED["plots"][0], "series": [
                               {"name": "s", "points": [[1]]}]}]}), "two numbers")]:
            self.refused(1, word, "bench", "ablate", "-o", "", "--from", self.path("bad.json", text))


if __name__ == "__main__":
    main()
