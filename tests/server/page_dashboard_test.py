#!/usr/bin/env python3
"""The dashboard of the web page in Chromium: its numbers are those of /metrics and /debug/steps."""

import re

from browser import PageTest, expect
from serving import Server, main

SAMPLES = """# HELP a b
# TYPE a gauge
a 1
b{x="1",y="q\\"u\\\\o\\n}",} 2.5e3
b{x="2"} +Inf 1234
h_bucket{le="0.1"} 2
h_bucket{le="0.5"} 2
h_bucket{le="1"} 6
h_bucket{le="+Inf"} 8
h_sum 9
h_count 8
= nonsense
{} 5
"""


class Logic(PageTest):
    def test_prometheus_text(self):
        got = self.evaluate("metrics.js", "return [...m.parseMetrics(x)].map(([k, v]) => [k, v.map((s) => [s.labels, String(s.value)])]);",
                            SAMPLES)
        self.assertEqual(got[0], ["a", [[{}, "1"]]])
        self.assertEqual(got[1], ["b", [[{"x": "1", "y": 'q"u\\o\n}'}, "2500"], [{"x": "2"}, "Infinity"]]])
        self.assertEqual([name for name, _ in got], ["a", "b", "h_bucket", "h_sum", "h_count"])

    def test_quantiles(self):
        """As Prometheus' histogram_quantile."""
        wanted = {0.1: 0.04, 0.25: 0.1, 0.5: 0.75, 0.75: 1, 0.99: 1, 0: 0, 1: 1}
        for q, want in wanted.items():
            got = self.evaluate("metrics.js", "return m.quantile(m.histogramOf(m.parseMetrics(x[0]), 'h'), x[1]);", [SAMPLES, q])
            self.assertAlmostEqual(got, want, msg=q)
        later = SAMPLES.replace('"0.5"} 2', '"0.5"} 6').replace('"1"} 6', '"1"} 10').replace('Inf"} 8', 'Inf"} 12').replace(
            "count 8", "count 12").replace("sum 9", "sum 10")
        got = self.evaluate("metrics.js", """const [a, b] = x.map((t) => m.histogramOf(m.parseMetrics(t), 'h'));
            return [m.since(b, a), m.quantile(m.since(b, a), 0.5), m.quantile(m.since(a, a), 0.5), m.quantile(null, 0.5)];""",
                            [SAMPLES, later])
        self.assertEqual((got[0]["counts"], got[0]["sum"], got[0]["count"]), ([0, 4, 0, 0], 1, 4))
        self.assertAlmostEqual(got[1], 0.3)
        self.assertEqual(got[2:], [None, None])


def counter(text):
    return float(re.search(r"[\d,.]+", text).group().replace(",", ""))


