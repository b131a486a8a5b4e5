// Drawing of the timeline: lanes, holds, marks and arrows of the rows that can be seen, on a canvas.

/// From this height on rows have text, and marks have letters.
const READABLE = 16;

/// The colours of the page as the canvas needs them.
function palette(element) {
  const probe = element.appendChild(h("span", { hidden: true }));
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const objects = Array.from({ length: COLOURS }, (_, k) => ({ fill: read(`o${k}`), ink: read(`o${k}-ink`) }));
  const colours = { objects, ink: read("ink"), muted: read("muted"), line: read("line"), panel: read("panel"), accent: read("accent"), bad: read("bad") };
  probe.remove();
  return colours;
}

/// The outline of a mark: shapes tell what colours tell as well.
function markPath(canvas, event, x, y, r) {
  canvas.beginPath();
  if (event.kind === "access") canvas.rect(x - r, y - r, 2 * r, 2 * r);
  else if (event.kind === "wait") {
    for (let k = 0; k < 8; k += 1) {
      const angle = ((2 * k + 1) * Math.PI) / 8;
      canvas.lineTo(x + 1.1 * r * Math.cos(angle), y + 1.1 * r * Math.sin(angle));
    }
    canvas.closePath();
  } else if (event.switch === "preemption") {
    canvas.moveTo(x, y - 1.4 * r);
    canvas.lineTo(x + 1.4 * r, y);
    canvas.lineTo(x, y + 1.4 * r);
    canvas.lineTo(x - 1.4 * r, y);
    canvas.closePath();
  } else canvas.arc(x, y, r, 0, 2 * Math.PI);
}

