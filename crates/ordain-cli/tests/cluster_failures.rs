//! One check on a cluster of four workers while everything dies around it: the same classes, none lost, none counted twice.
#![cfg(feature = "cluster")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod fleet;

use fleet::{Fleet, Process, json, told};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::process::Command;
use std::time::Duration;

/// Some threads that take a mutex five times each have (3 × 5)! / (5!)³ orders.
const CLASSES: u64 = 756_756;

/// What workers explore. Without them it explores everything at once.
mod explored {
    use ordain::sync::{Arc, Mutex};

    #[test]
    #[ignore = "for workers of clusters"]
    fn counter() {
        ordain::check(|| {
            let mutex = Arc::new(Mutex::new(0));
            let spawn = |_| {
                let mutex = mutex.clone();
                ordain::thread::spawn(move || (0..5).for_each(|_| *mutex.lock().unwrap() += 1))
            };
            let threads: Vec<_> = (0..3).map(spawn).collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
    }
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// Kills some worker at some moment, and starts another one.
fn kill_a_worker(fleet: &mut Fleet) {
    std::thread::sleep(Duration::from_millis(random(300)));
    fleet.replace(random(4) as usize);
}

/// Lets a check run while workers, whoever submitted it and the server are killed.
fn survives(mut fleet: Fleet, mut check: Command) {
    let mut check = Process::piped(&mut check);
    for part in 1..=6 {
        // A check that is over has met everything that came until then.
        let Some(run) = fleet.wait_for(CLASSES / 8 * part, &mut check) else { break };
        kill_a_worker(&mut fleet);
        match part {
            2 => {
                drop(check);
                check = Process::piped(&mut fleet.attach(&run));
            }
            4 => {
                fleet.server.restart(Duration::from_millis(300));
                kill_a_worker(&mut fleet);
            }
            _ => {}
        }
    }
    let output = check.output();
    let result = json(&output);
    assert_eq!(result["executions"], CLASSES, "{result:#}");
    assert_eq!(result["verdict"], "verified", "{result:#}");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(fleet.runs().is_empty(), "a run whose result was fetched is forgotten");
}

#[test]
fn a_program_is_explored_exactly_once() {
    let fleet = Fleet::start(4);
    let check = fleet.check_program("counts/mutex_counter.c", &["3", "5"], &[]);
    survives(fleet, check);
}

#[test]
fn a_rust_test_is_explored_exactly_once() {
    let fleet = Fleet::start(4);
    let check = fleet.check_test("explored::counter", &[]);
    survives(fleet, check);
}
