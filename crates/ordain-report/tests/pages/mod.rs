//! Runs and stories that the tests of reports show.

use ordain_report::{
    Branch, Estimate, Frame, Hold, Kind, Level, Note, Object, Place, Race, RaceAccess, Run, Sample, Shrunk, Size, Step,
    Story, Switch, Thread, Verdict, Waiter, Waiting, Workers,
};

/// What someone who wants to break a report would call a thread.
pub(crate) const HOSTILE: &str = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"><!-- \u{202e}evil\u{1b}[31m\u{0}";

/// A place with the text of its line.
pub(crate) fn place(file: &str, line: u32, text: &str) -> Option<Place> {
    Some(Place { file: file.to_owned(), line, column: 5, text: Some(text.to_owned()) })
}

/// A thread.
pub(crate) fn thread(name: &str, given: Option<&str>, doing: Option<&str>, frames: Vec<Frame>) -> Thread {
    Thread {
        name: name.to_owned(),
        given: given.map(str::to_owned),
        culprit: false,
        doing: doing.map(str::to_owned),
        frames,
    }
}

fn frame(function: &str, place: Option<Place>) -> Frame {
    Frame { function: Some(function.to_owned()), place, module: "bank".to_owned(), offset: 0x11e4 }
}

fn object(name: &str, kind: &str) -> Object {
    Object { name: name.to_owned(), kind: kind.to_owned() }
}

/// A step that matters.
fn step(number: usize, thread: usize, text: &str, objects: &[usize], place: Option<Place>) -> Step {
    Step {
        number,
        thread,
        verb: text.split(' ').next().unwrap_or_default().to_owned(),
        text: text.to_owned(),
        objects: objects.to_vec(),
        place,
        matters: true,
        ..Step::default()
    }
}

/// A story in which nothing happens yet.
fn empty(kind: Kind, headline: &str) -> Story {
    Story {
        kind,
        headline: headline.to_owned(),
        details: Vec::new(),
        program: "./bank --accounts 2".to_owned(),
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
        size: Size { preemptions: 1, steps: 12, switches: 4 },
        shrunk: None,
        schedule: Some("/home/user/bank/.ordain/finding-1.schedule".to_owned()),
    }
}

const BANK: &str = "/home/user/bank/src/bank.c";

