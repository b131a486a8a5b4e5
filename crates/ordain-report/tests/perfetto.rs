//! Traces: read back, and held against what viewers need to draw them.

mod common;

use ordain_report::{Hold, Kind, Object, Place, Step, Story, Switch, Thread, Waiter, Waiting, perfetto};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Track = (u64, u64);

fn number(event: &Value, name: &str) -> f64 {
    event[name].as_f64().unwrap_or_else(|| panic!("{name} in {event}"))
}

fn track(event: &Value) -> Track {
    let of = |name: &str| event[name].as_u64().unwrap_or_else(|| panic!("{name} in {event}"));
    (of("pid"), of("tid"))
}

fn phase(event: &Value) -> &str {
    event["ph"].as_str().unwrap_or_default()
}

/// The events, after they were found to be drawable.
fn events(story: &Story) -> Vec<Value> {
    let text = perfetto::render(story);
    let trace: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let events = trace["traceEvents"].as_array().expect("there are events").clone();
    validate(&events);
    events
}

fn validate(events: &[Value]) {
    let mut slices: BTreeMap<Track, Vec<(f64, f64)>> = BTreeMap::new();
    let mut last: BTreeMap<Track, f64> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let mut used = BTreeSet::new();
    let mut arrows: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for event in events {
        let at = number(event, "ts");
        if phase(event) == "M" {
            if event["name"] == "thread_name" {
                assert!(named.insert(track(event)), "{event} names a track twice");
            }
            continue;
        }
        used.insert(track(event));
        let before = last.insert(track(event), at);
        assert!(before.is_none_or(|before| before <= at), "{event} goes back in time");
        match phase(event) {
            "X" => {
                let length = number(event, "dur");
                assert!(length > 0.0, "{event}");
                slices.entry(track(event)).or_default().push((at, at + length));
            }
            "i" => assert!(["t", "p"].contains(&event["s"].as_str().unwrap_or_default()), "{event}"),
            "s" | "f" => arrows.entry(event["id"].as_u64().expect("arrows have an id")).or_default().push(event),
            other => panic!("{other}: nothing else is written, in particular no B without E"),
        }
    }
    assert!(used.is_subset(&named), "every track has a name");
    let tracks: BTreeSet<u64> = named.iter().map(|(_, track)| *track).collect();
    assert_eq!(tracks.len(), named.len(), "no number is of two tracks");
    for (track, slices) in &slices {
        for (i, one) in slices.iter().enumerate() {
            for other in &slices[i + 1..] {
                let apart = one.1 <= other.0 || other.1 <= one.0;
                let nested = one.0 <= other.0 && other.1 <= one.1 || other.0 <= one.0 && one.1 <= other.1;
                assert!(apart || nested, "{one:?} and {other:?} overlap on {track:?}");
            }
        }
    }
    for (id, ends) in arrows {
        let [start, end] = ends[..] else { panic!("arrow {id} has not two ends") };
        assert_eq!((phase(start), phase(end)), ("s", "f"), "arrow {id}");
        assert_eq!((&start["name"], &start["cat"]), (&end["name"], &end["cat"]));
        assert_eq!(end["bp"], "e");
        assert!(number(start, "ts") < number(end, "ts") && track(start) != track(end), "arrow {id}");
        for event in [start, end] {
            let at = number(event, "ts");
            let inside = |slice: &&(f64, f64)| slice.0 < at && at < slice.1;
            let holders = slices.get(&track(event)).map_or(0, |slices| slices.iter().filter(inside).count());
            assert_eq!(holders, 1, "{event} is inside of one slice");
        }
    }
}

/// Arrows as the steps that they join.
fn arrows(events: &[Value]) -> Vec<(u64, u64, String)> {
    let of = |event: &Value| number(event, "ts").floor() as u64;
    let starts = events.iter().filter(|event| phase(event) == "s");
    let mut all: Vec<_> = starts
        .filter_map(|start| {
            let end = events.iter().find(|event| phase(event) == "f" && event["id"] == start["id"])?;
            Some((of(start), of(end), start["name"].as_str().unwrap_or_default().to_owned()))
        })
        .collect();
    all.sort();
    all
}

