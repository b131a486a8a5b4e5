// The timeline as people use it: rows of text beside the drawing, filters, zoom, keys, and what is told of a step.

const ZOOM = { least: 0.02, most: 48, usual: 28, factor: 1.3 };
/// Browsers cannot scroll through more.
const MOST_PIXELS = 8e6;
const MOST_CHIPS = 40;

function timelineView(story, model, source) {
  const { events } = model;
  const threads = listOf(story.threads);
  const state = { focused: model.canFocus, threads: new Set(), objects: new Set(), arrows: true, row: ZOOM.usual, selected: null };
  let { rows, rowAt, preemptions } = timelineRows(story, model, state.focused, state.threads);
  let colours = null;
  let lanes = new Map();
  let laidOut = null;
  const drawn = new Map();
  let waiting = false;

  const canvas = h("canvas", { "aria-hidden": "true" });
  const spacer = h("div", { class: "spacer" });
  const list = h("div", { class: "rows", role: "presentation" });
  const view = h("div", { class: "view", tabindex: "0", role: "listbox", "aria-label": "Steps in order", "aria-describedby": "timeline-keys" },
    canvas, list, spacer);
  const heads = h("div", { class: "heads", "aria-hidden": "true" });
  const readout = h("p", { class: "readout aside" });
  const status = h("p", { class: "status aside", role: "status" });
  const detail = h("div", { class: "detail", role: "region", "aria-label": "The selected step" });
  const zoomed = h("output", {}, "100 %");
  const printed = h("div", { class: "print-only" });

  // Who follows a step: the arrows the other way round, made when first asked for.
  let following = null;
  const followers = (index) => {
    if (!following) {
      following = new Map();
      events.forEach((event, to) => event.after.forEach((from) => {
        if (!following.has(from)) following.set(from, []);
        following.get(from).push(to);
      }));
    }
    return following.get(index) ?? [];
  };
  /// As short as can be: the whole name is among the filters.
  const laneName = (thread) => show(at(threads, thread, {}).given ?? at(threads, thread, {}).name ?? "?", 60);
  const describe = (index, most) => {
    const event = events[index];
    const mark = event.switch === "preemption" ? "◆ " : "";
    return `${mark}${event.kind === "step" ? event.number : "·"}  ${laneName(event.thread)}  ${show(event.text, most)}`;
  };
  const isDim = (index) => state.objects.size > 0 && !events[index].objects.some((object) => state.objects.has(object));

  // ---- drawing ----

  /// Gives the threads their lanes, anew only if that can have changed: scrolling must be cheap.
  function layout() {
    const width = view.clientWidth;
    const about = `${width} ${[...state.threads].join(" ")}`;
    if (laidOut?.about === about) return laidOut;
    const shown = threads.map((_, k) => k).filter((k) => state.threads.size === 0 || state.threads.has(k));
    const gutter = width < 480 ? 40 : 56;
    const room = Math.max(60, width < 480 ? width * 0.42 : Math.min(width - gutter - 260, width * 0.55));
    const lane = Math.min(76, room / Math.max(shown.length, 1));
    lanes = new Map(shown.map((thread, k) => [thread, gutter + (k + 0.5) * lane]));
    list.style.setProperty("--gutter", `${gutter}px`);
    list.style.setProperty("--lanes", `${lane * shown.length + 6}px`);
    const longest = shown.reduce((most, thread) => Math.min(12, Math.max(most, laneName(thread).length)), 1) * 7.5 + 8;
    heads.hidden = lane < 11;
    // Names that are too wide for their lanes stand in two lines by turns, or upright where not even that is room enough.
    const byTurns = lane < longest && 2 * lane >= longest;
    heads.classList.toggle("by-turns", byTurns);
    heads.classList.toggle("upright", lane < longest && !byTurns);
    heads.style.setProperty("--longest", `${longest}px`);
    heads.replaceChildren(...(heads.hidden ? [] : shown.map((thread, k) => {
      const head = h("span", { class: byTurns && k % 2 === 0 && "upper" }, laneName(thread));
      const width = byTurns ? 2 * lane : lane;
      head.style.left = `${lanes.get(thread) - width / 2}px`;
      head.style.width = `${width}px`;
      return head;
    })));
    laidOut = { about, lane, textX: gutter + lane * shown.length + 8 };
    return laidOut;
  }

  function draw() {
    waiting = false;
    // On paper it is not there, and must be found again as it was.
    if (view.clientWidth === 0) return;
    colours ??= palette(view);
    const { lane, textX } = layout();
    view.style.setProperty("--content", `${rows.length * Math.max(state.row, ZOOM.usual) + 10}px`);
    const [width, height] = [view.clientWidth, view.clientHeight];
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    spacer.style.height = `${Math.max(0, rows.length * state.row - height)}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    drawTimeline(pen, {
      model, rows, rowAt, lanes, laneX: (thread) => lanes.get(thread), laneWidth: lane, height, row: state.row,
      textX, label: (index) => describe(index, 90), top: view.scrollTop, colours,
      isDim, followers, arrows: state.arrows, selected: state.selected, objects: state.objects,
    });
    placeRows(height);
    view.dataset.rows = rows.length;
    view.dataset.row = state.row.toFixed(3);
    zoomed.textContent = `${Number(((100 * state.row) / ZOOM.usual).toPrecision(2))} %`;
  }

  function rowElement(r) {
    const index = rows[r];
    if (index < 0) {
      const lost = preemptions.has(r) ? `, ${plural(preemptions.get(r), "preemption")} among them` : "";
      return h("div", { class: "row gap", role: "presentation" }, h("span", { class: "what" }, `${plural(-index, "step")} not shown${lost}`));
    }
    const event = events[index];
    const place = event.place && h("span", { class: "where" }, shortPlace(event.place));
    const note = event.preempted !== null ? h("span", { class: "tag" }, `preempts ${laneName(event.preempted)}`)
      : event.kind !== "step" ? h("span", { class: "tag culprit" }, event.outcome) : null;
    return h("div", { class: `row${event.matters ? " matters" : ""}`, role: "option", id: `event-${index}`,
      "aria-posinset": r + 1, "aria-setsize": rows.length },
      h("span", { class: "num" }, event.kind === "step" ? event.number : "·"), h("span", { class: "lane" }),
      h("span", { class: "what" }, h("span", { class: "who" }, laneName(event.thread)), " ", show(event.text, 300), " ", note), place);
  }

  /// Text for the rows that can be seen; in a view from afar for the selected one only, which readers of the screen need.
  function placeRows(height) {
    const readable = state.row >= READABLE;
    const first = Math.max(0, Math.floor(view.scrollTop / state.row));
    const last = Math.min(rows.length - 1, Math.ceil((view.scrollTop + height) / state.row));
    const wanted = new Set();
    if (readable) for (let r = first; r <= last; r += 1) wanted.add(r);
    const chosen = state.selected === null ? -1 : rowAt[state.selected];
    if (rows[chosen] === state.selected) wanted.add(chosen);
    for (const [r, element] of drawn) {
      if (!wanted.has(r)) {
        element.remove();
        drawn.delete(r);
      }
    }
    for (const r of wanted) {
      const element = drawn.get(r) ?? list.appendChild(rowElement(r));
      drawn.set(r, element);
      element.style.top = `${r * state.row}px`;
      element.style.height = `${state.row}px`;
      element.classList.toggle("afar", !readable);
      if (rows[r] >= 0) {
        element.classList.toggle("dim", isDim(rows[r]));
        element.setAttribute("aria-selected", String(rows[r] === state.selected));
      }
    }
    const active = drawn.get(chosen);
    if (active) view.setAttribute("aria-activedescendant", active.id);
    else view.removeAttribute("aria-activedescendant");
  }

  function schedule() {
    if (!waiting) requestAnimationFrame(draw);
    waiting = true;
  }

  // ---- filters ----

  function refilter() {
    const anchor = state.selected;
    ({ rows, rowAt, preemptions } = timelineRows(story, model, state.focused, state.threads));
    for (const element of drawn.values()) element.remove();
    drawn.clear();
    clampRow();
    draw();
    if (anchor !== null) reveal(Math.min(rowAt[anchor], rows.length - 1));
    tellStatus();
  }

  function tellStatus() {
    const shown = rows.filter((row) => row >= 0 && events[row].kind === "step").length;
    const parts = [`${count(shown)} of ${plural(story.length, "step")} shown`];
    for (const object of state.objects) {
      const steps = events.filter((event) => event.objects.includes(object)).length;
      const holds = model.holds.filter((hold) => hold.object === object).length;
      parts.push(`${show(at(story.objects, object, { name: "?" }).name, 100)}: ${plural(steps, "step")}, held ${plural(holds, "time")}`);
    }
    status.textContent = parts.join(" · ");
  }

  function toggle(set, value) {
    if (!set.delete(value)) set.add(value);
  }

  function pressChips() {
    const root = element.closest("article") ?? element;
    for (const chip of root.querySelectorAll(".chip[data-object]")) chip.setAttribute("aria-pressed", String(state.objects.has(Number(chip.dataset.object))));
    for (const chip of root.querySelectorAll(".chip[data-thread]")) chip.setAttribute("aria-pressed", String(state.threads.has(Number(chip.dataset.thread))));
  }

  function chip(object) {
    const { name, kind } = at(story.objects, object, { name: `object ${object}?`, kind: "" });
    return h("button", { type: "button", class: "chip", "data-object": object, "aria-pressed": String(state.objects.has(object)), title: `Highlight ${kind} ${show(name, 200)}`,
      click: () => {
        toggle(state.objects, object);
        pressChips();
        tellStatus();
        draw();
      } }, h("span", { class: `badge o${model.colour(object)}`, "aria-hidden": "true" }, model.badge(object)), show(name, 80), h("small", {}, show(kind, 40)));
  }

  function threadChip(thread) {
    return h("button", { type: "button", class: "chip", "data-thread": thread, "aria-pressed": "false", title: "Show the steps of this thread only",
      click: () => {
        toggle(state.threads, thread);
        pressChips();
        refilter();
      } }, threadName(story, thread));
  }

  /// Chips, the first of them at once and all when asked for.
  function chips(label, indices, make) {
    const box = h("div", { class: "chips", role: "group", "aria-label": label }, h("span", { class: "label" }, label));
    box.append(...indices.slice(0, MOST_CHIPS).map(make));
    const rest = indices.slice(MOST_CHIPS);
    if (rest.length > 0) {
      const more = h("button", { type: "button", class: "small", click: () => more.replaceWith(...rest.slice(0, 5000).map(make)) }, `${count(rest.length)} more`);
      box.append(more);
    }
    return indices.length > 1 || label === "Objects" ? box : null;
  }

  const matterButtons = [true, false].map((focused) => h("button", { type: "button", "aria-pressed": String(state.focused === focused),
    disabled: focused && !model.canFocus, title: focused && !model.canFocus && "All steps matter, or none is known to",
    "data-focused": String(focused), click: () => {
      state.focused = focused;
      for (const button of matterButtons) button.setAttribute("aria-pressed", String(button.dataset.focused === String(focused)));
      refilter();
    } }, focused ? "Only the steps that matter" : "All steps"));

  // ---- zoom ----

  function clampRow() {
    const most = Math.max(Math.min(ZOOM.most, MOST_PIXELS / Math.max(rows.length, 1)), ZOOM.least);
    state.row = Math.min(most, Math.max(Math.min(ZOOM.least, most), state.row));
  }

  /// Zooms so that the row at `y` of the view stays where it is.
  function zoom(row, y = view.clientHeight / 2) {
    const place = (view.scrollTop + y) / state.row;
    state.row = row;
    clampRow();
    spacer.style.height = `${Math.max(0, rows.length * state.row - view.clientHeight)}px`;
    view.scrollTop = place * state.row - y;
    draw();
  }
  function zoomBy(factor) {
    const chosen = state.selected === null ? -1 : (rowAt[state.selected] + 0.5) * state.row - view.scrollTop;
    zoom(state.row * factor, chosen >= 0 && chosen <= view.clientHeight ? chosen : undefined);
  }
  const fit = () => zoom(Math.min(ZOOM.usual, view.clientHeight / Math.max(rows.length, 1)), 0);

  // ---- selection ----

  function reveal(row) {
    const [from, to] = [row * state.row, (row + 1) * state.row];
    const margin = Math.min(view.clientHeight / 4, 2 * state.row);
    if (from - margin < view.scrollTop) view.scrollTop = from - margin;
    else if (to + margin > view.scrollTop + view.clientHeight) view.scrollTop = to + margin - view.clientHeight;
  }

  /// Selects an event; if a filter hides it and it was asked for by name, the filters give way.
  function select(index, insist = false) {
    if (index === null || index < 0 || index >= events.length) return;
    state.selected = index;
    if (insist && rows[rowAt[index]] !== index) {
      state.threads.clear();
      if (!events[index].matters) matterButtons[1].click();
      pressChips();
      refilter();
    }
    reveal(rowAt[index]);
    draw();
    tellStep(index);
    const place = events[index].place;
    if (place) source.open(place, false);
    else source.clear();
  }

  /// From the selected row on, the next row in a direction that is an event and satisfies a condition.
  function seek(direction, wanted = () => true) {
    const here = state.selected === null ? (direction > 0 ? -1 : rows.length) : rowAt[state.selected];
    const hidden = state.selected !== null && rows[here] !== state.selected;
    for (let r = hidden && direction > 0 ? here : here + direction; r >= 0 && r < rows.length; r += direction) {
      if (rows[r] >= 0 && wanted(events[rows[r]])) return select(rows[r]);
    }
  }
  function seekEnd(direction) {
    const ordered = direction > 0 ? rows.findLast((row) => row >= 0) : rows.find((row) => row >= 0);
    if (ordered !== undefined) select(ordered);
  }
  function page(direction) {
    const steps = Math.max(1, Math.floor(view.clientHeight / state.row) - 1);
    let target = Math.max(0, Math.min(rows.length - 1, (state.selected === null ? 0 : rowAt[state.selected]) + direction * steps));
    while (rows[target] < 0 && target > 0 && target < rows.length - 1) target += direction;
    if (rows[target] >= 0) select(rows[target]);
  }

  const keys = {
    j: () => seek(1), ArrowDown: () => seek(1), k: () => seek(-1), ArrowUp: () => seek(-1),
    ArrowRight: () => seek(1, (e) => e.thread === events[state.selected]?.thread),
    ArrowLeft: () => seek(-1, (e) => e.thread === events[state.selected]?.thread),
    p: () => seek(1, (e) => e.switch === "preemption"), P: () => seek(-1, (e) => e.switch === "preemption"),
    n: () => seek(1, (e) => e.objects.some((object) => state.objects.has(object))),
    N: () => seek(-1, (e) => e.objects.some((object) => state.objects.has(object))),
    Home: () => seekEnd(-1), End: () => seekEnd(1), PageDown: () => page(1), PageUp: () => page(-1),
    "+": () => zoomBy(ZOOM.factor), "=": () => zoomBy(ZOOM.factor), "-": () => zoomBy(1 / ZOOM.factor), 0: fit,
    Enter: () => events[state.selected]?.place && source.open(events[state.selected].place, true),
  };
  view.addEventListener("keydown", (press) => {
    if (press.ctrlKey || press.metaKey || press.altKey || !Object.hasOwn(keys, press.key)) return;
    press.preventDefault();
    keys[press.key]();
  });
  view.addEventListener("wheel", (turn) => {
    if (!turn.ctrlKey && !turn.metaKey) return;
    turn.preventDefault();
    zoom(state.row * Math.exp(-turn.deltaY / 300), turn.clientY - view.getBoundingClientRect().top);
  }, { passive: false });
  view.addEventListener("scroll", schedule, { passive: true });
  source.element.addEventListener("keydown", (press) => press.key === "Escape" && view.focus());
  const rowUnder = (pointer) => rows[Math.floor((pointer.clientY - view.getBoundingClientRect().top - view.clientTop + view.scrollTop) / state.row)];
  view.addEventListener("click", (press) => {
    const row = rowUnder(press);
    if (row >= 0) select(row);
  });
  view.addEventListener("pointermove", (move) => {
    const event = events[rowUnder(move)];
    readout.textContent = event && state.row < READABLE ? describe(rowUnder(move), 200) : "";
  });

  // ---- what is told of a step ----

  function eventButton(index) {
    const event = events[index];
    return h("button", { type: "button", class: "link", click: () => select(index, true) },
      `${event.number} ${threadName(story, event.thread)}: ${show(event.text, 200)}`);
  }

  function tellStep(index) {
    const event = events[index];
    const holds = model.holds.filter((hold) => hold.start <= index && (hold.end === null || hold.end > index));
    const mine = holds.filter((hold) => hold.thread === event.thread);
    const others = holds.filter((hold) => hold.thread !== event.thread && event.objects.includes(hold.object));
    const why = event.preempted !== null ? `A preemption: ${threadName(story, event.preempted)} could have gone on.`
      : event.switch === "free" ? "The thread before had ended or could not go on." : null;
    const title = event.kind === "step" ? `Step ${count(event.number)} (${count(story.length)} in all)`
      : event.kind === "access" ? "An access that races" : "At the end";
    const rows = [
      ["Thread", threadName(story, event.thread)],
      ["Got", event.kind === "step" ? event.outcome : null],
      ["About", event.other === null || event.other === undefined ? null : threadName(story, event.other)],
      ["Objects", event.objects.length > 0 ? event.objects.slice(0, 20).map(chip) : null],
      ["Where", event.place ? placeButton(event.place, source) : null],
      ["Switch", why],
      ["Waits for", event.waiter?.for_threads?.length > 0 ? event.waiter.for_threads.map((t) => threadName(story, t)).join(", ") : null],
      ["Holds", mine.length > 0 ? mine.map((hold) => chip(hold.object)) : null],
      ["Held by", others.length > 0 ? others.map((hold) => threadName(story, hold.thread)).join(", ") : null],
      ["Before it", event.after.length > 0 ? event.after.slice(0, 20).map(eventButton) : null],
      ["Same thread", event.previous !== null ? eventButton(event.previous) : null],
    ];
    detail.replaceChildren(h("p", { class: "label" }, title), h("p", { class: "text" }, show(event.text, 4000)),
      h("dl", {}, rows.filter((row) => row[1]).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  }

  // ---- the whole ----

  const button = (text, label, click) => h("button", { type: "button", "aria-label": label, title: label, click }, text);
  const arrows = h("input", { type: "checkbox", checked: true, change: () => {
    state.arrows = arrows.checked;
    draw();
  } });
  const keysHelp = h("details", { class: "keys" }, h("summary", {}, "Keys"), h("p", { id: "timeline-keys" },
    "In the timeline: j or ↓ next step, k or ↑ step before, ← and → within the thread, p and P next and previous preemption, n and N next and previous step of the highlighted objects, Home and End, "
    + "Page Up and Page Down, + and − or Ctrl with the wheel zoom, 0 shows everything, Enter opens the source, Escape comes back."));
  const element = h("section", { class: "timeline", "aria-label": "Timeline" },
    h("h4", {}, "Timeline"),
    h("div", { class: "toolbar", role: "group", "aria-label": "View" },
      h("div", { class: "segments", role: "group", "aria-label": "Which steps" }, matterButtons),
      h("div", { class: "segments zoom", role: "group", "aria-label": "Zoom" },
        button("−", "Zoom out", () => zoomBy(1 / ZOOM.factor)), zoomed, button("+", "Zoom in", () => zoomBy(ZOOM.factor)), button("Fit", "Show everything", fit)),
      h("label", {}, arrows, " Arrows")),
    chips("Threads", threads.map((_, k) => k), threadChip), chips("Objects", model.order, chip), status,
    h("div", { class: "board" }, h("div", { class: "chart" }, heads, view, readout, timelineLegend(model), keysHelp),
      h("div", { class: "side" }, detail, source.element)), printed);
  tellStatus();

  return {
    element, chip, select,
    /// Where the bug begins: the first preemption or what is shown behind it, else where another thread comes in, else the first step.
    selectBeginning() {
      const shown = rows.filter((row) => row >= 0);
      const preemption = events.findIndex((event) => event.switch === "preemption");
      const first = (preemption < 0 ? undefined : shown.find((index) => index >= preemption))
        ?? shown.find((index) => events[index].switch === "free") ?? shown[0];
      if (first === undefined) draw();
      else select(first);
    },
    redraw() {
      colours = null;
      draw();
    },
    /// Paper does not scroll: there the rows are a list.
    beforePrint() {
      const most = 400;
      const lines = rows.slice(0, most).map((row) => {
        if (row < 0) return ["…", `${plural(-row, "step")} not shown`, ""];
        const event = events[row];
        const note = event.preempted !== null ? " (preemption)" : event.kind !== "step" ? ` (${event.outcome})` : "";
        return [event.kind === "step" ? event.number : "", `${threadName(story, event.thread)}: ${show(event.text, 300)}${note}`,
          event.place ? shortPlace(event.place) : ""];
      });
      printed.replaceChildren(table(rows.length > most ? `The first ${most} rows of the timeline` : "Timeline", ["Step", "What", "Where"], lines));
    },
  };
}