/// Two transfers take two locks in opposite order.
pub(crate) fn deadlock() -> Story {
    let spawn = |number, other| Step {
        other: Some(other),
        text: format!("spawn main.{other}"),
        ..step(number, 0, "spawn", &[], place(BANK, 41, "    pthread_create(&t[i], NULL, transfer, &jobs[i]);"))
    };
    let first = || place(BANK, 19, "    pthread_mutex_lock(&job->from->lock);");
    let second = || place(BANK, 20, "    pthread_mutex_lock(&job->to->lock);");
    let log = |number, thread| Step {
        matters: false,
        ..step(number, thread, "lock log", &[2], place(BANK, 12, "    pthread_mutex_lock(&log);"))
    };
    let unlog = |number, thread| Step {
        matters: false,
        ..step(number, thread, "unlock log", &[2], place(BANK, 14, "    pthread_mutex_unlock(&log);"))
    };
    let steps = vec![
        spawn(0, 1),
        spawn(1, 2),
        log(2, 0),
        unlog(3, 0),
        Step { switch: Switch::Free, after: vec![0], matters: false, ..step(4, 1, "start", &[], None) },
        Step { after: vec![3], ..log(5, 1) },
        unlog(6, 1),
        step(7, 1, "lock alice.lock", &[0], first()),
        Step { switch: Switch::Preemption, after: vec![1], matters: false, ..step(8, 2, "start", &[], None) },
        Step { after: vec![6], ..log(9, 2) },
        unlog(10, 2),
        step(11, 2, "lock bob.lock", &[1], first()),
    ];
    let stack = |line, text: &str, function: &str| {
        vec![
            frame("pthread_mutex_lock", None),
            frame(function, place(BANK, line, text)),
            Frame { function: None, place: None, module: "libc.so.6".to_owned(), offset: 0x8_9134 },
        ]
    };
    Story {
        details: vec![
            "main.1 holds alice.lock and waits for bob.lock.".to_owned(),
            "main.2 holds bob.lock and waits for alice.lock.".to_owned(),
        ],
        threads: vec![
            thread("main", None, Some("join main.1"), stack(44, "    pthread_join(t[i], NULL);", "main")),
            thread(
                "main.1",
                Some("payer"),
                Some("lock bob.lock"),
                stack(20, "    pthread_mutex_lock(&job->to->lock);", "transfer"),
            ),
            thread(
                "main.2",
                Some("refund"),
                Some("lock alice.lock"),
                stack(20, "    pthread_mutex_lock(&job->to->lock);", "transfer"),
            ),
        ],
        objects: vec![object("alice.lock", "mutex"), object("bob.lock", "mutex"), object("log", "mutex")],
        length: steps.len(),
        steps,
        holds: vec![
            Hold { object: 2, thread: 0, from: 2, to: Some(3), shared: false },
            Hold { object: 2, thread: 1, from: 5, to: Some(6), shared: false },
            Hold { object: 0, thread: 1, from: 7, to: None, shared: false },
            Hold { object: 2, thread: 2, from: 9, to: Some(10), shared: false },
            Hold { object: 1, thread: 2, from: 11, to: None, shared: false },
        ],
        waiting: Some(Waiting {
            waiters: vec![
                Waiter {
                    thread: 0,
                    doing: "join main.1".to_owned(),
                    object: None,
                    for_threads: vec![1],
                    place: place(BANK, 44, "    pthread_join(t[i], NULL);"),
                },
                Waiter {
                    thread: 1,
                    doing: "lock bob.lock".to_owned(),
                    object: Some(1),
                    for_threads: vec![2],
                    place: second(),
                },
                Waiter {
                    thread: 2,
                    doing: "lock alice.lock".to_owned(),
                    object: Some(0),
                    for_threads: vec![1],
                    place: second(),
                },
            ],
            cycle: vec![1, 2],
        }),
        shrunk: Some(Shrunk {
            from: Size { preemptions: 7, steps: 31, switches: 15 },
            executions: 96,
            fewest: true,
            stopped: false,
        }),
        ..empty(Kind::Deadlock, "main.1 and main.2 wait for each other's locks")
    }
}

/// So many threads around a table, each with one fork.
pub(crate) fn philosophers(count: usize) -> Story {
    let fork = |k: usize| format!("fork[{}]", k % count);
    Story {
        threads: (0..count).map(|k| thread(&format!("main.{k}"), None, Some("lock"), Vec::new())).collect(),
        objects: (0..count).map(|k| object(&fork(k), "mutex")).collect(),
        steps: (0..count).map(|k| step(k, k, &format!("lock {}", fork(k)), &[k], None)).collect(),
        length: count,
        holds: (0..count).map(|k| Hold { object: k, thread: k, from: k, to: None, shared: false }).collect(),
        waiting: Some(Waiting {
            waiters: (0..count)
                .map(|k| Waiter {
                    thread: k,
                    doing: format!("lock {}", fork(k + 1)),
                    object: Some((k + 1) % count),
                    for_threads: vec![(k + 1) % count],
                    place: None,
                })
                .collect(),
            cycle: (0..count).collect(),
        }),
        ..empty(Kind::Deadlock, "Each waits for the fork of the next")
    }
}

