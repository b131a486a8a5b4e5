//! Stories and runs that the tests of all reports are made from.
#![allow(dead_code, unreachable_pub)] // Each test file uses a part of it.

use ordain_report::{
    Branch, Estimate, Excerpt, Frame, Hold, Kind, Level, Object, Place, Race, RaceAccess, Run, Sample, Shrunk, Sight,
    Size, Step, Story, Switch, Thread, Verdict, Waiter, Waiting, Workers,
};

/// Where the sources of the fixtures are.
pub const ROOT: &str = "/home/user/bank";

/// A place in the sources of the fixtures.
pub fn place(line: u32, column: u32, text: &str) -> Place {
    Place { file: format!("{ROOT}/src/transfer.c"), line, column, text: Some(text.to_owned()) }
}

/// A frame at that place.
pub fn frame(function: &str, place: Option<Place>, module: &str, offset: u64) -> Frame {
    Frame { function: Some(function.to_owned()), place, module: module.to_owned(), offset }
}

fn object(name: &str, kind: &str) -> Object {
    Object { name: name.to_owned(), kind: kind.to_owned() }
}

fn step(number: usize, thread: usize, verb: &str, text: &str, objects: &[usize]) -> Step {
    Step {
        number,
        thread,
        verb: verb.to_owned(),
        text: text.to_owned(),
        objects: objects.to_vec(),
        matters: true,
        ..Step::default()
    }
}

/// A finding about which little is known.
pub fn bare(kind: Kind, headline: &str) -> Story {
    Story {
        kind,
        headline: headline.to_owned(),
        details: Vec::new(),
        program: "./transfer 2".to_owned(),
        level: Level::Sync,
        threads: Vec::new(),
        objects: Vec::new(),
        steps: Vec::new(),
        length: 0,
        holds: Vec::new(),
        waiting: None,
        race: None,
        outputs: [String::new(), String::new()],
        usual_outputs: None,
        sources: Vec::new(),
        size: Size::default(),
        shrunk: None,
        schedule: None,
    }
}

/// Two threads that lock two mutexes in opposite orders.
pub fn deadlock() -> Story {
    let lock_to = |line| place(line, 5, "    pthread_mutex_lock(&to->lock);");
    let lock_from = |line| place(line, 5, "    pthread_mutex_lock(&from->lock);");
    let steps = vec![
        Step {
            other: Some(1),
            place: Some(place(30, 5, "    pthread_create(&a, 0, move, &ab);")),
            ..step(0, 0, "spawn", "spawn main.1", &[])
        },
        Step {
            other: Some(2),
            place: Some(place(31, 5, "    pthread_create(&b, 0, move, &ba);")),
            ..step(1, 0, "spawn", "spawn main.2", &[])
        },
        Step {
            after: vec![0],
            switch: Switch::Preemption,
            place: Some(lock_from(12)),
            ..step(2, 1, "lock", "lock accounts[0].lock", &[0])
        },
        Step {
            after: vec![1],
            switch: Switch::Preemption,
            place: Some(lock_from(12)),
            ..step(3, 2, "lock", "lock accounts[1].lock", &[1])
        },
    ];
    let waiter = |thread: usize, object: usize, other: usize, name: &str| Waiter {
        thread,
        doing: format!("lock {name}"),
        object: Some(object),
        for_threads: vec![other],
        place: Some(lock_to(13)),
    };
    let thread = |name: &str, doing: &str, frames: Vec<Frame>| Thread {
        name: name.to_owned(),
        given: None,
        culprit: false,
        doing: Some(doing.to_owned()),
        frames,
    };
    let inside = || {
        vec![
            frame("pthread_mutex_lock", None, "libc.so.6", 0x8_fee4),
            frame("move", Some(lock_to(13)), "transfer", 0x11d3),
        ]
    };
    Story {
        details: vec![
            "main waits for main.1 to end at transfer.c:33".to_owned(),
            "main.1 holds accounts[0].lock and waits to lock accounts[1].lock, held by main.2 at transfer.c:13"
                .to_owned(),
            "main.2 holds accounts[1].lock and waits to lock accounts[0].lock, held by main.1 at transfer.c:13"
                .to_owned(),
            "cycle: main.1 -> main.2 -> main.1".to_owned(),
        ],
        threads: vec![
            thread(
                "main",
                "join main.1",
                vec![frame("main", Some(place(33, 5, "    pthread_join(a, 0);")), "transfer", 0x12a0)],
            ),
            thread("main.1", "lock accounts[1].lock", inside()),
            thread("main.2", "lock accounts[0].lock", inside()),
        ],
        objects: vec![object("accounts[0].lock", "mutex"), object("accounts[1].lock", "mutex")],
        length: steps.len(),
        steps,
        holds: vec![
            Hold { object: 0, thread: 1, from: 2, to: None, shared: false },
            Hold { object: 1, thread: 2, from: 3, to: None, shared: false },
        ],
        waiting: Some(Waiting {
            waiters: vec![
                Waiter {
                    thread: 0,
                    doing: "join main.1".to_owned(),
                    object: None,
                    for_threads: vec![1],
                    place: Some(place(33, 5, "    pthread_join(a, 0);")),
                },
                waiter(1, 1, 2, "accounts[1].lock"),
                waiter(2, 0, 1, "accounts[0].lock"),
            ],
            cycle: vec![1, 2],
        }),
        outputs: ["moving 5 & 7 <euro>\n".to_owned(), String::new()],
        size: Size { preemptions: 2, steps: 4, switches: 2 },
        schedule: Some(".ordain/transfer/finding-1.ordain".to_owned()),
        ..bare(Kind::Deadlock, "main.1 and main.2 wait for each other")
    }
}