/// What is to be drawn comes as `scene`: rows, lanes, sizes, where it is scrolled to, and what is chosen.
function drawTimeline(canvas, scene) {
  const { model, rows, rowAt, lanes, laneX, laneWidth, height, row, top, colours, isDim } = scene;
  const first = Math.max(0, Math.floor(top / row) - 1);
  const last = Math.min(rows.length - 1, Math.ceil((top + height) / row));
  const isShown = (index) => rows[rowAt[index]] === index;
  /// What is hidden lies between the rows before and behind it.
  const middle = (index) => (rowAt[index] + (isShown(index) ? 0.5 : 0)) * row - top;
  const radius = Math.max(1, Math.min(8, laneWidth / 3, row / 2.6));

  canvas.lineWidth = 1;
  canvas.strokeStyle = colours.line;
  for (const x of lanes.values()) {
    canvas.beginPath();
    canvas.moveTo(x, 0);
    canvas.lineTo(x, Math.min(height, rows.length * row - top));
    canvas.stroke();
  }
  for (const hold of model.holds) drawHold(hold);
  if (scene.arrows) drawArrows();
  drawMarks();
  if (row < READABLE) drawLandmarks();

  function drawHold(hold) {
    const x = laneX(hold.thread);
    const gone = hold.end !== null && rowAt[hold.start] === rowAt[hold.end] && !isShown(hold.end);
    if (x === undefined || gone) return;
    const from = middle(hold.start);
    const to = hold.end === null ? rows.length * row - top : Math.max(middle(hold.end), from + 1);
    // From afar, short holds would only be a grey veil.
    if (to < 0 || from > height || from > rows.length * row - top || (row < 2 && to - from < 3)) return;
    const width = Math.max(3, Math.min(laneWidth - 4, 38) - hold.level * 7);
    const box = [x - width / 2, Math.max(from, -20), width, Math.min(to, height + 20) - Math.max(from, -20)];
    const colour = colours.objects[model.colour(hold.object)];
    const chosen = scene.objects.has(hold.object);
    const dim = scene.objects.size > 0 && !chosen;
    canvas.beginPath();
    if (row >= 5) canvas.roundRect(...box, hold.end === null ? [6, 6, 0, 0] : 6);
    else canvas.rect(...box);
    canvas.globalAlpha = dim ? 0.06 : chosen ? 0.45 : 0.2;
    canvas.fillStyle = colour.fill;
    canvas.fill();
    canvas.globalAlpha = dim ? 0.25 : 1;
    canvas.strokeStyle = colour.fill;
    canvas.lineWidth = chosen ? 2.5 : 1.5;
    canvas.setLineDash(hold.shared ? [4, 3] : []);
    if (row >= 3) canvas.stroke();
    canvas.setLineDash([]);
    canvas.globalAlpha = 1;
  }

  function arrow(from, to, strong) {
    const [x0, y0, x1, y1] = [laneX(model.events[from].thread), middle(from), laneX(model.events[to].thread), middle(to)];
    if (x0 === undefined || x1 === undefined || x0 === x1 || Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) return;
    const side = x0 < x1 ? -1 : 1;
    const tip = [x1 + side * (radius + 2), y1];
    canvas.strokeStyle = canvas.fillStyle = strong ? colours.accent : colours.muted;
    canvas.globalAlpha = strong ? 1 : 0.45;
    canvas.lineWidth = strong ? 2 : 1;
    canvas.beginPath();
    canvas.moveTo(x0 - side * radius, y0);
    canvas.bezierCurveTo((x0 + x1) / 2, y0, (x0 + x1) / 2, y1, tip[0] + side * 3, y1);
    canvas.stroke();
    const size = strong ? 7 : 5;
    canvas.beginPath();
    canvas.moveTo(...tip);
    canvas.lineTo(tip[0] + side * size, y1 - size * 0.6);
    canvas.lineTo(tip[0] + side * size, y1 + size * 0.6);
    canvas.fill();
    canvas.globalAlpha = 1;
  }

  /// Arrows into rows that can be seen; of arrows that only pass by, those of the chosen step.
  function drawArrows() {
    if (row >= 6) {
      for (let r = first; r <= last; r += 1) {
        if (rows[r] < 0 || rows[r] === scene.selected) continue;
        for (const from of model.events[rows[r]].after) {
          if (isShown(from) && from !== scene.selected && !isDim(rows[r])) arrow(from, rows[r], false);
        }
      }
    }
    if (scene.selected === null || !isShown(scene.selected)) return;
    for (const from of model.events[scene.selected].after) if (isShown(from)) arrow(from, scene.selected, true);
    for (const to of scene.followers(scene.selected)) if (isShown(to)) arrow(scene.selected, to, true);
  }

  function drawMarks() {
    const taken = new Set();
    canvas.textAlign = "center";
    canvas.textBaseline = "middle";
    canvas.font = `600 ${Math.round(radius * 1.35)}px system-ui, sans-serif`;
    for (let r = first; r <= last; r += 1) {
      const y = (r + 0.5) * row - top;
      if (rows[r] < 0) {
        if (row >= 6) drawGap(y);
        continue;
      }
      const event = model.events[rows[r]];
      const x = laneX(event.thread);
      if (x === undefined) continue;
      const special = event.switch === "preemption" || event.kind !== "step";
      // Thousands of rows can share a pixel: one mark is enough there, and one of those that stand out.
      if (row < 2) {
        const slot = special ? `${x} ${Math.round(y / 8)}` : `${x}:${Math.round(y)}`;
        if (taken.has(slot)) continue;
        taken.add(slot);
      }
      drawMark(event, rows[r], x, y, special);
    }
  }

  /// Names for as many rows as there is room for: the selected one, then those that stand out, then the others.
  function drawLandmarks() {
    const slots = new Map();
    const isSpecial = (index) => model.events[index].switch === "preemption" || model.events[index].kind !== "step";
    const passes = [(index) => index === scene.selected, isSpecial, (index) => model.events[index].matters, () => true];
    for (const wanted of passes) {
      for (let r = first; r <= last; r += 1) {
        const slot = Math.floor(((r + 0.5) * row - top) / 18);
        if (rows[r] >= 0 && slot >= 0 && !slots.has(slot) && wanted(rows[r])) slots.set(slot, r);
      }
    }
    canvas.textAlign = "left";
    canvas.textBaseline = "middle";
    canvas.font = "12px system-ui, sans-serif";
    for (const [slot, r] of slots) {
      const [x, y, middleOfSlot] = [scene.textX, (r + 0.5) * row - top, slot * 18 + 9];
      canvas.globalAlpha = isDim(rows[r]) ? 0.35 : 1;
      canvas.strokeStyle = colours.line;
      canvas.beginPath();
      canvas.moveTo(x - 8, y);
      canvas.lineTo(x + 8, middleOfSlot);
      canvas.stroke();
      canvas.fillStyle = rows[r] === scene.selected ? colours.accent : model.events[rows[r]].matters ? colours.ink : colours.muted;
      canvas.fillText(scene.label(rows[r]), x + 12, middleOfSlot);
    }
    canvas.globalAlpha = 1;
  }

  function drawGap(y) {
    canvas.strokeStyle = colours.panel;
    canvas.lineWidth = 3;
    canvas.setLineDash([2, 4]);
    for (const x of lanes.values()) {
      canvas.beginPath();
      canvas.moveTo(x, y - row / 2);
      canvas.lineTo(x, y + row / 2);
      canvas.stroke();
    }
    canvas.setLineDash([]);
  }

  function drawMark(event, index, x, y, special) {
    const object = event.objects[0];
    const colour = object === undefined ? { fill: colours.muted, ink: colours.panel } : colours.objects[model.colour(object)];
    const before = event.preempted === null ? undefined : laneX(event.preempted);
    if (before !== undefined && before !== x && row >= 5) {
      canvas.strokeStyle = colours.bad;
      canvas.lineWidth = 1.5;
      canvas.setLineDash([3, 3]);
      canvas.beginPath();
      canvas.moveTo(before, y - row / 2);
      canvas.lineTo(x, y - row / 2);
      canvas.lineTo(x, y);
      canvas.stroke();
      canvas.setLineDash([]);
      canvas.beginPath();
      canvas.moveTo(before, y - row / 2 - 4);
      canvas.lineTo(before, y - row / 2 + 4);
      canvas.stroke();
    }
    canvas.globalAlpha = isDim(index) ? 0.22 : 1;
    if (row < 5 && !special) {
      canvas.fillStyle = colour.fill;
      canvas.fillRect(x - Math.min(4, laneWidth / 3), y - Math.max(1, row) / 2, Math.min(8, laneWidth / 1.5), Math.max(1, row * 0.8));
    } else {
      const r = special ? Math.max(radius, 2.5) : radius;
      markPath(canvas, event, x, y, r);
      canvas.fillStyle = event.matters ? colour.fill : colours.panel;
      canvas.fill();
      canvas.lineWidth = event.switch === "preemption" ? 2 : 1.5;
      canvas.strokeStyle = event.switch === "preemption" || event.kind !== "step" ? colours.ink : colour.fill;
      canvas.stroke();
      if (row >= READABLE && radius >= 5 && object !== undefined) {
        canvas.fillStyle = event.matters ? colour.ink : colours.ink;
        canvas.fillText(model.badge(object), x, y + 0.5);
      }
    }
    if (index === scene.selected) {
      canvas.globalAlpha = 1;
      canvas.strokeStyle = colours.accent;
      canvas.lineWidth = 2.5;
      canvas.beginPath();
      canvas.arc(x, y, Math.max(radius * 1.4, 4) + 3, 0, 2 * Math.PI);
      canvas.stroke();
    }
    canvas.globalAlpha = 1;
  }
}

