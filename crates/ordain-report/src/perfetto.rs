//! A finding as a trace for the Perfetto UI and `chrome://tracing`, in the JSON format of Chrome traces.
//!
//! A step takes one microsecond, at the time of its number. The first process has the threads as tracks, the second one
//! the locks, each with who holds it. Arrows lead from what lets a thread go on to where it goes on.

use crate::plain;
use crate::story::{Hold, Step, Story, Switch};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The process whose tracks are threads.
const THREADS: u32 = 1;
/// The process whose tracks are locks.
const LOCKS: u32 = 2;
/// Tracks are numbered from 1: some readers take 0 for the idle thread.
const FIRST_TRACK: usize = 1;
/// Beyond this, numbers are not exact in JSON readers; steps of real executions are far below.
const LAST_MOMENT: u64 = 1 << 52;

/// The story as a trace.
pub fn render(story: &Story) -> String {
    let end = end(story);
    let mut events = Vec::new();
    let mut tracks: BTreeMap<(u32, usize), String> = BTreeMap::new();
    steps(story, &mut events, &mut tracks);
    gaps(story, &mut events);
    preemptions(story, &mut events);
    flows(story, &mut events);
    waits(story, end, &mut events, &mut tracks);
    endings(story, end, &mut events, &mut tracks);
    holds(story, end, &mut events, &mut tracks);
    // Whoever draws slices inside each other takes the outer one first.
    events.sort_by_key(|event| (event.at, std::cmp::Reverse(event.length())));
    let events = metadata(story, &tracks).into_iter().chain(events.into_iter().map(Event::into_value));
    let trace = json!({
        "traceEvents": events.collect::<Vec<_>>(),
        "displayTimeUnit": "ns",
        "otherData": {
            "tool": "Ordain",
            "program": story.program,
            "kind": story.kind.name(),
            "headline": story.headline,
            "level": story.level,
            "schedule": story.schedule,
            "time": "one microsecond is one step",
        },
    });
    format!("{trace}\n")
}

/// Something in the trace. Times are in half microseconds, so that arrows can begin in the middle of a step.
struct Event {
    process: u32,
    track: usize,
    at: u64,
    shape: Shape,
    name: String,
    category: String,
    args: Map<String, Value>,
}

enum Shape {
    Slice {
        length: u64,
    },
    /// On its track, or (`true`) across its process.
    Instant {
        wide: bool,
    },
    Arrow {
        id: usize,
        ends: bool,
    },
}

impl Event {
    fn length(&self) -> u64 {
        match self.shape {
            Shape::Slice { length } => length,
            _ => 0,
        }
    }

    fn into_value(self) -> Value {
        let mut value = json!({
            "pid": self.process, "tid": self.track, "ts": time(self.at), "name": self.name, "cat": self.category,
        });
        match self.shape {
            Shape::Slice { length } => {
                value["ph"] = json!("X");
                value["dur"] = time(length);
            }
            Shape::Instant { wide } => {
                value["ph"] = json!("i");
                value["s"] = json!(if wide { "p" } else { "t" });
            }
            Shape::Arrow { id, ends } => {
                value["ph"] = json!(if ends { "f" } else { "s" });
                value["id"] = json!(id);
                if ends {
                    // It ends in the slice that it is in, not in the next one.
                    value["bp"] = json!("e");
                }
            }
        }
        if !self.args.is_empty() {
            value["args"] = Value::Object(self.args);
        }
        value
    }
}

/// Half microseconds as microseconds.
fn time(halves: u64) -> Value {
    if halves.is_multiple_of(2) { json!(halves / 2) } else { json!(halves as f64 / 2.0) }
}

/// The moment of a step, in half microseconds.
fn moment(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX).min(LAST_MOMENT / 2).saturating_mul(2)
}

/// The moment behind the last step.
fn end(story: &Story) -> u64 {
    let last = story.steps.iter().map(|step| moment(step.number) + 2).max().unwrap_or(0);
    // A record may claim any length; what is shown ends with what it holds.
    last.max(if story.steps.is_empty() { moment(story.length) } else { 0 })
}

