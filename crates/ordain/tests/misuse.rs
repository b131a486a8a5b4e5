//! Wrong use: of checks, of primitives, and of types that a check does not control.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{finding, quiet, verify};
use ordain::FindingKind::{LockHeldAtExit, Misuse, Nondeterminism, Panic};
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::sync::{Mutex, RwLock, Semaphore, mpsc};
use ordain::{Verdict, thread};
use std::process::Command;
use std::sync::Arc;

#[test]
fn a_check_inside_a_check_is_refused() {
    let found = finding(Panic, || ordain::check(|| ()));
    assert!(found.message().contains("ordain: a check inside a check"), "{found}");
    let found = finding(Panic, || {
        let inner = thread::spawn(|| quiet().run(|| ()).executions);
        inner.join().unwrap();
    });
    assert!(found.message().contains("ordain: a check inside a check"), "{found}");
}

#[test]
fn checks_after_one_another_and_on_other_threads_are_fine() {
    let run = || quiet().run(|| assert!(ordain::choose(3) < 3)).executions;
    assert_eq!((run(), run()), (3, 3));
    let others: Vec<_> = (0..4).map(|_| std::thread::spawn(run)).collect();
    assert!(others.into_iter().all(|t| t.join().unwrap() == 3));
}

#[test]
fn a_check_works_after_one_with_a_finding() {
    finding(Panic, || panic!("first"));
    finding(ordain::FindingKind::Deadlock, thread::park);
    verify(|| assert!(!thread::panicking()));
}

/// A program that does something else in its second run.
fn changing(first: fn(&AtomicUsize), later: fn(&AtomicUsize)) -> impl Fn() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    move || {
        let (own, x) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
        let y = x.clone();
        thread::spawn(move || y.store(1, SeqCst));
        if runs.fetch_add(1, SeqCst) == 0 {
            first(&own)
        } else {
            later(&own)
        }
        x.load(SeqCst);
    }
}

#[test]
fn a_program_that_is_not_deterministic_is_told_with_the_first_difference() {
    let store_first: fn(&AtomicUsize) = |own| own.store(1, SeqCst);
    let swap: fn(&AtomicUsize) = |own| drop(own.swap(1, SeqCst).to_string());
    let found = finding(Nondeterminism, changing(store_first, swap));
    let message = found.message();
    assert!(
        message.starts_with("the program did something else than before at step 1, after the same steps: "),
        "{found}"
    );
    assert!(message.contains("main was to store main/atomic#0, but is about to update main/atomic#0"), "{found}");
    let found = finding(Nondeterminism, changing(store_first, |_| ()));
    assert!(found.message().contains("but is about to load main/atomic#1"), "{found}");
    let found = finding(Nondeterminism, changing(store_first, |_| drop(thread::spawn(|| ()))));
    assert!(found.message().contains("but is about to spawn main.2"), "{found}");
}

#[test]
fn nondeterminism_ends_a_check_that_would_keep_going() {
    let report = quiet().keep_going(true).run(changing(|own| own.store(1, SeqCst), |_| ()));
    assert_eq!((report.executions, report.findings.len()), (2, 1));
}

#[test]
fn a_finding_that_does_not_happen_again_is_no_finding_of_its_kind() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let found = finding(Nondeterminism, move || assert!(runs.fetch_add(1, SeqCst) % 2 == 1, "every second time"));
    assert!(found.message().contains("state that survives from one execution to the next"), "{found}");
}

#[test]
fn a_guard_that_is_forgotten_is_a_lock_held_at_exit() {
    let found = finding(LockHeldAtExit, || std::mem::forget(Mutex::new(0).lock()));
    assert_eq!(found.message(), "main ended while it held main/mutex#0");
    let found = finding(LockHeldAtExit, || {
        let lock = Arc::new(RwLock::new(0));
        thread::Builder::new().name("reader".into()).spawn(move || std::mem::forget(lock.read())).unwrap();
    });
    assert_eq!(found.message(), "main.1 (\"reader\") ended while it held rwlock lock");
}

#[test]
fn a_semaphore_that_overflows_is_misused() {
    let found = finding(Misuse, || {
        let semaphore = Semaphore::new(0);
        semaphore.release(i32::MAX as usize);
        semaphore.release(1);
    });
    assert!(found.message().contains("beyond its maximum"), "{found}");
}