/// Slices and instants of a process: name of the track, name, begin and length.
fn shown(events: &[Value], process: u64, ph: &str) -> Vec<String> {
    let name = |event: &Value| {
        let named = |e: &&Value| phase(e) == "M" && e["name"] == "thread_name" && track(e) == track(event);
        events.iter().find(named).map_or("?", |e| e["args"]["name"].as_str().unwrap_or("?")).to_owned()
    };
    let of = events.iter().filter(|event| phase(event) == ph && track(event).0 == process);
    of.map(|e| {
        let length = e.get("dur").map_or_else(String::new, |dur| format!("+{dur}"));
        format!("{}: {} @{}{length}", name(e), e["name"].as_str().unwrap_or("?"), e["ts"])
    })
    .collect()
}

#[test]
fn a_deadlock_shows_steps_locks_and_waits() {
    let events = events(&common::deadlock());
    assert_eq!(
        shown(&events, 1, "X"),
        [
            "main: spawn main.1 @0+1",
            "main: spawn main.2 @1+1",
            "main: waits for main.1 to end @2+3",
            "main.1: lock accounts[0].lock @2+1",
            "main.1: waits to lock accounts[1].lock, held by main.2 @3+2",
            "main.2: lock accounts[1].lock @3+1",
            "main.2: waits to lock accounts[0].lock, held by main.1 @4+1",
        ]
    );
    assert_eq!(
        shown(&events, 2, "X"),
        ["accounts[0].lock: held by main.1 @2+3", "accounts[1].lock: held by main.2 @3+2"]
    );
    assert_eq!(
        shown(&events, 1, "i"),
        [
            "main: preempted by main.1 @2",
            "main.1: preempted by main.2 @3",
            "main.2: deadlock: main.1 and main.2 wait for each other @4",
        ]
    );
    assert_eq!(arrows(&events), [(0, 2, "spawn".to_owned()), (1, 3, "spawn".to_owned())]);
    let lock = events.iter().find(|event| event["cat"] == "lock" && track(event).0 == 1).expect("there is a lock");
    assert_eq!(lock["args"]["object"], "accounts[0].lock");
    assert_eq!(lock["args"]["source"], "pthread_mutex_lock(&from->lock);");
    assert_eq!(lock["args"]["switch"], "preemption: the thread before could have gone on");
}

#[test]
fn arrows_lead_to_where_a_thread_is_let_go_on() {
    assert_eq!(
        arrows(&events(&common::output())),
        [(0, 3, "spawn".to_owned()), (2, 3, "hand over".to_owned())],
        "and none to the lock that timed out"
    );
    let race = events(&common::race());
    assert_eq!(arrows(&race), [(0, 1, "spawn".to_owned()), (2, 3, "join".to_owned())]);
    let marks = shown(&race, 1, "i");
    assert!(marks.contains(&"main.1 (writer): main.1 (writer) writes counter @2".to_owned()), "{marks:?}");
    assert!(marks.contains(&"main: main writes counter @4".to_owned()), "{marks:?}");
}

#[test]
fn every_kind_of_hand_over_has_an_arrow() {
    let pairs = [
        ("unlock", "timed-lock", true),
        ("read-unlock", "write-lock", true),
        ("wait", "lock", true),
        ("notify-all", "woken", true),
        ("post", "try-acquire", true),
        ("send", "receive", true),
        ("arrive", "woken", true),
        ("once-end", "once-check", true),
        ("lock", "unlock", false),
        ("unlock", "read-unlock", false),
        ("load", "store", false),
        ("receive", "send", false),
    ];
    for (first, second, expected) in pairs {
        let mut story = common::output();
        story.steps.truncate(2);
        story.holds.clear();
        let step = |number: usize, thread, verb: &str, after| Step {
            number,
            thread,
            verb: verb.to_owned(),
            text: verb.to_owned(),
            objects: vec![0],
            after,
            ..Step::default()
        };
        story.steps = vec![step(0, 0, first, vec![]), step(1, 1, second, vec![0])];
        assert_eq!(arrows(&events(&story)).len(), usize::from(expected), "{first} {second}");
    }
}

#[test]
fn every_way_to_wait_is_a_sentence() {
    for (doing, expected) in [
        ("woken changed", "main.1: waits to be woken from changed"),
        ("park", "main.1: is parked and waits to be unparked"),
        ("join main", "main.1: waits for main to end"),
        ("lock a", "main.1: waits to lock a, held by main and itself"),
    ] {
        let mut story = common::output();
        let waiter = Waiter { thread: 1, doing: doing.to_owned(), for_threads: vec![0, 1], ..Waiter::default() };
        story.waiting = Some(Waiting { waiters: vec![waiter], cycle: Vec::new() });
        let slices = shown(&events(&story), 1, "X");
        assert!(slices.contains(&format!("{expected} @6+1")), "{slices:?}");
    }
}