/// The track of a thread; readers keep its number in 32 bits.
fn track(thread: usize) -> usize {
    thread.min(1 << 30) + FIRST_TRACK
}

fn steps(story: &Story, events: &mut Vec<Event>, tracks: &mut BTreeMap<(u32, usize), String>) {
    for (index, _) in story.threads.iter().enumerate() {
        tracks.insert((THREADS, track(index)), plain::thread(story, index));
    }
    for step in &story.steps {
        tracks.entry((THREADS, track(step.thread))).or_insert_with(|| plain::thread(story, step.thread));
        events.push(Event {
            process: THREADS,
            track: track(step.thread),
            at: moment(step.number),
            shape: Shape::Slice { length: 2 },
            name: step.text.clone(),
            category: step.verb.clone(),
            args: step_args(story, step),
        });
    }
}

fn step_args(story: &Story, step: &Step) -> Map<String, Value> {
    let mut args = Map::new();
    args.insert("step".into(), json!(step.number));
    if !step.objects.is_empty() {
        let objects: Vec<String> = step.objects.iter().map(|&object| plain::object(story, object)).collect();
        args.insert("object".into(), json!(objects.join(", ")));
    }
    if let Some(other) = step.other {
        args.insert("other thread".into(), json!(plain::thread(story, other)));
    }
    if let Some(place) = &step.place {
        args.insert("place".into(), json!(place.to_string()));
        if let Some(text) = &place.text {
            args.insert("source".into(), json!(text.trim()));
        }
    }
    if let Some(outcome) = &step.outcome {
        args.insert("outcome".into(), json!(outcome));
    }
    let switch = match step.switch {
        Switch::None => None,
        Switch::Free => Some("the thread before could not go on"),
        Switch::Preemption => Some("preemption: the thread before could have gone on"),
    };
    if let Some(switch) = switch {
        args.insert("switch".into(), json!(switch));
    }
    args.insert("matters".into(), json!(step.matters));
    args
}

/// Where steps are left out, so that a gap is not taken for waiting.
fn gaps(story: &Story, events: &mut Vec<Event>) {
    let first = story.steps.first().map(|step| step.thread).unwrap_or(0);
    let mut next = 0;
    for step in &story.steps {
        if step.number > next {
            events.push(Event {
                process: THREADS,
                track: track(first),
                at: moment(next),
                shape: Shape::Instant { wide: true },
                name: format!("{} steps are not shown", step.number - next),
                category: "gap".into(),
                args: Map::new(),
            });
        }
        next = step.number.saturating_add(1);
    }
}

/// On the track of the thread that could have gone on.
fn preemptions(story: &Story, events: &mut Vec<Event>) {
    for pair in story.steps.windows(2) {
        let [before, step] = pair else { continue };
        if step.switch == Switch::Preemption {
            events.push(Event {
                process: THREADS,
                track: track(before.thread),
                at: moment(step.number),
                shape: Shape::Instant { wide: false },
                name: format!("preempted by {}", plain::thread(story, step.thread)),
                category: "preemption".into(),
                args: Map::new(),
            });
        }
    }
}

