//! What findings tell: each kind, who was involved, where in the user's source, the steps, and how to replay.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, finding_of, panic_text, quiet};
use ordain::FindingKind::{DataRace, Deadlock, Livelock, LockHeldAtExit, Misuse, Nondeterminism, Panic, StepLimit};
use ordain::cell::UnsafeCell;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Mutex, Semaphore};
use ordain::{Verdict, thread};
use ordain_report::Switch;
use std::sync::Arc;

/// `FILE:LINE:` of the line with the comment `// @marker` in this file.
fn place(marker: &str) -> String {
    let marker = format!("// @{marker}");
    let line = include_str!("findings.rs").lines().position(|l| l.trim_end().ends_with(&marker));
    format!("{}:{}:", file!(), line.expect("the marker is there") + 1)
}

fn lost_update() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    let other = thread::spawn(move || {
        let old = y.load(SeqCst); // @load-1
        y.store(old + 1, SeqCst);
    });
    let old = x.load(SeqCst);
    x.store(old + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(x.load(SeqCst), 2, "an update got lost"); // @assertion
}

#[test]
fn a_panic_is_told_with_its_thread_place_and_text() {
    let found = finding(Panic, lost_update);
    let (head, rest) = found.message().split_once(": ").unwrap();
    assert!(head.starts_with(&format!("main panicked at {}", place("assertion"))), "{found}");
    assert!(rest.contains("an update got lost") && rest.contains("left: 1") && rest.contains("right: 2"), "{found}");
    assert!(found.to_string().starts_with("ordain found: panic\n  main panicked at "), "{found}");
}

#[test]
fn steps_are_a_timeline_with_marks_places_and_source() {
    let found = finding(Panic, lost_update);
    let story = found.story();
    // Spawn, two loads, two stores, an exit, a join, the last load, an exit.
    assert_eq!((story.length, story.steps.len(), found.steps()), (9, 9, 9), "{found}");
    assert_eq!((story.size.preemptions, story.threads.len()), (1, 2), "{found}");
    assert_eq!((story.steps[0].thread, story.steps[0].text.as_str()), (0, "spawn main.1"), "{found}");
    for pair in story.steps.windows(2) {
        assert_eq!(pair[0].thread != pair[1].thread, pair[1].switch != Switch::None, "{found}");
    }
    let preemptions = story.steps.iter().filter(|s| s.switch == Switch::Preemption);
    assert_eq!(preemptions.count(), story.size.preemptions);
    let load = story.steps.iter().find(|s| s.thread == 1 && s.verb == "load").unwrap();
    let at = load.place.as_ref().unwrap();
    assert!(format!("{at}").starts_with(&place("load-1")), "{found}");
    assert_eq!(at.text.as_deref(), Some("let old = y.load(SeqCst); // @load-1"));
    // The join sees the thread's end.
    let join = story.steps.iter().find(|s| s.verb == "join").unwrap();
    let exit = story.steps.iter().find(|s| s.thread == 1 && s.verb == "exit").unwrap();
    assert!(join.after.contains(&exit.number), "{found}");
    let text = found.to_string();
    assert!(text.contains("how it happens, in 9 steps and 1 preemption"), "{text}");
    assert!(text.lines().any(|l| l.contains(">> ") && l.contains("findings.rs:")), "{text}");
}

#[test]
fn the_replay_line_is_there_and_names_the_test() {
    let found = finding(Panic, lost_update);
    let name = "the_replay_line_is_there_and_names_the_test";
    let value = found.replay_value();
    assert!(value.starts_with(&format!("inline:{name};main")), "{value}");
    assert!(found.to_string().contains(&format!("\nreplay  ORDAIN_REPLAY='{value}' cargo test {name}\n")));
    assert_eq!(found.schedule_file(), None);
}

#[test]
fn a_check_can_have_a_name() {
    let report = quiet().name("my check").run(lost_update);
    assert_eq!(report.name, "my check");
    assert!(report.findings[0].replay_value().starts_with("inline:my check;"));
    assert!(report.findings[0].to_string().contains("cargo test my check"));
}

