//! The oracle decides: every exhaustive strategy against plain depth-first search, on random programs over all primitives.
//!
//! `ORDAIN_PROGRAMS` sets how many programs (10,000 unless told), `ORDAIN_FIRST_SEED` where they begin, `ORDAIN_SCHEDULES` how many schedules
//! they may have.

mod common;

use common::compare::check;
use common::{Program, random};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Programs with more schedules than this are passed over, unless told; a few larger ones are looked at.
const MOST_SCHEDULES: u64 = 1_000;
/// How many times as many a few may have.
const LARGE: u64 = 5;

/// Checks the program of a seed, with panics as failures.
fn check_caught(program: &Program, seed: u64) -> Option<Result<(), String>> {
    let most = number("ORDAIN_SCHEDULES", MOST_SCHEDULES);
    let most = if seed % 16 == 5 { LARGE * most } else { most };
    // Bounded search goes through everything once for each level, so it takes part now and then.
    let bounded = seed % 8 < 2;
    let result = catch_unwind(AssertUnwindSafe(|| check(program, most, bounded)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Some(Err(format!("panic: {}", text.unwrap_or("?"))))
    })
}

/// Some programs are about few things, so that much happens to them.
fn program(seed: u64) -> Program {
    match seed % 8 {
        1 => random::shifting_program(seed),
        3 | 7 => random::focused_program(seed),
        _ => random::program(seed),
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
#[allow(clippy::print_stderr)] // Tells the counter-examples.
fn exhaustive_strategies_reach_exactly_what_plain_search_reaches() {
    let wanted = number("ORDAIN_PROGRAMS", 10_000);
    let first = number("ORDAIN_FIRST_SEED", 0);
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let failures = std::sync::Mutex::new(Vec::new());
    let checked = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (failures, checked) = (&failures, &checked);
            scope.spawn(move || {
                std::panic::set_hook(Box::new(|_| {}));
                let mut seed = first + worker;
                while checked.load(std::sync::atomic::Ordering::Relaxed) < wanted
                    && failures.lock().expect("no panic").len() < 5
                {
                    let program = program(seed);
                    if let Some(result) = check_caught(&program, seed) {
                        checked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                        if let Err(why) = result {
                            failures.lock().expect("no panic").push((seed, why, program));
                        }
                    }
                    seed += threads;
                }
            });
        }
    });
    let _ = std::panic::take_hook();
    let failures = failures.into_inner().expect("no panic");
    for (seed, why, program) in &failures {
        let small = random::shrink(program, &|p| matches!(check_caught(p, *seed), Some(Err(_))));
        let why_small = check_caught(&small, *seed).and_then(Result::err).unwrap_or_default();
        eprintln!("seed {seed}: {why}\nshrunk: {why_small}\n{small:?}\n");
    }
    assert!(failures.is_empty(), "{} programs fail", failures.len());
    eprintln!("{} programs checked", checked.into_inner());
}