/// A counter that two threads of a test write without a lock.
pub fn race() -> Story {
    let at = |line: u32, text: &str| Place {
        file: "src/counter.rs".to_owned(),
        line,
        column: 17,
        text: Some(text.to_owned()),
    };
    let steps = vec![
        Step {
            other: Some(1),
            place: Some(at(8, "let other = thread::spawn(move || {")),
            ..step(0, 0, "spawn", "spawn main.1", &[])
        },
        Step {
            after: vec![0],
            switch: Switch::Preemption,
            place: Some(at(9, "ready.store(true, Relaxed);")),
            ..step(1, 1, "store", "store ready", &[1])
        },
        Step { after: vec![0], place: None, ..step(2, 1, "exit", "exit", &[]) },
        Step {
            other: Some(1),
            after: vec![2],
            switch: Switch::Free,
            place: Some(at(14, "other.join().unwrap();")),
            ..step(3, 0, "join", "join main.1", &[])
        },
    ];
    Story {
        program: "counter::two_writers".to_owned(),
        level: Level::Types,
        threads: vec![
            Thread {
                name: "main".to_owned(),
                culprit: true,
                doing: Some("write counter".to_owned()),
                ..Thread::default()
            },
            Thread { name: "main.1".to_owned(), given: Some("writer".to_owned()), ..Thread::default() },
        ],
        objects: vec![object("counter", "cell"), object("ready", "atomic")],
        length: steps.len(),
        steps,
        race: Some(Race {
            object: 0,
            accesses: [
                RaceAccess { thread: 1, write: true, place: Some(at(10, "unsafe { *counter.get() += 1 };")), after: 2 },
                RaceAccess { thread: 0, write: true, place: Some(at(12, "unsafe { *counter.get() += 1 };")), after: 4 },
            ],
        }),
        size: Size { preemptions: 1, steps: 4, switches: 2 },
        schedule: Some(".ordain/counter/two writers.ordain".to_owned()),
        ..bare(Kind::DataRace, "nothing orders these accesses to counter:")
    }
}