/// Arrows from what lets a thread go on to where it goes on.
fn flows(story: &Story, events: &mut Vec<Event>) {
    let by_number: BTreeMap<usize, &Step> = story.steps.iter().map(|step| (step.number, step)).collect();
    let mut edges: BTreeSet<(usize, usize, &'static str)> = BTreeSet::new();
    let mut begun = BTreeSet::new();
    for step in by_number.values() {
        for before in step.after.iter().filter_map(|number| by_number.get(number)) {
            if let Some(what) = hands_over(before, step).filter(|what| *what != "spawn") {
                edges.insert((before.number, step.number, what));
            }
        }
        // Birth leads to the first step only, whether or not that says so.
        if begun.insert(step.thread) {
            let mut before = by_number.range(..step.number).rev().map(|(_, before)| before);
            let birth = before.find(|before| hands_over(before, step) == Some("spawn"));
            edges.extend(birth.map(|before| (before.number, step.number, "spawn")));
        }
    }
    let edges = edges.into_iter().filter(|(from, to, _)| from < to && moment(*from) < moment(*to));
    for (id, (from, to, what)) in edges.enumerate() {
        for (number, ends) in [(from, false), (to, true)] {
            let Some(step) = by_number.get(&number) else { continue };
            events.push(Event {
                process: THREADS,
                track: track(step.thread),
                at: moment(number) + 1,
                shape: Shape::Arrow { id: id + 1, ends },
                name: what.into(),
                category: "happens-before".into(),
                args: Map::new(),
            });
        }
    }
}

/// Whether the first step lets the second one happen, and how that is called.
fn hands_over(before: &Step, step: &Step) -> Option<&'static str> {
    if before.thread == step.thread {
        return None;
    }
    let (first, second) = (before.verb.as_str(), step.verb.as_str());
    match (first, second) {
        ("spawn", _) if before.other == Some(step.thread) => return Some("spawn"),
        ("exit", "join" | "is-finished") if step.other.is_none_or(|other| other == before.thread) => {
            return Some("join");
        }
        ("unpark", "park") if before.other == Some(step.thread) => return Some("unpark"),
        _ => {}
    }
    // Who got nothing was handed nothing.
    let in_vain = ["failed", "timed out", "spurious wake-up", "would deadlock"];
    let failed = step.outcome.as_deref().is_some_and(|outcome| in_vain.contains(&outcome));
    if failed || !before.objects.iter().any(|object| step.objects.contains(object)) {
        return None;
    }
    let is_release = first.ends_with("unlock") || first == "wait";
    match (first, second) {
        (_, "futex-wait") => None,
        _ if is_release && second.ends_with("lock") && !second.ends_with("unlock") => Some("hand over"),
        ("notify-one" | "notify-all" | "requeue" | "arrive", "woken") => Some("wake"),
        ("post", second) if second.ends_with("acquire") => Some("post"),
        ("send" | "try-send" | "timed-send", "receive" | "try-receive" | "timed-receive" | "receive-ready") => {
            Some("send")
        }
        ("receive" | "try-receive" | "timed-receive", "send-taken") => Some("receive"),
        ("drop-sender", "receive" | "timed-receive") => Some("disconnect"),
        ("once-end", "once-begin" | "once-check") => Some("initialised"),
        _ => None,
    }
}

/// Threads that wait at the end, from their last step on.
fn waits(story: &Story, end: u64, events: &mut Vec<Event>, tracks: &mut BTreeMap<(u32, usize), String>) {
    let Some(waiting) = &story.waiting else { return };
    let mut told = BTreeSet::new();
    for waiter in &waiting.waiters {
        if !told.insert(waiter.thread) {
            continue;
        }
        tracks.entry((THREADS, track(waiter.thread))).or_insert_with(|| plain::thread(story, waiter.thread));
        let own = story.steps.iter().filter(|step| step.thread == waiter.thread);
        let birth = story.steps.iter().filter(|step| step.verb == "spawn" && step.other == Some(waiter.thread));
        let from = own.chain(birth).map(|step| moment(step.number) + 2).max().unwrap_or(0);
        let mut args = Map::new();
        args.insert("finished".into(), json!(false));
        args.insert("in the cycle".into(), json!(waiting.cycle.contains(&waiter.thread)));
        if let Some(place) = &waiter.place {
            args.insert("place".into(), json!(place.to_string()));
        }
        events.push(Event {
            process: THREADS,
            track: track(waiter.thread),
            at: from,
            shape: Shape::Slice { length: end + 2 - from },
            name: plain::waits(story, waiter),
            category: "waiting".into(),
            args,
        });
    }
}

