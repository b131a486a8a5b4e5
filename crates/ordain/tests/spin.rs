//! Loops that wait for something to change: explored in finitely many executions, and told if they wait for ever.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, outcomes_of, outcomes_with, quiet, verify, verify_apart};
use ordain::FindingKind::{Deadlock, Livelock, Panic};
use ordain::hint;
use ordain::sync::Mutex;
use ordain::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use ordain::{FindingKind, thread};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How a loop gives way.
#[derive(Clone, Copy, Debug)]
enum Pause {
    Yield,
    Hint,
    Sleep,
    None,
}

const PAUSES: [Pause; 4] = [Pause::Yield, Pause::Hint, Pause::Sleep, Pause::None];

impl Pause {
    fn pause(self) {
        match self {
            Self::Yield => thread::yield_now(),
            Self::Hint => hint::spin_loop(),
            Self::Sleep => thread::sleep(Duration::from_millis(1)),
            Self::None => {}
        }
    }
}

/// Main waits for a flag; gives the value that was published with it.
fn wait_for_flag(pause: Pause) -> usize {
    let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false)));
    let shared2 = shared.clone();
    thread::spawn(move || {
        shared2.0.store(7, SeqCst);
        shared2.1.store(true, SeqCst);
    });
    while !shared.1.load(SeqCst) {
        pause.pause();
    }
    shared.0.load(SeqCst)
}

#[test]
fn a_loop_waits_for_a_flag_however_it_pauses() {
    for pause in PAUSES {
        let seen = outcomes_of(quiet(), move || wait_for_flag(pause));
        assert_eq!(seen, BTreeSet::from([7]), "{pause:?}");
    }
}

#[test]
fn all_strategies_agree_on_a_spinning_program() {
    for pause in [Pause::Yield, Pause::Hint] {
        assert_eq!(outcomes_with(quiet(), move || wait_for_flag(pause)), BTreeSet::from([7]));
    }
}

/// The line of the comment `// @marker`.
fn line(marker: &str) -> String {
    let marker = format!("// @{marker}");
    let line = include_str!("spin.rs").lines().position(|l| l.trim_end().ends_with(&marker)).unwrap();
    format!("{}:{}:", file!(), line + 1)
}

#[test]
fn an_endless_loop_is_a_livelock_however_it_pauses() {
    for pause in PAUSES {
        let found = finding(Livelock, move || {
            let flag = AtomicBool::new(false);
            let is_up = || flag.load(SeqCst); // @endless
            while !is_up() {
                pause.pause();
            }
        });
        assert!(found.message().contains("main in the loop at "), "{found}");
        assert!(found.message().contains(&line("endless")), "{pause:?}: {found}");
    }
}

#[test]
fn two_that_wait_for_each_other_are_both_named() {
    let found = finding(Livelock, || {
        let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let flags2 = flags.clone();
        let other = thread::spawn(move || {
            let is_up = || flags2.0.load(SeqCst); // @other-waits
            while !is_up() {
                thread::yield_now();
            }
            flags2.1.store(true, SeqCst);
        });
        let is_up = || flags.1.load(SeqCst); // @main-waits
        while !is_up() {
            thread::yield_now();
        }
        flags.0.store(true, SeqCst);
        other.join().unwrap();
    });
    let lines: Vec<&str> = found.message().lines().collect();
    assert_eq!(lines.len(), 3, "{found}");
    assert!(lines[1].starts_with("main in the loop at ") && lines[1].contains(&line("main-waits")), "{found}");
    assert!(lines[2].starts_with("main.1 in the loop at ") && lines[2].contains(&line("other-waits")), "{found}");
}

/// A spin lock by compare-and-exchange.
fn spin_lock(pause: Pause) -> usize {
    let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
    let add = move |shared: &(AtomicBool, AtomicUsize)| {
        while shared.0.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            pause.pause();
        }
        let old = shared.1.load(SeqCst);
        shared.1.store(old + 1, SeqCst);
        shared.0.store(false, SeqCst);
    };
    let shared2 = shared.clone();
    let other = thread::spawn(move || add(&shared2));
    add(&shared);
    other.join().unwrap();
    shared.1.load(SeqCst)
}

#[test]
fn a_spin_lock_excludes_however_it_pauses() {
    for pause in PAUSES {
        assert_eq!(outcomes_of(quiet(), move || spin_lock(pause)), BTreeSet::from([2]), "{pause:?}");
    }
}