/// What the shapes mean, of those that this story has.
function timelineLegend(model) {
  const has = (wanted) => model.events.some(wanted);
  const item = (there, shape, text) => there && h("li", {}, s("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, shape), text);
  return h("ul", { class: "legend", "aria-label": "Shapes of the timeline" },
    item(true, s("circle", { cx: 10, cy: 10, r: 6, class: "full" }), "step that matters"),
    item(has((e) => !e.matters), s("circle", { cx: 10, cy: 10, r: 6, class: "hollow" }), "other step"),
    item(has((e) => e.switch === "preemption"), s("path", { d: "M10 1 L19 10 L10 19 L1 10 Z", class: "full" }), "step after a preemption"),
    item(has((e) => e.kind === "access"), s("rect", { x: 3, y: 3, width: 14, height: 14, class: "full" }), "access that races"),
    item(has((e) => e.kind === "wait"), s("path", { d: "M7 2 H13 L18 7 V13 L13 18 H7 L2 13 V7 Z", class: "full" }), "waits for ever"),
    item(model.holds.length > 0, s("rect", { x: 5, y: 1, width: 10, height: 18, rx: 4, class: "band" }), "lock held"),
    item(model.holds.some((hold) => hold.shared), s("rect", { x: 5, y: 1, width: 10, height: 18, rx: 4, class: "band shared" }), "lock shared"),
    item(has((e) => e.after.length > 0), s("path", { d: "M1 5 C10 5 8 14 15 14 M12 10 L18 14 L12 17", class: "arrow" }), "happens before"));
}
