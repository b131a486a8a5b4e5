// The source lines that the story carries, by file and line: those around its places as they are in the file, or only the lines
// of its places. What lies between them is not known here.

const MOST_SOURCE_LINES = 5000;

/// All places of a story, by file and line, each with the events that happened there.
function sourceFiles(story, model) {
  const files = new Map();
  const add = (place, event) => {
    if (!place || typeof place.file !== "string" || !(place.line > 0)) return;
    if (!files.has(place.file)) files.set(place.file, new Map());
    const lines = files.get(place.file);
    const line = lines.get(place.line) ?? { text: null, place: false, events: [] };
    lines.set(place.line, line);
    line.text ??= place.text;
    line.place ||= event !== null;
    if (event !== null) line.events.push(event);
  };
  model.events.forEach((event, index) => add(event.place, index));
  for (const thread of listOf(story.threads)) for (const frame of listOf(thread.frames)) add(frame.place, null);
  for (const excerpt of listOf(story.sources)) {
    listOf(excerpt.lines).slice(0, MOST_SOURCE_LINES).forEach((text, k) => {
      add({ file: excerpt.file, line: excerpt.line + k }, null);
      const line = files.get(excerpt.file)?.get(excerpt.line + k);
      if (line) line.text = text;
    });
  }
  return files;
}

function sourceView(story, model) {
  const files = sourceFiles(story, model);
  const elements = new Map();
  let current = null;
  let budget = MOST_SOURCE_LINES;
  const key = (place) => `${place.line}:${place.file}`;
  const panes = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([file, lines]) => {
    let before = null;
    const rows = [...lines].sort(([a], [b]) => a - b).slice(0, Math.max(budget, 0)).flatMap(([number, line]) => {
      const gap = before !== null && number > before + 1 ? h("div", { class: "gap", "aria-hidden": "true" }, "⋮") : null;
      before = number;
      const text = line.text ?? null;
      const row = h("div", { class: "l", tabindex: "-1" }, h("span", { class: "n" }, number),
        text === null ? h("span", { class: "aside" }, "source not at hand") : h("code", {}, show(text, 600)));
      if (line.place) row.classList.add("told");
      elements.set(key({ file, line: number }), row);
      return gap ? [gap, row] : [row];
    });
    budget -= rows.length;
    const directories = show(file, 4000).split("/");
    const name = directories.pop();
    return h("div", { class: "file" },
      h("p", { class: "name", title: file }, h("span", {}, directories.length > 0 ? `${directories.join("/")}/` : ""), h("strong", {}, name)),
      h("div", { class: "lines" }, rows));
  });
  const box = h("div", { class: "source", role: "region", "aria-label": "Source", tabindex: "0" },
    panes.length > 0 ? panes : h("p", { class: "aside" }, "No source places are known."));

  return {
    element: box,
    clear() {
      current?.classList.remove("current");
      current?.removeAttribute("aria-current");
      current = null;
    },
    /// Marks the line of a place; with `focus` the reader is taken there.
    open(place, focus) {
      this.clear();
      current = elements.get(key(place)) ?? null;
      if (!current) return;
      current.classList.add("current");
      current.setAttribute("aria-current", "true");
      box.scrollTop = current.offsetTop - box.clientHeight / 2;
      if (focus) {
        box.scrollIntoView({ block: "nearest" });
        current.focus({ preventScroll: true });
      }
    },
  };
}