#[test]
fn a_loop_of_attempts_ends() {
    for pause in PAUSES {
        let report = verify(move || {
            let mutex = Arc::new(Mutex::new(0));
            let mutex2 = mutex.clone();
            let other = thread::spawn(move || *mutex2.lock().unwrap() += 1);
            loop {
                if let Ok(mut value) = mutex.try_lock() {
                    *value += 1;
                    break;
                }
                pause.pause();
            }
            other.join().unwrap();
            assert_eq!(*mutex.lock().unwrap(), 2);
        });
        assert!(report.executions >= 2, "{pause:?}");
    }
}

#[test]
fn a_loop_that_polls_under_a_mutex_ends() {
    let seen = outcomes_of(quiet(), || {
        let state = Arc::new(Mutex::new(0));
        let state2 = state.clone();
        let other = thread::spawn(move || {
            *state2.lock().unwrap() = 1;
            *state2.lock().unwrap() = 2;
        });
        while *state.lock().unwrap() == 0 {
            thread::yield_now();
        }
        let seen = *state.lock().unwrap();
        other.join().unwrap();
        seen
    });
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn a_loop_that_polls_under_a_mutex_for_ever_is_a_livelock() {
    let found = finding(Livelock, || {
        let state = Mutex::new(0);
        let state = || *state.lock().unwrap(); // @polls
        while state() == 0 {
            thread::yield_now();
        }
    });
    assert!(found.message().contains(&line("polls")), "{found}");
}

#[test]
fn a_retry_loop_that_gives_up_is_explored_both_ways() {
    for pause in PAUSES {
        let seen = outcomes_of(quiet(), move || {
            let flag = Arc::new(AtomicBool::new(false));
            let flag2 = flag.clone();
            let other = thread::spawn(move || flag2.store(true, SeqCst));
            let mut got = false;
            for _ in 0..2 {
                got = flag.load(SeqCst);
                if got {
                    break;
                }
                pause.pause();
            }
            other.join().unwrap();
            got
        });
        assert_eq!(seen, BTreeSet::from([false, true]), "{pause:?}");
    }
}

#[test]
fn a_loop_of_many_rounds_may_still_give_up_if_nobody_comes() {
    // More rounds than are explored: the thread is held, and let go when nobody else can go on.
    let seen = outcomes_of(quiet(), || {
        let flag = AtomicBool::new(false);
        (0..100).any(|_| {
            thread::yield_now();
            flag.load(SeqCst)
        })
    });
    assert_eq!(seen, BTreeSet::from([false]));
}

#[test]
fn a_bug_behind_a_loop_is_found() {
    let found = finding(Panic, || {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let shared2 = shared.clone();
        thread::spawn(move || {
            shared2.0.store(true, SeqCst);
            shared2.1.store(1, SeqCst);
        });
        while !shared.0.load(SeqCst) {
            thread::yield_now();
        }
        assert_eq!(shared.1.load(SeqCst), 1, "published too early");
    });
    assert!(found.message().contains("published too early"), "{found}");
}

#[test]
fn a_thread_that_spins_on_one_that_is_blocked_is_told() {
    // The other waits for a mutex that main holds while it spins.
    let report = quiet().run(|| {
        let shared = Arc::new((Mutex::new(()), AtomicBool::new(false)));
        let shared2 = shared.clone();
        let other = thread::spawn(move || {
            let _guard = shared2.0.lock().unwrap();
            shared2.1.store(true, SeqCst);
        });
        let guard = shared.0.lock().unwrap();
        while !shared.1.load(SeqCst) {
            thread::yield_now();
        }
        drop(guard);
        other.join().unwrap();
    });
    let kinds: Vec<&FindingKind> = report.findings.iter().map(ordain::Finding::kind).collect();
    assert_eq!(kinds, [&Livelock], "{report}");
}

#[test]
fn waiting_by_is_finished_ends() {
    verify_apart(|| {
        let other = thread::spawn(|| 5);
        while !other.is_finished() {
            thread::yield_now();
        }
        assert_eq!(other.join().unwrap(), 5);
    });
}

#[test]
fn a_deadlock_besides_a_loop_that_ends_is_a_deadlock() {
    finding(Deadlock, || {
        let flag = Arc::new(AtomicBool::new(false));
        let flag2 = flag.clone();
        thread::spawn(move || {
            while !flag2.load(SeqCst) {
                thread::yield_now();
            }
            thread::park();
        });
        flag.store(true, SeqCst);
    });
}