fn abba() {
    let locks = Arc::new((Mutex::new(()), Mutex::new(())));
    let locks2 = locks.clone();
    let other = thread::Builder::new().name("swapped".into());
    let other = other.spawn(move || {
        let _b = locks2.1.lock().unwrap();
        let _a = locks2.0.lock().unwrap(); // @waits-a
    });
    {
        let _a = locks.0.lock().unwrap();
        let _b = locks.1.lock().unwrap(); // @waits-b
    }
    other.unwrap().join().unwrap();
}

#[test]
fn a_deadlock_tells_who_waits_for_what_held_by_whom() {
    let found = finding(Deadlock, abba);
    let lines: Vec<&str> = found.message().lines().collect();
    assert_eq!(lines[0], "main and main.1 (\"swapped\") wait for each other", "{found}");
    let (holds, waits) = ("main holds main/mutex#0 and waits to lock main/mutex#1", "held by main.1 (\"swapped\")");
    assert!(lines[1].starts_with(&format!("{holds}, {waits} at {}", place("waits-b"))), "{found}");
    let other = "main.1 (\"swapped\") holds main/mutex#1 and waits to lock main/mutex#0, held by main";
    assert!(lines[2].starts_with(&format!("{other} at {}", place("waits-a"))), "{found}");
    assert_eq!(lines[3], "cycle: main -> main.1 (\"swapped\") -> main", "{found}");
    assert_eq!(lines.len(), 4);
    let waiting = found.story().waiting.as_ref().unwrap();
    assert_eq!(waiting.cycle, [0, 1]);
    assert_eq!(found.story().holds.iter().filter(|h| h.to.is_none()).count(), 2);
}

#[test]
fn a_thread_that_is_waited_for_is_named() {
    let found = finding(Deadlock, || {
        let other = thread::spawn(thread::park); // @parks
        other.join().unwrap(); // @joins
    });
    let lines: Vec<&str> = found.message().lines().collect();
    assert_eq!(lines[0], "no thread can go on");
    assert!(lines[1].starts_with(&format!("main waits for main.1 to end at {}", place("joins"))), "{found}");
    assert!(lines[2].starts_with("main.1 is parked and waits to be unparked"), "{found}");
    assert_eq!(lines.len(), 3, "nobody waits in a cycle: {found}");
}

#[test]
fn a_panic_that_leaves_others_waiting_tells_both() {
    let found = finding(Panic, || {
        let (sender, receiver) = ordain::sync::mpsc::channel::<u32>();
        let keep = sender.clone();
        thread::spawn(move || panic!("before it sends to {:?}", drop(sender)));
        let _ = receiver.recv();
        drop(keep);
    });
    assert!(found.message().contains("main.1 panicked at ") && found.message().contains("before it sends"), "{found}");
    assert!(
        found.message().contains("and then no thread could go on:\nmain waits to receive main/channel#"),
        "{found}"
    );
}

/// A number that threads share without protection.
struct Plain(UnsafeCell<u32>);

// SAFETY: unsound on purpose; threads of a check never really run at the same time.
unsafe impl Sync for Plain {}

#[test]
fn a_data_race_tells_both_accesses() {
    let found = finding(DataRace, || {
        let plain = Arc::new(Plain(UnsafeCell::new(0)));
        let plain2 = plain.clone();
        // SAFETY: only one thread of a check runs at a time.
        thread::spawn(move || plain2.0.with_mut(|p| unsafe { *p = 1 })); // @writes
        // SAFETY: only one thread of a check runs at a time.
        let _ = plain.0.with(|p| unsafe { *p }); // @reads
    });
    let lines: Vec<&str> = found.message().lines().collect();
    assert!(lines[0].starts_with("nothing orders these accesses to main/cell#0"), "{found}");
    let mut accesses = [lines[1], lines[2]];
    accesses.sort_unstable();
    assert!(accesses[0].starts_with(&format!("main reads at {}", place("reads"))), "{found}");
    assert!(accesses[1].starts_with(&format!("main.1 writes at {}", place("writes"))), "{found}");
}