/// A counter that is not protected.
pub(crate) fn race() -> Story {
    let file = "src/counter.rs";
    let steps = vec![
        Step { other: Some(1), ..step(0, 0, "spawn main.1", &[], place(file, 9, "let t = thread::spawn(move || {")) },
        step(1, 0, "lock stats", &[1], place(file, 14, "stats.lock().unwrap().hits += 1;")),
        step(2, 0, "unlock stats", &[1], place(file, 14, "stats.lock().unwrap().hits += 1;")),
        Step { switch: Switch::Preemption, after: vec![0], ..step(3, 1, "start", &[], None) },
    ];
    let access = |thread, write, line, text, after| RaceAccess { thread, write, place: place(file, line, text), after };
    Story {
        threads: vec![thread("main", None, Some("join main.1"), Vec::new()), thread("main.1", None, None, Vec::new())],
        objects: vec![object("counter", "cell"), object("stats", "mutex")],
        length: steps.len(),
        steps,
        holds: vec![Hold { object: 1, thread: 0, from: 1, to: Some(2), shared: false }],
        race: Some(Race {
            object: 0,
            accesses: [
                access(0, true, 16, "    counter.set(counter.get() + 1);", 3),
                access(1, false, 10, "    while counter.get() < 3 {", 4),
            ],
        }),
        ..empty(Kind::DataRace, "main and main.1 access counter, and nothing orders the accesses")
    }
}

/// What is written depends on who comes first.
pub(crate) fn output_difference() -> Story {
    Story {
        threads: vec![thread("main", None, None, Vec::new())],
        steps: vec![step(0, 0, "write stdout", &[0], None)],
        objects: vec![object("stdout", "descriptor")],
        length: 1,
        outputs: ["opened\nbalance 20\nclosed\n".to_owned(), "warning\n".to_owned()],
        usual_outputs: Some(["opened\nbalance 35\nclosed\nbye\n".to_owned(), "warning\n".to_owned()]),
        schedule: None,
        ..empty(Kind::Output, "What the program writes depends on the schedule")
    }
}

/// Whatever can be text is an attack, and whatever can be a reference points nowhere.
pub(crate) fn hostile() -> Story {
    let mut story = deadlock();
    for text in [&mut story.headline, &mut story.program] {
        *text = HOSTILE.to_owned();
    }
    story.details = vec![HOSTILE.to_owned()];
    story.outputs = [HOSTILE.to_owned(), HOSTILE.to_owned()];
    story.schedule = Some(format!("-rf '$(reboot)' {HOSTILE}"));
    for thread in &mut story.threads {
        thread.name = HOSTILE.to_owned();
        thread.doing = Some(HOSTILE.to_owned());
        for frame in &mut thread.frames {
            frame.function = Some(HOSTILE.to_owned());
            frame.module = HOSTILE.to_owned();
        }
    }
    for object in &mut story.objects {
        object.name = HOSTILE.to_owned();
        object.kind = HOSTILE.to_owned();
    }
    for step in &mut story.steps {
        step.text = HOSTILE.to_owned();
        step.outcome = Some(HOSTILE.to_owned());
        step.place =
            Some(Place { file: HOSTILE.to_owned(), line: u32::MAX, column: 1, text: Some(HOSTILE.to_owned()) });
    }
    if let Some(step) = story.steps.last_mut() {
        step.thread = usize::MAX;
        step.objects = vec![usize::MAX];
        step.other = Some(77);
        step.after = vec![usize::MAX, 3];
    }
    story.holds.push(Hold { object: 99, thread: 99, from: 99, to: Some(usize::MAX), shared: true });
    if let Some(waiting) = &mut story.waiting {
        waiting.cycle.push(1_000);
        waiting.waiters[0].object = Some(500);
        waiting.waiters[0].for_threads = vec![500];
    }
    story
}

