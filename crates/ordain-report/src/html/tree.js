// The exploration: the path on which the search was when it ended, and beside each state what is explored and what is left.

const MOST_ALTERNATIVES = 200;
const STATES_AT_ONCE = 200;

function alternatives(state, kind, items) {
  const list = items.slice(0, MOST_ALTERNATIVES).map((text) => h("li", { class: kind },
    h("span", { class: "dot", "aria-hidden": "true" }, kind === "explored" ? "✓" : ""), h("code", {}, show(text, 300)),
    h("span", { class: "aside" }, kind === "explored" ? "explored" : "left")));
  if (items.length > MOST_ALTERNATIVES) list.push(h("li", { class: "aside" }, `${count(items.length - MOST_ALTERNATIVES)} more`));
  return list;
}

function stateView(state, depth) {
  const [explored, left] = [listOf(state.explored), listOf(state.left)];
  const tags = [explored.length > 0 && h("span", { class: "tag explored" }, `${count(explored.length)} explored`),
    left.length > 0 && h("span", { class: "tag left" }, `${count(left.length)} left`)];
  return h("details", { class: "state", open: left.length > 0 },
    h("summary", {}, h("span", { class: "num" }, depth), h("code", {}, show(state.taken, 300)), tags),
    h("ul", {}, alternatives(state, "explored", explored), alternatives(state, "left", left)));
}

/// States in which there was nothing to decide are folded into one line.
function straightView(path, from, to) {
  const list = h("ol", { start: from });
  const element = h("details", { class: "state straight", toggle: () => {
    if (element.open && list.childElementCount === 0) {
      list.append(...path.slice(from, Math.min(to, from + 2000)).map((state) => h("li", {}, h("code", {}, show(state.taken, 300)))));
    }
  } }, h("summary", {}, h("span", { class: "num" }, from), h("span", { class: "aside" }, `${plural(to - from, "step")} without an alternative`)), list);
  return element;
}

function treeView(run) {
  const path = listOf(run.path);
  const isOpen = (state) => listOf(state.explored).length + listOf(state.left).length > 0;
  const total = (kind) => path.reduce((sum, state) => sum + listOf(state[kind]).length, 0);
  if (path.length === 0) {
    return section("exploration", "Exploration", h("p", { class: "aside" },
      run.exhausted ? "Every branch has been explored; nothing is left." : "This strategy does not keep a tree of what it explored."));
  }
  const parts = [];
  for (let k = 0; k < path.length;) {
    let end = k;
    while (end < path.length && !isOpen(path[end])) end += 1;
    if (end - k > 1) parts.push({ from: k, to: end });
    else if (end > k) parts.push({ state: k });
    if (end < path.length) parts.push({ state: end });
    k = end + 1;
  }
  const list = h("div", { class: "tree" });
  let shown = 0;
  const more = h("button", { type: "button", click: () => extend() });
  const extend = () => {
    for (const part of parts.slice(shown, shown + STATES_AT_ONCE)) {
      list.append(part.to ? straightView(path, part.from, part.to) : stateView(path[part.state], part.state));
    }
    shown = Math.min(shown + STATES_AT_ONCE, parts.length);
    more.textContent = `Show more (${count(parts.length - shown)} left)`;
    more.hidden = shown >= parts.length;
  };
  extend();
  const setAll = (open) => list.querySelectorAll("details:not(.straight)").forEach((state) => (state.open = open));
  const [explored, left] = [total("explored"), total("left")];
  return section("exploration", "Exploration",
    h("p", {}, `The search was at depth ${count(path.length)} when it ended. Beside this path ${plural(explored, "branch", "branches")} `
      + `${explored === 1 ? "is" : "are"} explored and ${count(left)} ${left === 1 ? "is" : "are"} left.`),
    h("p", { class: "buttons" },
      h("button", { type: "button", class: "small", click: () => setAll(true) }, "Open all"),
      h("button", { type: "button", class: "small", click: () => setAll(false) }, "Close all")),
    list, more);
}