/// A program that writes its lines in another order.
pub fn output() -> Story {
    let steps = vec![
        Step { other: Some(1), ..step(0, 0, "spawn", "spawn main.1", &[]) },
        Step { place: Some(place(20, 0, "    puts(\"main\");")), ..step(1, 0, "lock", "lock stdout", &[0]) },
        Step { place: Some(place(20, 0, "    puts(\"main\");")), ..step(2, 0, "unlock", "unlock stdout", &[0]) },
        Step { after: vec![0, 2], switch: Switch::Free, ..step(3, 1, "lock", "lock stdout", &[0]) },
        step(4, 1, "unlock", "unlock stdout", &[0]),
        Step {
            outcome: Some("timed out".to_owned()),
            ..step(5, 1, "timed-lock", "timed-lock stdout -> timed out", &[0])
        },
    ];
    Story {
        threads: vec![
            Thread { name: "main".to_owned(), ..Thread::default() },
            Thread { name: "main.1".to_owned(), ..Thread::default() },
        ],
        objects: vec![object("stdout", "mutex")],
        length: steps.len(),
        steps,
        holds: vec![
            Hold { object: 0, thread: 0, from: 1, to: Some(2), shared: false },
            Hold { object: 0, thread: 1, from: 3, to: Some(4), shared: false },
        ],
        outputs: ["main\nchild\n".to_owned(), "warned\n".to_owned()],
        usual_outputs: Some(["child\nmain\n".to_owned(), "warned\n".to_owned()]),
        size: Size { preemptions: 0, steps: 6, switches: 1 },
        shrunk: Some(Shrunk {
            from: Size { preemptions: 2, steps: 9, switches: 4 },
            executions: 31,
            fewest: true,
            stopped: false,
        }),
        ..bare(Kind::Output, "what the program writes depends on the schedule")
    }
}

/// A run without findings.
pub fn verified() -> Run {
    Run {
        version: Run::VERSION,
        program: "./transfer 2".to_owned(),
        ordain: "0.1.0".to_owned(),
        began: 1_700_000_000,
        verdict: Verdict::Verified,
        meaning: "verified at level sync: holds if threads share memory only under the calls that Ordain sees"
            .to_owned(),
        notes: vec!["standard input was empty".into()],
        level: Level::Sync,
        mode: Some("snapshot".to_owned()),
        strategy: "optimal".to_owned(),
        executions: 120,
        blocked: 0,
        steps: 2_400,
        threads: 3,
        depth: 20,
        exhausted: true,
        interrupted: false,
        sight: Sight::Whole,
        unmet: None,
        estimate: None,
        wall_seconds: 1.25,
        cpu_seconds: 1.2,
        workers: None,
        progress: vec![Sample { seconds: 1.0, executions: 100, findings: 0, estimate: None }],
        path: Vec::new(),
        findings: Vec::new(),
    }
}

/// A run that a limit ended.
pub fn no_finding() -> Run {
    let estimate = Some(Estimate { log10: 5.0, low: 4.5, high: 5.5, done: 1000 });
    Run {
        program: "./queue".to_owned(),
        verdict: Verdict::NoFinding,
        meaning: "no finding at level sync: the time limit ended the search".to_owned(),
        notes: vec!["about 0.1 % of the classes were run".into()],
        exhausted: false,
        estimate,
        progress: vec![Sample { seconds: 0.5, executions: 60, findings: 0, estimate }],
        path: vec![Branch {
            taken: "main lock queue.lock".to_owned(),
            explored: vec!["main.1 lock queue.lock".to_owned()],
            left: vec!["main.2 lock queue.lock".to_owned()],
        }],
        ..verified()
    }
}

/// A run with those findings.
pub fn found(findings: Vec<Story>) -> Run {
    Run {
        program: findings.first().map_or_else(String::new, |story| story.program.clone()),
        verdict: Verdict::Finding,
        meaning: format!("finding: {}", findings.first().map_or("", |story| story.kind.name())),
        exhausted: false,
        findings,
        ..verified()
    }
}

