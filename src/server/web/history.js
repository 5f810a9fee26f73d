// What the dashboard remembers: the looks at /metrics of the last minutes, and the engine's latest steps.

import {histogramOf, quantile, since, valueOf} from "./metrics.js";

const KEPT_LOOKS = 121;   // two minutes
const KEPT_STEPS = 160;
const WINDOW_SECONDS = 15;  // of the latencies over time

export const TTFT = "toccata:time_to_first_token_seconds";
export const ITL = "toccata:inter_token_latency_seconds";

export class History {
  looks = [];  // [{time (seconds), metrics}]
  steps = [];
  #changes = new WeakMap();

  addMetrics(time, metrics) {
    const before = this.looks.at(-1);
    // Counters that went back: another process answers now.
    const steps = "toccata:engine_steps_total";
    if (before && valueOf(metrics, steps) < valueOf(before.metrics, steps)) this.looks = this.steps = [];
    this.looks = [...this.looks, {time, metrics}].slice(-KEPT_LOOKS);
  }

  addSteps(steps) {
    this.steps = [...this.steps, ...steps].slice(-KEPT_STEPS);
  }

  get latest() {
    return this.looks.at(-1)?.metrics;
  }
  get lastStep() {
    return this.steps.at(-1)?.number ?? 0;
  }

  // Per look: a counter's growth per second since the look before; null for the first.
  rates(name) {
    return this.looks.map(({time, metrics}, i) => {
      if (i === 0) return null;
      const before = this.looks[i - 1];
      return (valueOf(metrics, name) - valueOf(before.metrics, name)) / Math.max(1e-3, time - before.time);
    });
  }

  values(name) {
    return this.looks.map(({metrics}) => valueOf(metrics, name));
  }

  // Per look, in milliseconds: the quantile of the seconds before it; null where nothing was observed.
  quantiles(name, q) {
    return this.looks.map(({time}, i) => {
      let first = i;
      while (first > 0 && time - this.looks[first].time < WINDOW_SECONDS) --first;
      if (first === i) return null;
      const change = this.#change(name, i, first);
      const value = quantile(change, q);
      return value === null ? null : value * 1000;
    });
  }

  // Two quantiles of one chart ask for the same change.
  #change(name, i, first) {
    const look = this.looks[i];
    if (!this.#changes.has(look)) this.#changes.set(look, {});
    return (this.#changes.get(look)[name] ??=
        since(histogramOf(look.metrics, name), histogramOf(this.looks[first].metrics, name)));
  }

  // "-90 s" ... "now"
  ages() {
    const now = this.looks.at(-1)?.time ?? 0;
    return this.looks.map(({time}) => (time === now ? "now" : `\u2212${Math.round(now - time)} s`));
  }
}
