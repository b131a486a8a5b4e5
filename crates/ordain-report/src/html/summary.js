// The verdict and the figures of the run.

const VERDICTS = {
  finding: { class: "bad", icon: "M12 2 L22 20 L2 20 Z M12 9 V14 M12 16.6 V17.4" },
  verified: { class: "good", icon: "M12 2 A10 10 0 1 0 12 22 A10 10 0 1 0 12 2 M7 12.5 L10.5 16 L17 9" },
  "no finding": { class: "open", icon: "M12 2 A10 10 0 1 0 12 22 A10 10 0 1 0 12 2 M7 12 H17" },
};

function exploredShare(run) {
  if (run.exhausted) return 1;
  const log = run.estimate?.log10;
  return Number.isFinite(log) ? Math.min(1, 10 ** (Math.log10(Math.max(run.executions, 1e-9)) - log)) : null;
}

function exploredBar(run) {
  const share = exploredShare(run);
  if (share === null) return null;
  const bar = h("span", { class: "bar", "aria-hidden": "true" }, h("span"));
  bar.firstChild.style.width = `${Math.max(share * 100, share > 0 ? 0.5 : 0)}%`;
  const estimate = run.estimate;
  const text = run.exhausted
    ? "Nothing is left to explore."
    : `About ${percent(share)} explored, of about ${power(estimate.log10)} executions`
      + ` (likely between ${power(estimate.low)} and ${power(estimate.high)}).`;
  return h("div", { class: "explored" }, bar, h("p", {}, text));
}

function workersTold(workers) {
  const again = workers.released > 0 ? `, ${count(workers.released)} given to another worker` : "";
  return `${percent(workers.utilisation)} busy, ${plural(workers.fragments, "fragment")}${again}`;
}

function facts(run) {
  const rate = run.wall_seconds > 0 ? `${count(run.executions / run.wall_seconds)} / s` : "?";
  const began = new Date(run.began * 1000);
  const rows = [
    ["Executions", count(run.executions)],
    ["Rate", rate],
    ["Time", duration(run.wall_seconds), `${duration(run.cpu_seconds)} of processor time`],
    ["Threads", count(run.threads), "most in one execution"],
    ["Depth", plural(run.depth, "step"), "of the longest execution"],
    ["Steps", count(run.steps), "of all executions"],
    ["Cut short", count(run.blocked), "covered elsewhere"],
    ["Level", run.level, "operations that are visible"],
    ["Strategy", run.strategy],
    ["Mode", run.mode],
    ["Workers", run.workers && count(run.workers.count), run.workers && workersTold(run.workers)],
    ["Began", Number.isNaN(began.getTime()) ? null : began.toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC")],
    ["Ordain", run.ordain],
  ];
  return h("dl", { class: "facts" }, rows.filter((row) => row[1]).map(([name, value, more]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value, more && h("small", {}, more)))));
}

function summaryView(run) {
  const verdict = VERDICTS[run.verdict] ?? VERDICTS["no finding"];
  const icon = s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, s("path", { d: verdict.icon }));
  const notes = listOf(run.notes).slice(0, 200).map((note) => note.severity === "warning"
    ? h("li", { class: "warning" }, h("strong", {}, "Warning "), note.text)
    : h("li", {}, note.text));
  return h("section", { id: "summary", "aria-labelledby": "verdict" },
    h("div", { class: `verdict ${verdict.class}` }, icon,
      h("div", {}, h("h1", { id: "verdict" }, run.verdict), h("p", {}, run.meaning))),
    h("p", { class: "program" }, h("span", { class: "label" }, "Program"), h("code", {}, run.program)),
    run.interrupted && h("p", { class: "aside" }, "The check was stopped before it came to its end."),
    exploredBar(run),
    notes.length > 0 && h("ul", { class: "notes", "aria-label": "Notes" }, notes));
}

/// Figures are for whoever asks: at the end of the page, and folded.
function figuresView(run) {
  return section("figures", "Figures", h("details", {}, h("summary", {}, "What the check cost, and how it was made"), facts(run)));
}