/// All of them.
pub fn runs() -> Vec<Run> {
    vec![found(vec![deadlock(), output()]), found(vec![race()]), verified(), no_finding()]
}

/// A run in which nothing is empty and everything is known.
pub fn full() -> Run {
    let mut story = deadlock();
    let other = output();
    let threads = &mut story.threads;
    threads[1].given = Some("mover".to_owned());
    story.steps[3].outcome = Some("inherited".to_owned());
    story.race = race().race;
    story.outputs[1] = "warning\n".to_owned();
    story.usual_outputs = other.usual_outputs;
    let lines = ["static void move(void) {", "    pthread_mutex_lock(&from->lock);", ""].map(str::to_owned).to_vec();
    story.sources = vec![Excerpt { file: format!("{ROOT}/src/transfer.c"), line: 11, lines }];
    story.shrunk = other.shrunk;
    let workers = Some(Workers { count: 4, utilisation: 0.9, fragments: 31, released: 1 });
    Run { findings: vec![story], verdict: Verdict::Finding, workers, ..no_finding() }
}

/// Text that breaks careless writers.
pub const HOSTILE: &str = "a]]>b <&\"'> \u{0}\u{1}\u{8}\u{b}\u{1b}[31mred\u{1b}[0m\u{7f}\u{85}\u{fffe}\u{ffff}\u{2028}\t\r\n %41 ../\\ {{ é 日本 🦀";

/// A run in which every text is hostile, and every number that refers to something refers to nothing.
pub fn hostile() -> Run {
    let mut run = full();
    let text = || HOSTILE.to_owned();
    run.program = text();
    run.meaning = text();
    run.notes = vec![text().into(), "".into()];
    run.mode = Some(text());
    run.wall_seconds = f64::NAN;
    run.cpu_seconds = -1.0;
    run.began = u64::MAX;
    let story = &mut run.findings[0];
    story.headline = text();
    story.details = vec![text()];
    story.program = text();
    story.outputs = [text(), text()];
    story.schedule = Some(text());
    story.sources = vec![Excerpt { file: text(), line: u32::MAX, lines: vec![text()] }];
    story.length = usize::MAX;
    let bad = Some(Place { file: text(), line: 0, column: u32::MAX, text: Some(text()) });
    for thread in &mut story.threads {
        (thread.name, thread.given, thread.doing) = (text(), Some(text()), Some(text()));
        for frame in &mut thread.frames {
            (frame.function, frame.module, frame.place, frame.offset) = (Some(text()), text(), bad.clone(), u64::MAX);
        }
    }
    for object in &mut story.objects {
        (object.name, object.kind) = (text(), text());
    }
    for step in &mut story.steps {
        (step.text, step.outcome, step.place) = (text(), Some(text()), bad.clone());
        (step.thread, step.other, step.objects, step.after) =
            (99, Some(98), vec![97, usize::MAX], vec![96, usize::MAX]);
    }
    if let Some(last) = story.steps.last_mut() {
        last.number = usize::MAX;
    }
    for hold in &mut story.holds {
        (hold.object, hold.thread, hold.from, hold.to) = (usize::MAX, usize::MAX, usize::MAX, Some(0));
    }
    if let Some(waiting) = &mut story.waiting {
        waiting.cycle = vec![usize::MAX];
        for waiter in &mut waiting.waiters {
            (waiter.thread, waiter.object, waiter.for_threads) = (usize::MAX, Some(usize::MAX), vec![usize::MAX]);
            (waiter.doing, waiter.place) = (text(), bad.clone());
        }
    }
    if let Some(race) = &mut story.race {
        race.object = usize::MAX;
        for access in &mut race.accesses {
            (access.thread, access.place, access.after) = (usize::MAX, bad.clone(), usize::MAX);
        }
    }
    run
}
