//! Searches over a real server: every class counts, and none counts twice, whoever dies.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::*;
use std::time::Duration;

const QUICK: Duration = Duration::from_millis(5);

#[test]
fn four_workers_explore_everything_once() {
    let server = Server::start();
    let url = server.url();
    let run = submitted(&url, &closure(3, 3));
    let watcher = watcher(&url, &run);
    let workers: Vec<_> = (0..4).map(|n| worker(&url, &format!("w{n}"), QUICK)).collect();
    let outcome = assert_exact(watcher.join(), orders(3, 3));
    assert!(outcome.progress.results > 10, "{outcome:?}");
    assert_eq!(outcome.progress.stale, 0);
    for worker in workers {
        worker.stop();
    }
}
