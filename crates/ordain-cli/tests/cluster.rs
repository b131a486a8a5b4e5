//! Clusters on the command line: findings that come back, runs that are left and come back to, what goes wrong.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod fleet;

use fleet::{Fleet, json, schedule, told};
use std::process::Output;
use std::time::{Duration, Instant};

/// Tests for workers to run. They explore when a worker says so, and everything at once otherwise.
mod explored {
    use ordain::cell::UnsafeCell;
    use ordain::sync::{Arc, Mutex};

    struct Plain(UnsafeCell<u32>);

    // SAFETY: a lie, so that threads race; under control only one of them runs at a time.
    unsafe impl Sync for Plain {}

    impl Plain {
        fn increment(&self) {
            // SAFETY: no other thread runs meanwhile.
            self.0.with_mut(|value| unsafe { *value += 1 });
        }
    }

    fn counter(rounds: usize) {
        let mutex = Arc::new(Mutex::new(0));
        let spawn = |_| {
            let mutex = mutex.clone();
            ordain::thread::spawn(move || (0..rounds).for_each(|_| *mutex.lock().unwrap() += 1))
        };
        let threads: Vec<_> = (0..3).map(spawn).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn some_classes() {
        ordain::check(|| counter(4));
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn many_classes() {
        ordain::check(|| counter(5));
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn two_checks() {
        for _ in 0..2 {
            ordain::check(|| ordain::thread::spawn(|| {}).join().unwrap());
        }
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn by_locks_of_std() {
        ordain::check(|| {
            let count = std::sync::Arc::new(std::sync::Mutex::new(0));
            let other = count.clone();
            let thread = ordain::thread::spawn(move || *other.lock().unwrap() += 1);
            *count.lock().unwrap() += 1;
            thread.join().unwrap();
        });
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn panics() {
        ordain::check(|| {
            let (mutex, other) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
            let (first, second) = (mutex.clone(), other.clone());
            let thread = ordain::thread::spawn(move || {
                *first.lock().unwrap() += 1;
                *second.lock().unwrap() += 1;
            });
            let (early, late) = (*mutex.lock().unwrap(), *other.lock().unwrap());
            assert_eq!(early, late, "seen between two changes");
            thread.join().unwrap();
        });
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn data_race() {
        ordain::check(|| {
            let plain = Arc::new(Plain(UnsafeCell::new(0)));
            let other = plain.clone();
            let thread = ordain::thread::spawn(move || other.increment());
            plain.increment();
            thread.join().unwrap();
        });
    }

    #[test]
    #[ignore = "for workers of clusters"]
    fn deadlock() {
        ordain::check(|| {
            let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
            let (c, d) = (a.clone(), b.clone());
            let other = ordain::thread::spawn(move || *d.lock().unwrap() += *c.lock().unwrap());
            *a.lock().unwrap() += *b.lock().unwrap();
            other.join().unwrap();
        });
    }
}

/// A deadlock in a program was found, and replays where this is.
fn is_deadlock_that_replays(fleet: &Fleet, output: &Output) {
    let result = json(output);
    common::assert_valid(&result);
    assert_eq!(output.status.code(), Some(1), "{result:#}");
    assert_eq!(result["findings"][0]["kind"], "deadlock");
    let program = fleet.directory.path().join("program");
    assert_eq!(result["program"], program.to_str().unwrap());
    let schedule = schedule(fleet.directory.path(), &result);
    let replayed = fleet.ordain(&["replay", schedule.to_str().unwrap()]).output().unwrap();
    assert_eq!(replayed.status.code(), Some(1), "{}", told(&replayed));
    assert!(told(&replayed).contains("deadlock"), "{}", told(&replayed));
}

#[test]
fn a_finding_in_a_program_replays_where_it_was_submitted() {
    let fleet = Fleet::start(4);
    let output = fleet.check_program("bugs/abba.c", &[], &[]).output().unwrap();
    is_deadlock_that_replays(&fleet, &output);
}

#[test]
fn a_finding_replays_for_whoever_comes_back() {
    let fleet = Fleet::start(1);
    let submitted = fleet.check_program("bugs/abba.c", &[], &["--detach"]).output().unwrap();
    let output = fleet.attach(json(&submitted)["run"].as_str().unwrap()).output().unwrap();
    is_deadlock_that_replays(&fleet, &output);
}

#[test]
fn a_finding_in_a_test_comes_back_with_its_schedule() {
    let fleet = Fleet::start(1);
    let output = fleet.check_test("explored::deadlock", &[]).output().unwrap();
    let result = json(&output);
    assert_eq!(output.status.code(), Some(1), "{result:#}");
    assert_eq!(result["findings"][0]["kind"], "deadlock");
    let schedule = std::fs::read_to_string(schedule(fleet.directory.path(), &result)).unwrap();
    assert!(schedule.starts_with("ordain schedule 1"), "{schedule}");
}

#[test]
fn findings_that_only_tests_have_are_as_the_schema_says() {
    let fleet = Fleet::start(1);
    for (test, kind) in [("explored::panics", "panic"), ("explored::data_race", "data-race")] {
        let result = json(&fleet.check_test(test, &[]).output().unwrap());
        common::assert_valid(&result);
        assert_eq!(result["findings"][0]["kind"], kind, "{result:#}");
    }
}

#[test]
fn one_can_leave_and_come_back() {
    let mut fleet = Fleet::start(0);
    let url = fleet.server.url();
    let submit = |fleet: &Fleet| {
        let output = fleet.check_test("explored::some_classes", &["--detach"]).output().unwrap();
        json(&output)["run"].as_str().unwrap().to_owned()
    };
    let run = submit(&fleet);
    assert_eq!(fleet.runs()[0]["run"], run.as_str());
    fleet.join();
    let result = json(&fleet.attach(&run).output().unwrap());
    // 12! / (4!)^3
    assert_eq!(result["executions"], 34_650, "{result:#}");
    let again = fleet.attach(&run).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "its result was fetched");
    let run = submit(&fleet);
    let cancel = || fleet.ordain(&["cluster", "cancel", &url, &run]).output().unwrap().status.code();
    assert_eq!((cancel(), cancel()), (Some(0), Some(2)));
}

#[test]
fn what_is_left_is_estimated() {
    let fleet = Fleet::start(2);
    let limit = ["--max-executions", "100000"];
    let program = fleet.check_program("counts/mutex_counter.c", &["3", "5"], &limit);
    let test = fleet.check_test("explored::many_classes", &limit);
    for mut check in [program, test] {
        let result = json(&check.output().unwrap());
        assert_eq!(result["verdict"], "no finding", "{result:#}");
        assert!(result["meaning"].as_str().unwrap().contains("of an estimated"), "{result:#}");
        let estimate = result["estimate"].as_f64().unwrap();
        // 15! / (5!)^3 = 756,756
        assert!(estimate > 250_000.0 && estimate < 2_250_000.0, "{result:#}");
        common::assert_valid(&result);
    }
}

#[test]
fn what_is_not_explored_of_a_test_is_said() {
    let fleet = Fleet::start(1);
    let result = json(&fleet.check_test("explored::two_checks", &[]).output().unwrap());
    assert!(result["notes"].to_string().contains("makes more checks than one"), "{result:#}");
    common::assert_valid(&result);
    let result = json(&fleet.check_test("explored::some_classes", &[]).output().unwrap());
    assert!(!result["notes"].to_string().contains("more checks"), "{result:#}");
    assert_eq!(result["level"], "ordain types", "what is visible of a test is not what is visible of a program");
    assert!(result["meaning"].as_str().unwrap().starts_with("verified at level ordain types: "), "{result:#}");
    assert_eq!(result["estimate"], 34_650, "{result:#}");
    // What a check on one machine does not verify is not verified on a cluster.
    let result = json(&fleet.check_test("explored::by_locks_of_std", &[]).output().unwrap());
    assert_eq!(result["verdict"], "no finding", "{result:#}");
    assert!(result["notes"].to_string().contains("no two threads touched the same object"), "{result:#}");
    common::assert_valid(&result);
}

#[test]
fn a_worker_leaves_when_it_is_told_to() {
    let mut fleet = Fleet::start(1);
    let mut worker = fleet.take();
    std::thread::sleep(Duration::from_secs(1));
    worker.terminate();
    let begun = Instant::now();
    while !worker.is_over() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(worker.0.wait().unwrap().code(), Some(0));
}

#[test]
fn what_cannot_be_done_is_said() {
    let fleet = Fleet::start(1);
    let output = fleet.ordain(&["worker", "nats://127.0.0.1:1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("cannot be reached"), "{}", told(&output));
    let output = fleet.check_test("explored::absent", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = told(&output);
    assert!(text.contains("worker w0 cannot run it: the test `explored::absent` made no check"), "{text}");
    let output = fleet.check_test("explored::some_classes", &["--strategy", "pos"]).output().unwrap();
    assert!(told(&output).contains("cannot be divided"), "{}", told(&output));
}
