// The dashboard's charts, by Chart.js: calm, in the page's colours, and without motion.

import {byId} from "./dom.js";

const DARK = matchMedia("(prefers-color-scheme: dark)");
const SCRIPT = "/web/chart.min.js";

let loading = null;

// Chart.js is 200 KB: it comes with the first look at the dashboard.
export function loadCharts() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = SCRIPT;
    script.onload = resolve;
    script.onerror = () => reject(new Error("The charts could not be loaded."));
    document.head.append(script);
  });
  return loading;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function scales({stacked, unit, max, xTitle, xLabels}) {
  const text = {color: color("soft"), font: {size: 11}};
  return {
    x: {stacked, grid: {display: false}, border: {display: false},
        ticks: {...text, display: xLabels !== false, maxTicksLimit: 6, maxRotation: 0, autoSkip: true},
        title: {...text, display: Boolean(xTitle), text: xTitle}},
    y: {stacked, beginAtZero: true, suggestedMax: max, afterFit: (axis) => (axis.width = 60),  // charts in a column align
        grid: {color: color("line"), drawBorder: false},
        ticks: {...text, maxTicksLimit: 5, precision: unit ? undefined : 0},
        title: {...text, display: Boolean(unit), text: unit}},
  };
}

// series: [{name, color (of the page)}]; type: bar, line or area.
export class LiveChart {
  #canvas;
  #type;
  #series;
  #options;
  #chart = null;

  constructor(id, {type, series, ...options}) {
    this.#canvas = byId(id);
    this.#type = type;
    this.#series = series;
    this.#options = options;
    this.#make([], series.map(() => []));
    DARK.addEventListener("change", () => {  // the page has other colours now
      const {labels, datasets} = this.#chart.data;
      this.#chart.destroy();
      this.#make(labels, datasets.map((d) => d.data));
    });
  }

  #dataset(series, index, data) {
    const own = color(series.color), area = this.#type === "area";
    return {
      label: series.name,
      data,
      backgroundColor: area ? `${own}55` : own,
      borderColor: own,
      borderWidth: this.#type === "bar" ? 0 : 1.75,
      fill: area ? (index === 0 ? "origin" : "-1") : false,
      pointRadius: 0,
      pointHitRadius: 8,
      barPercentage: 1,
      categoryPercentage: 0.92,
    };
  }

  #make(labels, values) {
    const legend = {color: color("soft"), boxWidth: 10, boxHeight: 10, padding: 14, font: {size: 12}};
    this.#chart = new Chart(this.#canvas, {
      type: this.#type === "bar" ? "bar" : "line",
      data: {labels, datasets: this.#series.map((s, i) => this.#dataset(s, i, values[i]))},
      options: {
        animation: false,
        maintainAspectRatio: false,
        interaction: {mode: "index", intersect: false},
        plugins: {legend: {display: this.#series.length > 1, position: "top", align: "start", labels: legend}},
        scales: scales(this.#options),
      },
    });
  }

  // values: one array per series, as long as the labels.
  show(labels, values) {
    this.#chart.data.labels = labels;
    values.forEach((v, i) => (this.#chart.data.datasets[i].data = v));
    this.#chart.update();
  }
}