/// Who holds which lock. Holders at the same time, such as readers, get tracks of their own.
fn holds(story: &Story, end: u64, events: &mut Vec<Event>, tracks: &mut BTreeMap<(u32, usize), String>) {
    let mut by_object: BTreeMap<usize, Vec<&Hold>> = BTreeMap::new();
    for hold in &story.holds {
        by_object.entry(hold.object).or_default().push(hold);
    }
    // Numbers of tracks are not used twice, because some readers do not tell processes apart by them.
    let mut next_track = tracks.keys().map(|(_, track)| track + 1).max().unwrap_or(FIRST_TRACK);
    for (object, mut holds) in by_object {
        holds.sort_by_key(|hold| hold.from);
        // Where each track of this lock ends so far.
        let mut lanes: Vec<u64> = Vec::new();
        for hold in holds {
            let from = moment(hold.from).min(end);
            let to = hold.to.map_or(end + 2, |to| moment(to).saturating_add(2)).clamp(from + 2, end + 2);
            let lane = lanes.iter().position(|lane| *lane <= from).unwrap_or_else(|| {
                lanes.push(0);
                lanes.len() - 1
            });
            lanes[lane] = to;
            let mut args = Map::new();
            args.insert("thread".into(), json!(plain::thread(story, hold.thread)));
            args.insert("shared".into(), json!(hold.shared));
            args.insert("held at the end".into(), json!(hold.to.is_none()));
            let verb = if hold.shared { "shared with" } else { "held by" };
            events.push(Event {
                process: LOCKS,
                track: next_track + lane,
                at: from,
                shape: Shape::Slice { length: to - from },
                name: format!("{verb} {}", plain::thread(story, hold.thread)),
                category: "lock".into(),
                args,
            });
        }
        for lane in 0..lanes.len() {
            let more = if lane == 0 { String::new() } else { format!(" ({})", lane + 1) };
            tracks.insert((LOCKS, next_track + lane), format!("{}{more}", plain::object(story, object)));
        }
        next_track += lanes.len();
    }
}

/// The accesses of a race, and the finding at the end, on the track of the thread that ended the execution.
fn endings(story: &Story, end: u64, events: &mut Vec<Event>, tracks: &mut BTreeMap<(u32, usize), String>) {
    let mut mark = |thread: usize, at: u64, wide: bool, name: String, category: &str, place: Option<String>| {
        tracks.entry((THREADS, track(thread))).or_insert_with(|| plain::thread(story, thread));
        let args = place.map(|place| ("place".to_owned(), json!(place))).into_iter().collect();
        let shape = Shape::Instant { wide };
        events.push(Event { process: THREADS, track: track(thread), at, shape, name, category: category.into(), args });
    };
    if let Some(race) = &story.race {
        for (which, access) in race.accesses.iter().enumerate() {
            let name = plain::access(story, which).unwrap_or_default();
            let place = access.place.as_ref().map(ToString::to_string);
            mark(access.thread, moment(access.after).min(end), false, name, "race", place);
        }
    }
    let culprit = story.threads.iter().position(|thread| thread.culprit);
    let last = || story.steps.last().map_or(0, |step| step.thread);
    let name = format!("{}: {}", story.kind, story.headline);
    mark(culprit.unwrap_or_else(last), end, true, name, "finding", None);
}

/// Names and order of processes and tracks.
fn metadata(story: &Story, tracks: &BTreeMap<(u32, usize), String>) -> Vec<Value> {
    let event = |process: u32, track: usize, name: &str, args: Value| json!({"ph": "M", "pid": process, "tid": track, "ts": 0, "name": name, "args": args});
    let title = format!("{}: {}", story.kind, story.program);
    let mut all = vec![
        event(THREADS, 0, "process_name", json!({"name": title})),
        event(THREADS, 0, "process_sort_index", json!({"sort_index": THREADS})),
    ];
    if tracks.keys().any(|(process, _)| *process == LOCKS) {
        all.push(event(LOCKS, 0, "process_name", json!({"name": "locks"})));
        all.push(event(LOCKS, 0, "process_sort_index", json!({"sort_index": LOCKS})));
    }
    for ((process, track), name) in tracks {
        all.push(event(*process, *track, "thread_name", json!({"name": name})));
        all.push(event(*process, *track, "thread_sort_index", json!({"sort_index": track})));
    }
    all
}
