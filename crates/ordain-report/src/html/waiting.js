// Why no thread can go on: the cycle of threads and locks as a drawing, and all waiters as a table.

const MOST_IN_CYCLE = 12;

/// The nodes of the cycle in order: each thread, and behind it what it waits for.
function cycleNodes(story) {
  const waiters = new Map(listOf(story.waiting.waiters).map((waiter) => [waiter.thread, waiter]));
  return listOf(story.waiting.cycle).flatMap((thread) => {
    const object = waiters.get(thread)?.object;
    const node = { thread, text: threadName(story, thread), waits: true };
    return object === null || object === undefined
      ? [node]
      : [node, { object, text: at(story.objects, object, { name: "?" }).name }];
  });
}

/// Where the line between two boxes leaves the first one.
function edgeOf(box, toward) {
  const [dx, dy] = [toward.x - box.x, toward.y - box.y];
  const scale = Math.min(box.w / 2 / Math.max(Math.abs(dx), 1e-6), box.h / 2 / Math.max(Math.abs(dy), 1e-6));
  const gap = 5 / Math.max(Math.hypot(dx, dy), 1);
  return { x: box.x + dx * (scale + gap), y: box.y + dy * (scale + gap) };
}

/// A line with its name beside it: outside of a circle, inside of two columns, above what joins the columns.
function cycleEdge(from, to, bend, centre, columns) {
  const middle = { x: (from.x + to.x) / 2 + bend, y: (from.y + to.y) / 2 };
  const [a, b] = bend === 0 ? [edgeOf(from, to), edgeOf(to, from)] : [edgeOf(from, middle), edgeOf(to, middle)];
  const label = from.waits ? (to.waits ? "joins" : "waits for") : "held by";
  const half = { x: (a.x + b.x + 2 * middle.x) / 4, y: (a.y + b.y + 2 * middle.y) / 4 };
  const side = Math.sign(Math.round(half.x - centre.x)) * (columns ? -1 : 1);
  const above = columns && side === 0 ? -12 : columns ? 0 : 4 * Math.sign(half.y - centre.y);
  const text = { x: half.x + 10 * side, y: half.y + 4 + above, "text-anchor": ["end", "middle", "start"][side + 1] };
  return s("g", { class: from.waits ? "edge waits" : "edge holds" },
    s("path", { d: `M${a.x} ${a.y} Q${middle.x} ${middle.y} ${b.x} ${b.y}`, "marker-end": "url(#cycle-head)" }),
    s("text", text, label));
}

/// Puts few nodes on a circle; more of them go down one column and up another one.
function placeCircle(nodes, width, height, w, columns) {
  const right = Math.ceil(nodes.length / 2);
  nodes.forEach((node, k) => {
    Object.assign(node, { w, h: 38 });
    if (columns) {
      const place = k < right ? k / (right - 1) : (nodes.length - 1 - k) / (nodes.length - right - 1);
      node.x = k < right ? width - w / 2 - 4 : w / 2 + 4;
      node.y = 26 + place * (height - 52);
    } else {
      const angle = (2 * Math.PI * k) / nodes.length - Math.PI / 2;
      node.x = width / 2 + Math.cos(angle) * (width / 2 - w / 2 - 6);
      node.y = height / 2 + Math.sin(angle) * (height / 2 - 26);
    }
  });
}

/// Threads are boxes with corners, locks have round ends; waiting is dashed, holding is not.
function cycleDrawing(story, model, width) {
  const nodes = cycleNodes(story);
  const columns = nodes.length > 4;
  const w = Math.min(150, width / 2 - (columns ? 42 : 20));
  const height = nodes.length <= 2 ? 200 : columns ? 78 * Math.ceil(nodes.length / 2) - 20 : 240;
  placeCircle(nodes, width, height, w, columns);
  const edges = nodes.map((node, k) => {
    const next = nodes[(k + 1) % nodes.length];
    return next === node ? null : cycleEdge(node, next, nodes.length === 2 ? (k === 0 ? 90 : -90) : 0, { x: width / 2, y: height / 2 }, columns);
  });
  const letters = Math.max(6, Math.floor(w / 8));
  const boxes = nodes.map((node) => {
    const isThread = node.thread !== undefined;
    const name = isThread ? node.text : `${model.badge(node.object)}  ${node.text}`;
    const shape = { x: node.x - w / 2, y: node.y - 19, width: w, height: 38, rx: isThread ? 5 : 19 };
    if (!isThread) shape.class = `o${model.colour(node.object)}`;
    return s("g", { class: isThread ? "thread" : "lock" }, s("title", {}, node.text), s("rect", shape),
      s("text", { x: node.x, y: node.y + 5, "text-anchor": "middle" }, name.length > letters ? `${[...name].slice(0, letters - 1).join("")}…` : name));
  });
  const head = s("marker",
    { id: "cycle-head", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 9, markerHeight: 9, orient: "auto-start-reverse" },
    s("path", { d: "M0 1 L10 5 L0 9 Z" }));
  const told = nodes.map((node) => show(node.text, 100) + (node.waits ? " waits for" : " is held by")).join(" ");
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "cycle", role: "img",
    "aria-label": `Circle: ${told} ${show(nodes[0]?.text, 100)}` }, s("defs", {}, head), edges, boxes);
}

function waitingView(story, model, chip) {
  const box = h("div", { class: "drawing" });
  const length = listOf(story.waiting.cycle).length;
  const redraw = () => {
    if (length === 0 || length > MOST_IN_CYCLE) return;
    const width = Math.max(240, Math.min(480, box.clientWidth || 480));
    box.replaceChildren(cycleDrawing(story, model, width));
  };
  const rows = listOf(story.waiting.waiters).slice(0, 500).map((waiter) => [
    threadName(story, waiter.thread),
    waiter.doing,
    waiter.object === null || waiter.object === undefined ? "–" : chip(waiter.object),
    listOf(waiter.for_threads).map((thread) => threadName(story, thread)).join(", ") || "nobody",
    waiter.place ? h("code", {}, shortPlace(waiter.place)) : "–",
  ]);
  const cycle = length === 0
    ? h("p", { class: "aside" }, "No cycle: these threads wait for something that nobody is left to do.")
    : length > MOST_IN_CYCLE
      ? h("p", { class: "aside" }, `${count(length)} threads wait for each other in a cycle, each for the next.`)
      : null;
  const element = h("section", { class: "waiting", "aria-label": "Who waits for whom" },
    h("h4", {}, "Who waits for whom"), cycle, h("div", { class: "both" }, length > 0 && length <= MOST_IN_CYCLE && box,
    table("Waiting threads", ["Thread", "About to", "Object", "Could be let go by", "Where"], rows)));
  return { element, redraw };
}
