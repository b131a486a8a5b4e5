// What the timeline shows, without how: events, rows after filtering, lock holds in their lanes.
//
// Events are the steps, the two accesses of a race at their place between the steps, and the waits in which a deadlock
// ends. Rows are the events that pass the filters; a negative row stands for so many steps that are left out.

const COLOURS = 7;

/// A, B, … Z, AA, AB, …: what names an object where there is no room for its name, and besides its colour.
function letters(rank) {
  return (rank >= 26 ? letters(Math.floor(rank / 26) - 1) : "") + String.fromCharCode(65 + (rank % 26));
}

/// The steps, and between and behind them what is no step and belongs into the picture.
function timelineEvents(story) {
  const events = [];
  const byNumber = new Map();
  const accesses = listOf(story.race?.accesses).map((access, k) => ({
    kind: "access", access: k, thread: access.thread, number: access.after, matters: true, after: [], switch: "none",
    text: `${access.write ? "write" : "read"} ${show(at(story.objects, story.race.object, { name: "?" }).name, 200)}`,
    objects: [story.race.object], place: access.place, outcome: "races",
  })).sort((a, b) => a.number - b.number);
  let next = 0;
  for (const step of listOf(story.steps)) {
    while (next < accesses.length && accesses[next].number <= step.number) events.push(accesses[next++]);
    byNumber.set(step.number, events.length);
    events.push({ ...step, kind: "step", objects: listOf(step.objects), after: listOf(step.after) });
  }
  events.push(...accesses.slice(next));
  for (const waiter of listOf(story.waiting?.waiters)) {
    events.push({
      kind: "wait", thread: waiter.thread, number: story.length, matters: true, after: [], switch: "none",
      text: waiter.doing, objects: waiter.object === null || waiter.object === undefined ? [] : [waiter.object],
      place: waiter.place, outcome: "waits for ever", waiter,
    });
  }
  for (const event of events) event.after = event.after.map((number) => byNumber.get(number)).filter((e) => e !== undefined);
  return { events, byNumber };
}

/// Holds by event, each with how many others of its thread it lies in.
function timelineHolds(story, events, byNumber) {
  const numbers = [...byNumber.keys()];
  /// Steps in the middle of a long execution are not there: then the next one that is.
  const eventOf = (number) => {
    if (byNumber.has(number)) return byNumber.get(number);
    let [low, high] = [0, numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low < numbers.length ? byNumber.get(numbers[low]) : events.length - 1;
  };
  const holds = listOf(story.holds)
    .map((hold) => ({ ...hold, start: eventOf(hold.from), end: hold.to === null ? null : eventOf(hold.to) }))
    .sort((a, b) => a.start - b.start);
  const busy = new Map();
  for (const hold of holds) {
    const levels = busy.get(hold.thread) ?? [];
    busy.set(hold.thread, levels);
    let level = levels.findIndex((end) => end <= hold.start);
    if (level < 0) level = levels.length;
    levels[level] = hold.end ?? Infinity;
    hold.level = level;
  }
  return holds;
}

/// Objects in the order of what they have to do with the finding; it gives them letters and colours.
function objectRanks(story, events) {
  const weight = new Float64Array(listOf(story.objects).length);
  for (const event of events) {
    const plus = event.kind === "step" ? (event.matters ? 1000 : 1) : 1e6;
    for (const object of event.objects) if (object < weight.length) weight[object] += plus;
  }
  for (const hold of listOf(story.holds)) if (hold.to === null && hold.object < weight.length) weight[hold.object] += 1e5;
  const order = [...weight.keys()].sort((a, b) => weight[b] - weight[a] || a - b);
  const rank = [];
  order.forEach((object, place) => (rank[object] = place));
  return { order, rank };
}

function timelineModel(story) {
  const { events, byNumber } = timelineEvents(story);
  const { order, rank } = objectRanks(story, events);
  const last = new Map();
  events.forEach((event, index) => {
    event.previous = last.get(event.thread) ?? null;
    last.set(event.thread, index);
    event.preempted = event.switch === "preemption" ? events[index - 1]?.thread ?? null : null;
  });
  const mattering = events.filter((event) => event.matters).length;
  return {
    events,
    holds: timelineHolds(story, events, byNumber),
    order,
    canFocus: mattering > 0 && mattering < events.length,
    badge: (object) => (rank[object] === undefined ? "?" : letters(rank[object])),
    colour: (object) => (rank[object] ?? 0) % COLOURS,
  };
}

/// The rows that pass the filters, for every event the first row at or behind it, and preemptions that gaps hide.
function timelineRows(story, model, focused, threads) {
  const rows = [];
  const rowAt = new Int32Array(model.events.length);
  const preemptions = new Map();
  let [hidden, preempted, number] = [0, 0, -1];
  const gap = () => {
    if (preempted > 0) preemptions.set(rows.length, preempted);
    if (hidden > 0) rows.push(-hidden);
    [hidden, preempted] = [0, 0];
  };
  model.events.forEach((event, index) => {
    if (event.kind === "step") {
      hidden += Math.max(0, event.number - number - 1);
      number = event.number;
    }
    const ofThread = threads.size === 0 || threads.has(event.thread);
    if (ofThread && (!focused || event.matters)) {
      gap();
      rowAt[index] = rows.length;
      rows.push(index);
    } else {
      rowAt[index] = -1;
      if (event.kind === "step" && ofThread) {
        hidden += 1;
        if (event.switch === "preemption") preempted += 1;
      }
    }
  });
  hidden += Math.max(0, Math.min(story.length - number - 1, Number.MAX_SAFE_INTEGER) || 0);
  gap();
  for (let index = rowAt.length - 1, after = rows.length; index >= 0; index -= 1) {
    if (rowAt[index] < 0) rowAt[index] = after;
    else after = rowAt[index];
  }
  return { rows, rowAt, preemptions };
}