#[test]
fn a_livelock_names_the_loop() {
    let found = finding(Livelock, || {
        let flag = AtomicUsize::new(0);
        let is_down = || flag.load(SeqCst) == 0; // @looks
        while is_down() {
            thread::yield_now(); // @yields
        }
    });
    assert!(found.message().contains("main in the loop at "), "{found}");
    assert!(found.message().contains(&place("looks")) && found.message().contains(&place("yields")), "{found}");
}

#[test]
fn a_step_limit_tells_where_the_steps_go() {
    let found = finding_of(quiet().max_steps(100), StepLimit, || {
        let x = AtomicUsize::new(0);
        loop {
            x.fetch_add(1, SeqCst); // @adds
        }
    });
    assert!(found.message().starts_with("100 steps,") && found.message().contains("Check::max_steps"), "{found}");
    assert!(found.message().contains(&format!("main 100 times at {}", place("adds"))), "{found}");
}

#[test]
fn a_lock_held_at_exit_names_the_lock() {
    let found = finding(LockHeldAtExit, || {
        let mutex = Arc::new(Mutex::new(()));
        let other = thread::spawn(move || std::mem::forget(mutex.lock().unwrap()));
        other.join().unwrap();
    });
    assert_eq!(found.message(), "main.1 ended while it held mutex mutex");
}

#[test]
fn a_misuse_says_what_was_wrong() {
    let found = finding(Misuse, || Semaphore::new(1).release(i32::MAX as usize));
    assert!(found.message().starts_with("main posted main/semaphore#0 beyond its maximum"), "{found}");
}

#[test]
fn nondeterminism_gives_advice_and_no_replay_line() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let found = finding(Nondeterminism, move || {
        let (own, x) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let y = x.clone();
        thread::spawn(move || y.store(1, SeqCst));
        if runs.fetch_add(1, SeqCst) == 0 {
            own.load(SeqCst);
        } else {
            own.store(1, SeqCst);
        }
        x.load(SeqCst);
    });
    let difference =
        "at step 1, after the same steps: main was to load main/atomic#0, but is about to store main/atomic#0";
    assert!(found.message().contains(difference), "{found}");
    assert!(found.message().contains("look for real time, random numbers"), "{found}");
    assert!(!found.to_string().contains("ORDAIN_REPLAY"), "{found}");
}

#[test]
fn long_schedules_are_shortened_in_the_middle() {
    let found = finding(Panic, || {
        let x = AtomicUsize::new(0);
        for _ in 0..500 {
            x.fetch_add(1, SeqCst);
        }
        panic!("at last");
    });
    assert_eq!(found.steps(), 501);
    let text = found.to_string();
    // Nobody else looks at the number, so only the end matters.
    assert!(text.contains("500 steps\n") && text.contains(" 500    exit\n"), "{text}");
    assert_eq!(found.story().steps.len(), 501, "all are in the story");
}

#[test]
fn the_report_says_how_much_it_rests_on() {
    let report = quiet().run(lost_update);
    assert_eq!(report.verdict, Verdict::Finding);
    assert_eq!((report.failing, report.findings.len()), (1, 1));
    let text = report.to_string();
    assert!(text.starts_with("finding: panic (after 2 executions) [2 executions; 1 misbehaved; "), "{text}");
    assert!(text.contains("strategy: optimal; level: ordain types; memory model: sequential consistency"), "{text}");
    assert_eq!((report.threads, report.depth), (2, 9));
}

#[test]
fn check_panics_with_the_finding_and_the_report() {
    let text = panic_text(|| quiet().run(lost_update).expect_no_finding());
    assert!(text.starts_with("ordain found: panic\n"), "{text}");
    assert!(text.contains("\nreplay  ORDAIN_REPLAY=") && text.contains("finding: panic (after "), "{text}");
}