class Live(PageTest):
    arguments = ("--kv-memory", "64M", "--spec-method", "ngram")

    def open(self):
        self.page.get_by_role("link", name="Dashboard").click()
        expect(self.page.locator("#tile-steps")).not_to_have_text("\u2013")

    def below(self, tile):
        return self.page.locator(f"#tile-{tile} + dd").inner_text()

    def test_numbers_are_those_of_the_metrics(self):
        for i in range(3):
            self.server.chat(messages=[{"role": "user", "content": "abc " * (40 + i)}], max_tokens=60, temperature=0, ignore_eos=True)
        self.assertTrue(self.server.settle())
        self.open()
        gauge = self.server.gauge
        expect(self.page.locator("#tile-steps")).to_have_text(f"{int(gauge('engine_steps_total')):,}")
        for tile, name in (("running", "num_requests_running"), ("waiting", "num_requests_waiting"),
                           ("generated", "generation_tokens_total"), ("evicted", "kv_evicted_tokens_total")):
            self.assertEqual(counter(self.page.locator(f"#tile-{tile}").inner_text()), gauge(name), tile)
        for tile, names in (("generated", ["prompt_tokens_total"]), ("pool", ["kv_blocks_used", "kv_blocks"]),
                            ("cache", ["kv_blocks_cached"]), ("steps", ["num_preemptions_total"]),
                            ("acceptance", ["spec_decode_num_accepted_tokens_total", "spec_decode_num_draft_tokens_total"])):
            shown = [float(n.replace(",", "")) for n in re.findall(r"\d[\d,.]*", self.below(tile))][:len(names)]
            self.assertEqual(shown, [gauge(n) for n in names], tile)
        for tile, part, whole in (("cache", "prefix_cache_hits_total", "prefix_cache_queries_total"),
                                  ("acceptance", "spec_decode_num_accepted_tokens_total", "spec_decode_num_draft_tokens_total")):
            self.assertAlmostEqual(counter(self.page.locator(f"#tile-{tile}").inner_text()), 100 * gauge(part) / gauge(whole),
                                   delta=0.051)
        self.assertGreater(gauge("prefix_cache_hits_total") * gauge("spec_decode_num_accepted_tokens_total"), 0)
        row = self.page.locator("tr[data-metric='toccata:time_to_first_token_seconds'] td")
        requests = gauge("time_to_first_token_seconds_count")
        self.assertEqual(counter(row.nth(4).inner_text()), requests)
        text = self.server.get("/metrics")[2]
        total = float(re.search(r"^toccata:time_to_first_token_seconds_sum\{.*\} (\S+)", text, re.MULTILINE).group(1))
        shown = row.nth(3).inner_text()
        self.assertAlmostEqual(counter(shown), total / requests * (1000 if "ms" in shown else 1), delta=0.51)
        self.page.get_by_text("All of /metrics").click()
        expect(self.page.locator("#raw-text")).to_contain_text(f"toccata:engine_steps_total{{model_name=\"tiny\"}}")
        steps = self.server.get("/debug/steps")[2]["steps"]
        last = self.page.evaluate("Chart.getChart('chart-steps').data.labels.at(-1)")
        self.assertEqual(int(last), steps[-1]["number"])
        shown = self.page.evaluate("Chart.getChart('chart-steps').data.datasets.map((d) => d.data)")
        kept = steps[-len(shown[0]):]
        self.assertEqual(shown, [[s["decode"] for s in kept], [s["prefill"] for s in kept], [s["accepted"] for s in kept],
                                 [s["drafted"] - s["accepted"] for s in kept]])

    def test_it_is_live_while_it_is_seen(self):
        self.open()
        with self.page.expect_request("**/metrics"):
            pass
        before = self.page.locator("#tile-generated").inner_text()
        self.server.complete(prompt="abc", max_tokens=5, ignore_eos=True)
        expect(self.page.locator("#tile-generated")).not_to_have_text(before)
        self.page.get_by_role("button", name="Pause").click()
        seen = []
        self.page.on("request", lambda r: seen.append(r.url))
        self.page.wait_for_timeout(1500)
        self.assertLessEqual(len(seen), 2)  # those that were on their way
        with self.page.expect_request("**/metrics"):
            self.page.get_by_role("button", name="Go on").click()
        self.page.get_by_role("link", name="Chat").click()
        expect(self.page.get_by_label("Message", exact=True)).to_be_visible()
        self.page.go_back()
        expect(self.page.locator("#tile-steps")).to_be_visible()

    def test_a_server_without_metrics(self):
        self.expected_complaints = ("404",)
        server = Server(self.model, "--no-metrics", "--kv-memory", "32M")
        self.addCleanup(server.stop)
        page = self.new_page(server)
        page.get_by_role("link", name="Dashboard").click()
        expect(page.get_by_role("alert")).to_contain_text("--no-metrics")

    def test_fits_a_phone(self):
        self.page.set_viewport_size({"width": 360, "height": 640})
        self.server.complete(prompt="abc", max_tokens=5)
        self.open()
        self.assertLessEqual(self.page.evaluate("document.scrollingElement.scrollWidth"), 360)
        wide = self.page.evaluate("""[...document.querySelectorAll('#dashboard *')].filter((e) => e.closest('pre, .hidden') === null &&
            e.getBoundingClientRect().right > 360.5).map((e) => e.outerHTML.slice(0, 100))""")
        self.assertEqual(wide, [])


if __name__ == "__main__":
    main()
