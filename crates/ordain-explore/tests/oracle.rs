//! The oracle decides: every exhaustive strategy against plain depth-first search, on random programs over all primitives.
//!
//! `ORDAIN_PROGRAMS` sets how many programs (10,000 unless told), `ORDAIN_FIRST_SEED` where they begin.

mod common;

use common::{Explored, Program, explore, random};
use ordain_explore::Strategy;
use ordain_explore::strategy::{Bound, Bounded, Dfs, Dpor, Optimal, Source};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Programs with more schedules than this are passed over; a few larger ones are looked at.
const MOST_SCHEDULES: u64 = 1_000;
const MOST_OF_LARGE: u64 = 5_000;

/// What is wrong with a strategy's exploration, compared with the oracle's.
fn compare(name: &str, oracle: &Explored, found: &Explored) -> Result<(), String> {
    let count = |e: &Explored| e.classes.len();
    if found.limited {
        return Err(format!("{name} runs more than plain search"));
    }
    let missed = oracle.classes.keys().filter(|c| !found.classes.contains_key(c)).count();
    let invented = found.classes.keys().filter(|c| !oracle.classes.contains_key(c)).count();
    if missed + invented > 0 {
        return Err(format!("{name}: {missed} classes missed of {}, {invented} invented", count(oracle)));
    }
    if oracle.final_states != found.final_states {
        return Err(format!("{name}: final states differ"));
    }
    if oracle.deadlocks != found.deadlocks || oracle.livelocks != found.livelocks {
        return Err(format!("{name}: deadlocks or livelocks differ"));
    }
    Ok(())
}

fn runs_no_class_twice(name: &str, found: &Explored) -> Result<(), String> {
    match found.classes.values().filter(|c| c.0 > 1).count() {
        0 => Ok(()),
        twice => Err(format!("{name}: {twice} classes of {} run more than once", found.classes.len())),
    }
}

/// Checks one program; `None` if it has too many schedules.
fn check(program: &Program, seed: u64) -> Option<Result<(), String>> {
    let most = if seed % 16 == 5 { MOST_OF_LARGE } else { MOST_SCHEDULES };
    // Bounded search goes through everything once for each level, so it takes part now and then.
    let bounded = seed % 8 < 2;
    let oracle = explore(program, &mut Dfs::default(), most);
    if oracle.limited {
        return None;
    }
    let exhaustive = check_exhaustive(program, &oracle);
    Some(exhaustive.and_then(|()| if bounded { check_bounded(program, &oracle) } else { Ok(()) }))
}

fn check_exhaustive(program: &Program, oracle: &Explored) -> Result<(), String> {
    if oracle.inconsistent {
        return Err("executions of one class end in different states".into());
    }
    let limit = 4 * MOST_OF_LARGE;
    let mut optimal = Optimal::default();
    let found = explore(program, &mut optimal, limit);
    compare("optimal", oracle, &found)?;
    runs_no_class_twice("optimal", &found)?;
    if optimal.redundant() + found.summary.blocked > 0 {
        return Err("optimal: a run was blocked by sleep sets".into());
    }
    let found = explore(program, &mut Source::default(), limit);
    compare("source", oracle, &found)?;
    runs_no_class_twice("source", &found)?;
    let found = explore(program, &mut Dpor::default(), limit);
    compare("dpor", oracle, &found)?;
    runs_no_class_twice("dpor", &found)
}

/// A bound that cuts nothing off leaves an exhaustive search.
fn check_bounded(program: &Program, oracle: &Explored) -> Result<(), String> {
    for bound in [Bound::Preemptions(99), Bound::Delays(99)] {
        let mut bounded = Bounded::new(bound);
        let found = explore(program, &mut bounded, 100 * MOST_OF_LARGE);
        compare("bounded", oracle, &found)?;
        if bounded.coverage() != ordain_explore::Coverage::Everything {
            return Err("bounded: not exhaustive with a large bound".into());
        }
    }
    Ok(())
}

/// As `check`, with panics as failures.
fn check_caught(program: &Program, seed: u64) -> Option<Result<(), String>> {
    let result = catch_unwind(AssertUnwindSafe(|| check(program, seed)));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Some(Err(format!("panic: {}", text.unwrap_or("?"))))
    })
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
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
                    let program = random::program(seed);
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