/// Many steps of eight threads around six locks, of which few matter.
pub(crate) fn long(steps: usize) -> Story {
    let names: Vec<Thread> = (0..8)
        .map(|k| thread(&if k == 0 { "main".to_owned() } else { format!("main.{k}") }, None, None, Vec::new()))
        .collect();
    let mut story = Story {
        objects: (0..6).map(|k| object(&format!("shard[{k}].lock"), "mutex")).collect(),
        threads: names,
        length: steps,
        ..empty(Kind::Assertion, "assertion `total == 100` failed")
    };
    let line = |taken: bool| {
        place(
            "src/store.rs",
            if taken { 30 } else { 38 },
            if taken { "let shard = self.lock();" } else { "drop(shard);" },
        )
    };
    let owner = |turn: usize| (turn * 5 + turn / 7) % 8;
    for number in 0..steps {
        let (turn, taken) = (number / 2, number % 2 == 0);
        let (who, lock) = (owner(turn), (turn * 3 + turn / 11) % 6);
        story.steps.push(Step {
            switch: match (taken, turn % 9) {
                (true, 0) if number > 0 => Switch::Preemption,
                (true, _) if number > 0 => Switch::Free,
                _ => Switch::None,
            },
            after: if taken && turn >= 11 && who != owner(turn - 11) { vec![(turn - 11) * 2 + 1] } else { Vec::new() },
            matters: number % 100 < 4 || number + 10 > steps,
            ..step(
                number,
                who,
                &format!("{} shard[{lock}].lock", if taken { "lock" } else { "unlock" }),
                &[lock],
                line(taken),
            )
        });
        if taken {
            let to = (number + 1 < steps).then_some(number + 1);
            story.holds.push(Hold { object: lock, thread: who, from: number, to, shared: turn % 5 == 0 });
        }
    }
    if let Some(thread) = story.threads.last_mut() {
        thread.culprit = true;
        thread.frames = vec![frame("store::check", place("src/store.rs", 61, "assert_eq!(total, 100);"))];
    }
    story
}

fn estimate(log10: f64, spread: f64) -> Option<Estimate> {
    Some(Estimate { log10, low: log10 - spread, high: log10 + spread, done: 1000 })
}

fn branch(taken: &str, explored: &[&str], left: &[&str]) -> Branch {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Branch { taken: taken.to_owned(), explored: owned(explored), left: owned(left) }
}

/// A run that found these things.
pub(crate) fn run(findings: Vec<Story>) -> Run {
    let found = !findings.is_empty();
    Run {
        version: Run::VERSION,
        program: "./bank --accounts 2".to_owned(),
        ordain: "0.1.0".to_owned(),
        began: 1_750_000_000,
        verdict: if found { Verdict::Finding } else { Verdict::NoFinding },
        meaning: if found {
            "Some schedule of the program ends badly.".to_owned()
        } else {
            "The time was over before every class of schedules had been explored, and nothing was found.".to_owned()
        },
        notes: vec![
            Note::warning("the program asks for the time of day, which no schedule decides"),
            "At level sync, data races and hand-made synchronisation are not seen.".into(),
        ],
        level: Level::Sync,
        mode: Some("snapshot".to_owned()),
        strategy: "optimal".to_owned(),
        executions: 48_211,
        blocked: 12,
        steps: 2_340_112,
        threads: 3,
        depth: 61,
        exhausted: false,
        interrupted: false,
        sight: ordain_report::Sight::Whole,
        unmet: None,
        estimate: estimate(5.875, 0.5),
        wall_seconds: 10.5,
        cpu_seconds: 19.25,
        workers: Some(Workers { count: 2, utilisation: 0.97, fragments: 153, released: 1 }),
        progress: (0..40_u64)
            .map(|k| Sample {
                seconds: k as f64 / 4.0,
                executions: k * k * 30 + 11,
                findings: usize::from(found && k > 12),
                estimate: (k > 2).then(|| estimate(6.25 - k as f64 / 128.0, 1.75 - k as f64 / 32.0)).flatten(),
            })
            .collect(),
        path: vec![
            branch("main spawn main.1", &[], &[]),
            branch("main spawn main.2", &[], &[]),
            branch("main.1 lock alice.lock", &["main.2 lock bob.lock"], &[]),
            branch("main.1 lock bob.lock", &["main.2 lock alice.lock"], &["main.2 try-lock bob.lock"]),
            branch("main.1 unlock bob.lock", &[], &[]),
            branch("main.2 lock bob.lock", &[], &["main.1 unlock alice.lock", "main join main.1"]),
        ],
        findings,
    }
}