#[test]
fn what_was_made_outside_and_cannot_be_modelled_is_refused() {
    let (sender, receiver) = mpsc::channel();
    let found = finding(Panic, move || sender.send(1).unwrap());
    assert!(found.message().contains("this channel was made outside the check; make it inside the closure"), "{found}");
    let found = finding(Panic, move || assert!(receiver.try_recv().is_err()));
    assert!(found.message().contains("this channel was made outside the check; make it inside the closure"), "{found}");
}

#[test]
fn a_mutex_held_by_someone_outside_is_told() {
    let mutex: &'static Mutex<u32> = Box::leak(Box::new(Mutex::const_new(0)));
    let _held = mutex.lock().unwrap();
    let found = finding(Panic, move || *mutex.lock().unwrap() += 1);
    assert!(found.message().contains("held by someone outside it"), "{found}");
}

#[test]
fn choosing_from_nothing_is_refused() {
    let found = finding(Panic, || drop(ordain::choose(0).to_string()));
    assert!(found.message().contains("there is nothing to choose from"), "{found}");
}

#[test]
fn orderings_that_do_not_exist_are_refused() {
    use ordain::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
    type Access = fn(&AtomicUsize);
    let cases: [(Access, &str); 4] = [
        (|x| drop(x.load(Release).to_string()), "release load"),
        (|x| x.store(1, Acquire), "acquire store"),
        (|x| drop(x.compare_exchange(0, 1, SeqCst, AcqRel).is_ok().to_string()), "acquire-release failure ordering"),
        (|_| ordain::sync::atomic::fence(Relaxed), "relaxed fence"),
    ];
    for (access, message) in cases {
        let found = finding(Panic, move || access(&AtomicUsize::new(0)));
        assert!(found.message().contains(message), "{found}");
    }
}

/// Blocks for real: a mutex of std is held across a step, and the other thread asks for it after its own.
fn blocks() {
    let shared = Arc::new((std::sync::Mutex::new(0), AtomicUsize::new(0)));
    let shared2 = shared.clone();
    let other = thread::spawn(move || {
        shared2.1.fetch_add(1, SeqCst);
        *shared2.0.lock().unwrap() += 1;
    });
    let guard = shared.0.lock().unwrap();
    shared.1.fetch_add(1, SeqCst);
    drop(guard);
    other.join().unwrap();
}

#[test]
fn a_call_that_blocks_for_real_ends_the_process_with_a_message() {
    const NAME: &str = "a_call_that_blocks_for_real_ends_the_process_with_a_message";
    if std::env::var_os("ORDAIN_TEST_CHILD").is_some() {
        quiet().run(blocks);
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).env("ORDAIN_TEST_CHILD", "1");
    let output = command.output().unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("ordain: the program under check has been blocked for "), "{text}");
    assert!(text.contains("in a call that Ordain does not control. The last step was at "), "{text}");
    assert!(text.contains("tests/misuse.rs:"), "{text}");
    assert!(text.contains("Replace it, or move it out of the closure"), "{text}");
}

#[test]
fn types_of_std_that_never_block_are_fine() {
    let seen = Arc::new(std::sync::Mutex::new(0));
    let inner = seen.clone();
    let report = quiet().run(move || {
        let inner = inner.clone();
        thread::spawn(move || *inner.lock().unwrap() += 1).join().unwrap();
    });
    report.expect_no_finding();
    assert!(report.to_string().contains("std's locks and atomics are not seen"), "{report}");
    assert!(*seen.lock().unwrap() >= report.executions);
}

#[test]
fn a_panic_of_the_first_run_is_not_forgotten() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let r = quiet().run(move || assert_ne!(runs.fetch_add(1, SeqCst), 0, "only once"));
    assert_eq!(r.verdict, Verdict::Finding, "{r}");
}
#[test]
fn a_finding_is_confirmed_only_by_the_same_finding() {
    let runs = std::sync::atomic::AtomicUsize::new(0);
    let r = quiet()
        .run(move || if runs.fetch_add(1, SeqCst).is_multiple_of(2) { panic!("one") } else { panic!("another") });
    assert_eq!(*r.findings[0].kind(), Nondeterminism, "{}", r.findings[0]);
}