#[test]
fn steps_that_are_left_out_leave_a_mark() {
    let mut story = common::deadlock();
    story.steps[3].number = 500;
    story.length = 501;
    let marks = shown(&events(&story), 1, "i");
    assert!(marks.contains(&"main: 497 steps are not shown @3".to_owned()), "{marks:?}");
}

#[test]
fn nothing_known_is_still_a_trace() {
    let all = events(&common::bare(Kind::Crash, "main got SIGSEGV"));
    assert_eq!(shown(&all, 1, "i"), ["thread 0: crash: main got SIGSEGV @0"]);
}

#[test]
fn hostile_stories_are_drawable() {
    events(&common::hostile().findings[0]);
}

/// Numbers that look random and are the same in every run of the test (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// A story of any shape: with gaps, locks that are shared, threads that never move, and references into the void.
fn any_story(seed: u64) -> Story {
    const VERBS: [&str; 14] = [
        "spawn",
        "exit",
        "join",
        "lock",
        "try-lock",
        "unlock",
        "wait",
        "woken",
        "notify-one",
        "post",
        "acquire",
        "send",
        "receive",
        "load",
    ];
    let mut dice = Dice(seed);
    let threads = 1 + dice.below(4);
    let objects = 1 + dice.below(4);
    let mut story = common::bare(Kind::ALL[dice.below(Kind::ALL.len())], "generated");
    story.threads = (0..threads)
        .map(|i| Thread { name: format!("main.{i}"), culprit: dice.one_in(4), ..Thread::default() })
        .collect();
    story.objects = (0..objects).map(|i| Object { name: format!("lock {i}"), kind: "mutex".to_owned() }).collect();
    let mut number = 0;
    for _ in 0..dice.below(25) {
        number += if dice.one_in(9) { 1 + dice.below(50) } else { 0 };
        let verb = VERBS[dice.below(VERBS.len())];
        let after = (0..dice.below(12)).map(|_| dice.below(number + 2)).collect();
        story.steps.push(Step {
            number,
            thread: dice.below(threads + usize::from(number % 9 == 8)),
            verb: verb.to_owned(),
            text: format!("{verb} something"),
            outcome: dice.one_in(5).then(|| "timed out".to_owned()),
            objects: (0..1 + dice.below(2)).map(|_| dice.below(objects + 1)).collect(),
            other: dice.one_in(2).then(|| dice.below(threads + 1)),
            place: dice.one_in(2).then(|| Place { file: "a.c".to_owned(), line: 1, column: 0, text: None }),
            switch: [Switch::None, Switch::Free, Switch::Preemption][dice.below(3)],
            after,
            matters: dice.one_in(2),
        });
        number += 1;
    }
    story.length = number;
    for _ in 0..dice.below(6) {
        let from = dice.below(number + 2);
        let to = (!dice.one_in(3)).then(|| (from + dice.below(9)).saturating_sub(1));
        let shared = dice.one_in(2);
        story.holds.push(Hold { object: dice.below(objects + 1), thread: dice.below(threads + 1), from, to, shared });
    }
    if dice.one_in(2) {
        let waiters = (0..dice.below(5)).map(|_| Waiter {
            thread: dice.below(threads + 1),
            doing: "lock it".to_owned(),
            object: dice.one_in(2).then(|| dice.below(objects + 1)),
            for_threads: vec![dice.below(threads + 1)],
            place: None,
        });
        story.waiting = Some(Waiting { waiters: waiters.collect(), cycle: vec![0, threads] });
    }
    story
}

#[test]
fn stories_of_any_shape_are_drawable() {
    let mut seen = 0;
    for seed in 0..3_000 {
        let story = any_story(seed);
        let all = events(&story);
        let steps = all.iter().filter(|event| phase(event) == "X" && event["args"].get("step").is_some()).count();
        assert_eq!(steps, story.steps.len(), "seed {seed}: every step is a slice");
        let holds =
            all.iter().filter(|event| phase(event) == "X" && event["cat"] == "lock" && track(event).0 == 2).count();
        assert_eq!(holds, story.holds.len(), "seed {seed}: every hold is a slice");
        seen += arrows(&all).len();
    }
    assert!(seen > 500, "the stories have arrows: {seen}");
}
