// The dashboard: looks at /metrics and /debug/steps each second while it is seen.

import {request} from "./api.js";
import {LiveChart, loadCharts} from "./charts.js";
import {byId, element} from "./dom.js";
import {History, ITL, TTFT} from "./history.js";
import {histogramOf, parseMetrics, quantile, valueOf} from "./metrics.js";

const PERIOD_MS = 1000;
const LATENCIES = [
  ["Time to first token", TTFT],
  ["Between two tokens", ITL],
  ["Longest gap of an answer", "toccata:request_longest_gap_seconds"],
  ["Waiting in the queue", "toccata:request_queue_time_seconds"],
  ["Whole request", "toccata:e2e_request_latency_seconds"],
];

const count = (x) => Math.round(x).toLocaleString("en");
const share = (part, whole) => (whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "\u2013");

function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i + 1 < units.length; ++i) n /= 1024;
  return `${i === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)} ${units[i]}`;
}

function milliseconds(seconds) {
  if (seconds === null) return "\u2013";
  const ms = seconds * 1000;
  return ms >= 10000 ? `${(ms / 1000).toFixed(1)} s` : ms >= 100 ? `${Math.round(ms)} ms` : `${ms.toFixed(1)} ms`;
}

// id of the tile: its value, and a line below it
const TILES = {
  running: (v) => [count(v("num_requests_running")), "requests in the batch"],
  waiting: (v) => [count(v("num_requests_waiting")), `${count(v("num_tokens_waiting"))} prompt tokens wait`],
  generated: (v) => [count(v("generation_tokens_total")), `and ${count(v("prompt_tokens_total"))} prompt tokens`],
  pool: (v) => [share(v("kv_blocks_used"), v("kv_blocks")),
                `${count(v("kv_blocks_used"))} of ${count(v("kv_blocks"))} blocks, ${bytes(v("kv_bytes_used"))}`],
  cache: (v) => [share(v("prefix_cache_hits_total"), v("prefix_cache_queries_total")),
                 `${count(v("kv_blocks_cached"))} blocks cached`],
  acceptance: (v) => [share(v("spec_decode_num_accepted_tokens_total"), v("spec_decode_num_draft_tokens_total")),
                      `${count(v("spec_decode_num_accepted_tokens_total"))} of ` +
                          `${count(v("spec_decode_num_draft_tokens_total"))} drafted`],
  steps: (v) => [count(v("engine_steps_total")), `${count(v("num_preemptions_total"))} preemptions`],
  evicted: (v) => [count(v("kv_evicted_tokens_total")), "tokens that left the KV cache"],
};

export class Dashboard {
  #history = new History();
  #charts = null;
  #timer = 0;
  #onError;

  constructor(onError) {
    this.#onError = onError;
    document.addEventListener("visibilitychange", () => this.#schedule(0));
    byId("pause").addEventListener("click", () => {
      const paused = byId("pause").getAttribute("aria-pressed") === "false";
      byId("pause").setAttribute("aria-pressed", String(paused));
      byId("pause").textContent = paused ? "Go on" : "Pause";
      this.#schedule(0);
    });
  }

  get #seen() {
    return !byId("dashboard").hidden && !document.hidden && byId("pause").getAttribute("aria-pressed") === "false";
  }

  // To be called when the dashboard is shown or hidden.
  update() {
    this.#schedule(0);
  }

  #schedule(ms) {
    clearTimeout(this.#timer);
    if (this.#seen) this.#timer = setTimeout(() => this.#look(), ms);
  }

  async #look() {
    try {
      await loadCharts();
      this.#charts ??= makeCharts();
      const [metrics, steps] = await Promise.all([
        request("/metrics").then((r) => r.text()),
        request(`/debug/steps?after=${this.#history.lastStep}`).then((r) => r.json()),
      ]);
      this.#history.addMetrics(performance.now() / 1000, parseMetrics(metrics));
      this.#history.addSteps(steps.steps);
      this.#show(metrics);
      this.#tell("");
    } catch (error) {
      this.#tell(error.status === 404 ? "This server runs with --no-metrics: there is nothing to show." : error.message);
      this.#onError(error);
    }
    this.#schedule(PERIOD_MS);
  }

