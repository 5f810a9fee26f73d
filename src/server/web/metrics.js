// Prometheus' text format, and what is read from its histograms.

// {name: [{labels: {name: value}, value}]}, in the order of the text.
export function parseMetrics(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    const sample = parseSample(line.trim());
    if (!sample) continue;
    if (!metrics.has(sample.name)) metrics.set(sample.name, []);
    metrics.get(sample.name).push({labels: sample.labels, value: sample.value});
  }
  return metrics;
}

function parseSample(line) {
  const head = /^[a-zA-Z_:][\w:]*/.exec(line);
  if (!head) return null;
  const labels = {};
  let at = head[0].length;
  if (line[at] === "{") {
    const pair = /\s*([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*,?/y;
    pair.lastIndex = at + 1;
    for (let match; (match = pair.exec(line)); at = pair.lastIndex) {
      labels[match[1]] = match[2].replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
      at = pair.lastIndex;
    }
    at = line.indexOf("}", at);
    if (at < 0) return null;
    ++at;
  }
  const [value] = line.slice(at).trim().split(/\s+/);
  if (!value) return null;
  const number = {"+Inf": Infinity, "-Inf": -Infinity}[value] ?? Number(value);
  return {name: head[0], labels, value: number};
}

// The value of a metric without further labels; 0 if there is none.
export const valueOf = (metrics, name) => metrics.get(name)?.[0].value ?? 0;

// {bounds, counts (of each bucket alone), sum, count}; null if there is none.
export function histogramOf(metrics, name) {
  const buckets = metrics.get(`${name}_bucket`);
  if (!buckets) return null;
  let before = 0;
  const counts = buckets.map(({value}) => {
    const count = value - before;
    before = value;
    return count;
  });
  const bounds = buckets.map(({labels}) => (labels.le === "+Inf" ? Infinity : Number(labels.le)));
  return {bounds, counts, sum: valueOf(metrics, `${name}_sum`), count: valueOf(metrics, `${name}_count`)};
}

// What was observed between two looks at a histogram.
export function since(now, before) {
  if (!before) return now;
  return {bounds: now.bounds, counts: now.counts.map((c, i) => c - before.counts[i]), sum: now.sum - before.sum,
          count: now.count - before.count};
}

// As Prometheus' histogram_quantile: linear inside a bucket, the last bound for what is above it. null: nothing was observed.
export function quantile(histogram, q) {
  if (!histogram || histogram.count <= 0) return null;
  const {bounds, counts} = histogram;
  const rank = q * histogram.count;
  let below = 0;
  for (let i = 0; i < counts.length; ++i) {
    if (below + counts[i] >= rank && counts[i] > 0) {
      if (bounds[i] === Infinity) return bounds[i - 1] ?? null;
      const low = i === 0 ? 0 : bounds[i - 1];
      return low + (bounds[i] - low) * ((rank - below) / counts[i]);
    }
    below += counts[i];
  }
  return null;
}
