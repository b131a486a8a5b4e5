// One finding: what happened, why, and everything that is known of it besides its timeline.

function threadName(story, index) {
  const thread = at(story.threads, index, null);
  if (!thread) return `thread ${index}?`;
  return show(thread.given ? `${thread.name} “${thread.given}”` : thread.name, 120);
}

function placeButton(place, source) {
  return h("button", { type: "button", class: "place", title: longPlace(place), click: () => source.open(place, true) },
    shortPlace(place));
}

function raceView(story, chip, source, select) {
  const race = story.race;
  const cards = listOf(race.accesses).map((access, k) => h("li", { class: "card" },
    h("p", {}, h("strong", {}, threadName(story, access.thread)), access.write ? " writes" : " reads"),
    h("p", { class: "aside" }, `after ${plural(access.after, "step")}`),
    access.place && h("pre", { class: "line" }, h("code", {}, show(access.place.text ?? "source not at hand", 400).trim())),
    h("p", { class: "buttons" }, access.place && placeButton(access.place, source),
      h("button", { type: "button", class: "small", click: () => select(k) }, "Show in the timeline"))));
  return h("section", { class: "race", "aria-label": "The two accesses" },
    h("h4", {}, "Two accesses that nothing orders"), h("p", {}, "Both access ", chip(race.object), "."),
    h("ol", { class: "pair" }, cards));
}

function frameView(frame, source) {
  const module = `${show(frame.module, 400)}+0x${Number(frame.offset ?? 0).toString(16)}`;
  return h("li", {}, h("code", {}, show(frame.function ?? "unknown function", 400)), " ",
    frame.place ? placeButton(frame.place, source) : h("span", { class: "aside" }, module));
}

function stacksView(story, source) {
  const threads = listOf(story.threads);
  if (threads.length === 0) return null;
  const blocks = threads.slice(0, 400).map((thread, index) => {
    const frames = listOf(thread.frames).slice(0, 200);
    const state = thread.doing ? `about to ${show(thread.doing, 300)}` : "has ended";
    const title = h("summary", {}, h("strong", {}, threadName(story, index)),
      thread.culprit && h("span", { class: "tag culprit" }, "did it"), h("span", { class: "aside" }, state));
    return h("details", { open: thread.culprit || (threads.length <= 6 && frames.length > 0) }, title,
      frames.length > 0 ? h("ol", { class: "frames" }, frames.map((frame) => frameView(frame, source)))
        : h("p", { class: "aside" }, "Its stack is not known."));
  });
  return h("section", { class: "stacks", "aria-label": "Threads at the end" }, h("h4", {}, "Threads at the end"), blocks);
}

function sizeView(story) {
  const { size, shrunk } = story;
  const name = { preemptions: "Preemptions", steps: "Steps", switches: "Switches" };
  const rows = Object.keys(name).map((key) => [name[key], ...(shrunk ? [count(shrunk.from?.[key])] : []), count(size?.[key])]);
  const told = shrunk && h("p", { class: "aside" },
    `Shrinking took ${plural(shrunk.executions, "execution")}. `,
    shrunk.fewest && size?.preemptions > 0 && "No schedule with fewer preemptions shows this finding. ",
    shrunk.stopped && "It was stopped before everything had been tried.");
  return h("section", { class: "size", "aria-label": "Size of the schedule" }, h("h4", {}, "Size of the schedule"),
    table("Size of the schedule", shrunk ? ["", "When found", "Now"] : ["", "Now"], rows), told);
}

const LINES_AROUND = 200;

/// The lines of an output near one of them, numbered; from `column` on the line itself is marked.
function outputLines(lines, line, column, name) {
  const [from, to] = [Math.max(0, line - LINES_AROUND), Math.min(lines.length, line + LINES_AROUND)];
  const more = (number, where) => number > 0 && h("div", { class: "more" }, `${plural(number, "line")} ${where}`);
  const rows = lines.slice(from, to).map((text, k) => {
    const marked = column !== null && from + k === line;
    const content = marked ? [text.slice(0, column), h("mark", {}, text.slice(column) || "⏎")] : [text];
    return h("div", { class: marked ? "l first" : "l", "aria-label": marked && `first difference, line ${line + 1}` },
      h("span", { class: "n", "aria-hidden": "true" }, from + k + 1), h("span", {}, content));
  });
  if (column !== null && line >= lines.length) {
    rows.push(h("div", { class: "l first" }, h("span", { class: "n" }, "–"), h("mark", {}, "ends here")));
  }
  return h("div", { class: "output", tabindex: "0", role: "region", "aria-label": name },
    more(from, "before"), rows, more(lines.length - to, "more"));
}