  #tell(text) {
    byId("dashboard-notice").textContent = text;
    byId("dashboard-notice").hidden = text === "";
  }

  #show(text) {
    const metrics = this.#history.latest;
    const value = (name) => valueOf(metrics, `toccata:${name}`);
    for (const [id, make] of Object.entries(TILES)) {
      const [main, below] = make(value);
      byId(`tile-${id}`).textContent = main;
      byId(`tile-${id}`).nextElementSibling.textContent = below;
    }
    showLatencies(metrics);
    if (byId("raw").open) byId("raw-text").textContent = text;
    showCharts(this.#charts, this.#history);
  }
}

function showLatencies(metrics) {
  byId("latencies").replaceChildren(...LATENCIES.map(([label, name]) => {
    const histogram = histogramOf(metrics, name);
    const mean = histogram?.count > 0 ? histogram.sum / histogram.count : null;
    const cells = [0.5, 0.95, 0.99].map((q) => milliseconds(quantile(histogram, q)));
    return element("tr", {"data-metric": name}, [
      element("th", {scope: "row"}, label),
      ...[...cells, milliseconds(mean), count(histogram?.count ?? 0)].map((cell) => element("td", {}, cell))]);
  }));
}

function makeCharts() {
  const tokens = [{name: "decode", color: "series-1"}, {name: "prefill", color: "series-2"},
                  {name: "drafted, accepted", color: "series-3"}, {name: "drafted, rejected", color: "series-4"}];
  const chart = (id, type, series, options) => new LiveChart(id, {type, series, ...options});
  return {
    steps: chart("chart-steps", "bar", tokens, {stacked: true, unit: "tokens", xLabels: false}),
    durations: chart("chart-durations", "bar", [{name: "duration", color: "series-5"}], {unit: "ms", xTitle: "step"}),
    throughput: chart("chart-throughput", "line", [{name: "generated", color: "series-1"}, {name: "prompt", color: "series-2"}],
                      {unit: "tokens/s"}),
    itl: chart("chart-itl", "line", [{name: "median", color: "series-1"}, {name: "99 %", color: "series-2"}], {unit: "ms"}),
    ttft: chart("chart-ttft", "line", [{name: "median", color: "series-1"}, {name: "99 %", color: "series-2"}], {unit: "ms"}),
    pool: chart("chart-pool", "area", [{name: "held by requests", color: "series-1"}, {name: "cached prefixes", color: "series-3"}],
                {stacked: true, unit: "blocks"}),
    queue: chart("chart-queue", "line", [{name: "running", color: "series-1"}, {name: "waiting", color: "series-2"}], {max: 4}),
    positions: chart("chart-positions", "bar", [{name: "accepted", color: "series-3"}],
                     {unit: "% of drafts", max: 100, xTitle: "position in the draft"}),
  };
}

function showCharts(charts, history) {
  const {steps} = history;
  const numbers = steps.map((s) => String(s.number));
  charts.steps.show(numbers, [steps.map((s) => s.decode), steps.map((s) => s.prefill), steps.map((s) => s.accepted),
                              steps.map((s) => s.drafted - s.accepted)]);
  charts.durations.show(numbers, [steps.map((s) => s.seconds * 1000)]);
  const ages = history.ages();
  const both = (method, a, b) => [history[method](`toccata:${a}`), history[method](`toccata:${b}`)];
  charts.throughput.show(ages, both("rates", "generation_tokens_total", "prompt_tokens_total"));
  charts.itl.show(ages, [history.quantiles(ITL, 0.5), history.quantiles(ITL, 0.99)]);
  charts.ttft.show(ages, [history.quantiles(TTFT, 0.5), history.quantiles(TTFT, 0.99)]);
  charts.pool.show(ages, both("values", "kv_blocks_used", "kv_blocks_cached"));
  charts.queue.show(ages, both("values", "num_requests_running", "num_requests_waiting"));
  const drafts = valueOf(history.latest, "toccata:spec_decode_num_drafts_total");
  const positions = (history.latest.get("toccata:spec_decode_num_accepted_tokens_per_pos_total") ?? [])
                        .map(({value}) => (drafts > 0 ? (100 * value) / drafts : 0));
  const used = Math.max(4, positions.findLastIndex((p) => p > 0) + 1);
  charts.positions.show(positions.slice(0, used).map((_, i) => String(i + 1)), [positions.slice(0, used)]);
}
