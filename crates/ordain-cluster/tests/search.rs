//! Searches over a real server: every class counts, and none counts twice, whoever dies.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::*;
use ordain_cluster::Ending;
use std::time::Duration;

const QUICK: Duration = Duration::from_millis(3);
const SLOW: Duration = Duration::from_millis(30);

fn fleet(url: &str, pause: Duration) -> Vec<Part<()>> {
    (0..4).map(|n| worker(url, &format!("w{n}"), pause)).collect()
}

fn dismiss(workers: Vec<Part<()>>) {
    workers.into_iter().for_each(Part::stop);
}

#[test]
fn four_workers_explore_everything_once() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let workers = fleet(&url, QUICK);
    let progress = assert_exact(watcher.join(), orders(3, 3));
    assert!(progress.results > 10, "{progress:?}");
    assert_eq!(progress.stale, 0);
    assert!(progress.utilisation() > 0.0);
    dismiss(workers);
}

#[test]
fn source_search_is_divided_too() {
    let server = Server::start();
    let url = server.url();
    let mut submission = closure(3, 2);
    submission.spec.rule = ordain_explore::frontier::Rule::Source;
    let run = submitted(&url, &submission);
    let workers = fleet(&url, QUICK);
    assert_exact(watcher(&url, &run).join(), orders(3, 2));
    dismiss(workers);
}

#[test]
fn workers_may_die_at_any_time() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let mut workers = fleet(&url, SLOW);
    // Every worker is killed while it has tasks, one after the other, and another one comes.
    for round in 1..=6u64 {
        wait_for(&url, &run, |state| state.progress.results >= 4 * round);
        workers.remove(0).kill();
        workers.push(worker(&url, &format!("n{round}"), SLOW));
    }
    workers.push(worker(&url, "late", QUICK));
    let progress = assert_exact(watcher.join(), orders(3, 3));
    assert!(progress.redeliveries > 0, "nobody was killed with a task: {progress:?}");
    dismiss(workers);
}

#[test]
fn a_worker_that_is_asked_to_leave_leaves_nothing_behind() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 2));
    let watcher = watcher(&url, &run);
    let first = worker(&url, "first", SLOW);
    wait_for(&url, &run, |state| state.progress.results >= 2);
    first.stop();
    let second = worker(&url, "second", QUICK);
    let progress = assert_exact(watcher.join(), orders(3, 2));
    assert_eq!((progress.redeliveries, progress.stale), (0, 0), "{progress:?}");
    second.stop();
}

#[test]
fn the_controller_may_die_and_others_take_over() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let mut controller = watcher(&url, &run);
    // There are no workers yet, so it is the one who controls.
    wait_for(&url, &run, |state| state.holder.is_some());
    let workers = fleet(&url, SLOW);
    for round in 1..=3u64 {
        wait_for(&url, &run, |state| state.progress.results >= 5 * round);
        // The next one may only watch, if a worker was faster to take over.
        controller.kill();
        controller = watcher(&url, &run);
    }
    let progress = assert_exact(controller.join(), orders(3, 3));
    assert!(progress.takeovers > 0, "{progress:?}");
    dismiss(workers);
}

#[test]
fn whoever_submits_may_leave_and_come_back() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 2));
    let first = watcher(&url, &run);
    let workers = fleet(&url, SLOW);
    wait_for(&url, &run, |state| state.progress.results >= 2);
    assert!(matches!(first.stop(), Ending::Left));
    // Nobody watches; the workers bring it to its end.
    wait_for(&url, &run, |state| state.status == ordain_cluster::Status::Finished);
    assert_exact(watcher(&url, &run).join(), orders(3, 2));
    dismiss(workers);
}

#[test]
fn the_server_may_be_started_again() {
    let mut server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let workers = fleet(&url, SLOW);
    for round in 1..=2u64 {
        wait_for(&url, &run, |state| state.progress.results >= 8 * round);
        server.restart(Duration::from_millis(300));
    }
    assert_exact(watcher.join(), orders(3, 3));
    dismiss(workers);
}

#[test]
fn several_runs_share_the_workers() {
    let server = Server::start();
    let url = server.url();
    let workers = fleet(&url, QUICK);
    let sizes = [(3, 3), (3, 2), (2, 4)];
    let runs: Vec<_> = sizes.iter().map(|(threads, rounds)| submitted(&url, &closure(*threads, *rounds))).collect();
    let watchers: Vec<_> = runs.iter().map(|run| watcher(&url, run)).collect();
    for (watcher, (threads, rounds)) in watchers.into_iter().zip(sizes) {
        assert_exact(watcher.join(), orders(threads as u64, rounds as u64));
    }
    dismiss(workers);
}