function splitLines(text) {
  const lines = String(text ?? "").split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

/// The first place where two outputs differ: the line, and the column in it.
function firstDifference(one, other) {
  const [a, b] = [splitLines(one), splitLines(other)];
  const line = a.findIndex((text, k) => text !== b[k]);
  const at = line >= 0 ? line : a.length;
  if (at >= a.length || at >= b.length) return { a, b, line: at, column: 0 };
  const [left, right] = [[...a[at]], [...b[at]]];
  let column = 0;
  while (column < left.length && left[column] === right[column]) column += 1;
  return { a, b, line: at, column: left.slice(0, column).join("").length };
}

function outputsView(story) {
  const streams = ["Standard output", "Standard error"].map((name, k) => {
    const text = story.outputs?.[k] ?? "";
    const usual = story.usual_outputs?.[k];
    if (usual === undefined || usual === text) {
      if (text === "") return null;
      const same = usual === text && h("p", { class: "aside" }, "The same as usual.");
      return h("div", {}, h("h5", {}, name), same, outputLines(splitLines(text), 0, null, name));
    }
    const { a, b, line, column } = firstDifference(text, usual);
    return h("div", { class: "differs" }, h("h5", {}, name, h("span", { class: "aside" }, ` first differs in line ${line + 1}`)),
      h("div", { class: "pair" },
        h("div", {}, h("p", { class: "label" }, "This schedule"), outputLines(a, line, column, `${name} of this schedule`)),
        h("div", {}, h("p", { class: "label" }, "Usually"), outputLines(b, line, column, `${name} as usual`))));
  }).filter(Boolean);
  if (streams.length === 0) return null;
  return h("section", { class: "outputs", "aria-label": "What it wrote" }, h("h4", {}, "What it wrote"), streams);
}

/// Shows the first difference in the middle of its box.
function centreDifferences(root) {
  for (const line of root.querySelectorAll(".output .first")) {
    const box = line.parentElement;
    box.scrollTop = line.offsetTop - box.clientHeight / 2;
  }
}

function kindTag(kind) {
  return h("span", { class: "tag kind" }, show(kind, 40).replaceAll("-", " "));
}

/// A finding whole; `redraw` is for when its width or the colours changed.
function findingView(story, number, explanation) {
  const model = timelineModel(story);
  const source = sourceView(story, model);
  const timeline = timelineView(story, model, source);
  const chip = timeline.chip;
  const waiting = story.waiting && waitingView(story, model, chip);
  const details = listOf(story.details).slice(0, 200);
  const showAccess = (k) => timeline.select(model.events.findIndex((e) => e.kind === "access" && e.access === k), true);
  const element = h("article", { class: "finding", "aria-labelledby": "finding-title" },
    h("header", {}, kindTag(story.kind), h("h3", { id: "finding-title", tabindex: "-1" }, story.headline),
      explanation && h("p", { class: "explanation aside" }, explanation)),
    details.length > 0 && h("ul", { class: "details" }, details.map((line) => h("li", {}, line))),
    waiting?.element, story.race && raceView(story, chip, source, showAccess),
    story.kind === "output" && outputsView(story),
    timeline.element,
    story.schedule
      ? h("div", { class: "replay" }, h("p", { class: "label" }, "See it again"),
        commandLine(`ordain replay ${shellWord(String(story.schedule))}`))
      : h("p", { class: "aside" }, "No schedule file was written for this finding."),
    h("div", { class: "columns" }, stacksView(story, source), sizeView(story)),
    story.kind !== "output" && outputsView(story));
  element.dataset.finding = number;
  return {
    element,
    redraw() {
      waiting?.redraw();
      timeline.redraw();
    },
    mounted() {
      this.redraw();
      centreDifferences(element);
      timeline.selectBeginning();
    },
    beforePrint: timeline.beforePrint,
  };
}
