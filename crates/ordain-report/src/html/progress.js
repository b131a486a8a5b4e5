// How the run went: executions over time, and how many there were thought to be.

const MOST_SAMPLES = 400;

/// Evenly chosen samples, the first and the last among them.
function thin(samples, most) {
  if (samples.length <= most) return samples;
  return Array.from({ length: most }, (_, k) => samples[Math.round((k * (samples.length - 1)) / (most - 1))]);
}

/// Round numbers between two ends.
function ticks(low, high, most) {
  const raw = Math.max((high - low) / most, 1e-12);
  const base = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * base).find((size) => size >= raw);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) found.push(value);
  return found;
}

/// Where values lie on the upright axis: as they are, or their logarithms if they are far apart.
function valueAxis(samples) {
  const ends = samples.flatMap((x) => [x.estimate?.low, x.estimate?.log10, x.estimate?.high]).filter(Number.isFinite);
  const most = Math.max(...samples.map((x) => Math.log10(Math.max(x.executions, 1))), ...ends);
  const firsts = samples.map((x) => x.executions).filter((x) => x > 0);
  const least = Math.log10(Math.max(1, Math.min(...firsts, 10 ** Math.min(most, 300))));
  const log = most - least > 2 || most > 15;
  if (!log) {
    const high = Math.max(10 ** most, 1);
    return { log, low: 0, high, of: (x) => x, ofLog: (x) => 10 ** x, ticks: ticks(0, high, 5), name: count };
  }
  const [low, high] = [Math.floor(least), Math.max(Math.ceil(most), Math.floor(least) + 1)];
  return {
    log, low, high, of: (x) => Math.log10(Math.max(x, 10 ** low)), ofLog: (x) => Math.max(x, low),
    ticks: ticks(low, high, 5).filter(Number.isInteger), name: (x) => (high <= 6 ? count(10 ** x) : `10${superscript(Math.round(x))}`),
  };
}

function progressDrawing(samples, width) {
  const height = Math.max(220, Math.min(340, width * 0.45));
  const edge = { left: 72, right: 16, top: 26, bottom: 42 };
  const axis = valueAxis(samples);
  const last = Math.max(samples[samples.length - 1].seconds, 1e-9);
  const x = (seconds) => edge.left + (seconds / last) * (width - edge.left - edge.right);
  const y = (value) => height - edge.bottom - ((value - axis.low) / (axis.high - axis.low)) * (height - edge.top - edge.bottom);
  const line = (points) => points.map(([a, b], k) => `${k === 0 ? "M" : "L"}${a.toFixed(1)} ${b.toFixed(1)}`).join(" ");
  const estimated = samples.filter((sample) => sample.estimate && Number.isFinite(sample.estimate.log10));
  const bound = (key) => estimated.map((sample) => [x(sample.seconds), y(axis.ofLog(sample.estimate[key]))]);
  const finds = samples.filter((sample, k) => sample.findings > (samples[k - 1]?.findings ?? 0));
  const end = samples[samples.length - 1];
  const label = `Executions over time${axis.log ? ", logarithmic scale" : ""}: ${count(end.executions)} after ${duration(end.seconds)}`;
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "curve", role: "img", "aria-label": label },
    axis.ticks.map((value) => s("g", { class: "tick" }, s("line", { x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }),
      s("text", { x: edge.left - 8, y: y(value) + 4, "text-anchor": "end" }, axis.name(value)))),
    ticks(0, last, Math.max(3, Math.floor(width / 110))).map((value) => s("g", { class: "tick" },
      s("line", { x1: x(value), x2: x(value), y1: height - edge.bottom, y2: height - edge.bottom + 5 }),
      s("text", { x: x(value), y: height - edge.bottom + 19, "text-anchor": "middle" }, value === 0 ? "0" : duration(value)))),
    estimated.length > 1 && s("path", { class: "interval", d: `${line([...bound("low"), ...bound("high").reverse()])} Z` }),
    estimated.length > 1 && s("path", { class: "estimate", d: line(bound("log10")) }),
    s("path", { class: "executions", d: line(samples.map((sample) => [x(sample.seconds), y(axis.of(sample.executions))])) }),
    finds.map((sample) => s("path", { class: "found", d: "M0 -7 L6 4 L-6 4 Z", transform: `translate(${x(sample.seconds)} ${y(axis.of(sample.executions))})` },
      s("title", {}, `finding after ${duration(sample.seconds)}`))),
    s("text", { class: "name", x: 4, y: 12 }, "executions"),
    s("text", { class: "name", x: width - edge.right, y: height - 6, "text-anchor": "end" }, "time"));
}

function progressView(run) {
  const samples = thin(listOf(run.progress).filter((sample) => Number.isFinite(sample.seconds) && Number.isFinite(sample.executions)), MOST_SAMPLES);
  if (samples.length < 2) {
    return { element: section("progress", "Progress", h("p", { class: "aside" }, "The run was too short for a curve.")), redraw() {} };
  }
  const box = h("div", { class: "drawing" });
  const hasEstimate = samples.some((sample) => sample.estimate);
  const key = (name, text) => h("li", {}, s("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" },
    name === "found" ? s("path", { class: name, d: "M14 0 L20 11 L8 11 Z" })
      : name === "interval" ? s("rect", { class: name, width: 28, height: 12 }) : s("path", { class: name, d: "M0 6 H28" })), text);
  const rows = thin(samples, 100).map((sample) => [duration(sample.seconds), count(sample.executions), count(sample.findings),
    ...(hasEstimate ? [sample.estimate ? `${power(sample.estimate.log10)} (${power(sample.estimate.low)} to ${power(sample.estimate.high)})` : "–"] : [])]);
  const element = section("progress", "Progress", box,
    h("ul", { class: "legend curve" }, key("executions", "executions"), hasEstimate && key("estimate", "estimate of all executions"),
      hasEstimate && key("interval", "its interval"), samples.some((sample) => sample.findings > 0) && key("found", "finding")),
    h("details", {}, h("summary", {}, "As a table"),
      table("Progress of the run", ["Time", "Executions", "Findings", ...(hasEstimate ? ["Estimate of all (interval)"] : [])], rows)));
  const redraw = () => box.replaceChildren(progressDrawing(samples, Math.max(260, box.clientWidth || 800)));
  return { element, redraw };
}
