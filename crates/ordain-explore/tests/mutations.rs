//! Every access in a footprint is needed: without it, or read instead of written, some program is explored wrongly.
//!
//! The exceptions are in `docs/footprints.md`, with the reason. `scripts/mutate-footprints` runs this; `ORDAIN_PROGRAMS` sets in how many random
//! programs accesses are looked for, `ORDAIN_ATTEMPTS` how many programs may fail to tell a mutant.
#![cfg(feature = "mutate")]

mod common;

use common::compare::check;
use common::{I, Program, explore, random};
use ordain_explore::strategy::Optimal;
use ordain_model::Wait;
use ordain_model::mutation::{self, Change, Entry};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Programs with more classes are passed over.
const MOST_CLASSES: u64 = 300;
/// Random programs with more schedules are not compared with plain search.
const MOST_SCHEDULES: u64 = 300;
/// The same for programs that were written.
const MOST_OF_RARE: u64 = 20_000;

/// Every other program is about few things, where a difference shows sooner.
fn program(seed: u64) -> Program {
    if seed.is_multiple_of(2) { random::program(seed) } else { random::focused_program(seed) }
}

type Mutant = (Entry, Change);

/// Programs that random ones seldom are.
fn rare_programs() -> Vec<Program> {
    let waiter = vec![I::Lock(0, Wait::Block), I::CondWait(0, 0, Wait::Block), I::Unlock(0)];
    let futex = vec![I::FutexWait(0, 0, Wait::Timed)];
    let requeue = vec![I::Requeue(0, 1), I::FutexWake(1, 1)];
    let notify = vec![I::Notify(0, u32::MAX)];
    // A signal that is pending for the process, which the first thread blocks; the others may take it as well once they unblock it.
    let pending = |rest: &[I]| [&[I::Block(2), I::KillAny(2), I::Spawn(1)], rest].concat();
    let come = |rest: &[I]| [&[I::Block(3), I::Kill(1, 2)], rest].concat();
    let wait = Wait::Interruptible;
    let waits = vec![I::FutexWait(0, 0, Wait::Block)];
    let programs = vec![
        vec![pending(&[I::Block(1)]), vec![I::Kill(0, 1)]],
        vec![pending(&[I::Block(0)]), vec![I::Block(0)]],
        vec![pending(&[I::Block(0)]), vec![I::Ignore(2)]],
        vec![pending(&[I::TakeSignal(2, Wait::Try)]), vec![I::Ignore(2)]],
        vec![pending(&[I::TakeSignal(2, Wait::Try)]), vec![I::TakeSignal(2, Wait::Try)]],
        vec![pending(&[I::Ignore(2)]), vec![I::Block(0)]],
        vec![pending(&[I::Ignore(2)]), vec![I::TakeSignal(2, Wait::Try)]],
        vec![vec![I::Block(1), I::Spawn(1), I::TakeSignal(1, Wait::Try)], vec![I::KillAny(1)]],
        vec![vec![I::Block(1), I::Spawn(1), I::KillAny(1)], vec![I::TakeSignal(1, Wait::Try)]],
        vec![vec![I::Block(1), I::Kill(0, 1), I::Ignore(1)], vec![I::Kill(0, 1)]],
        vec![vec![I::Cancel(1)], come(&[I::TakeSignal(2, wait)])],
        vec![vec![], come(&[I::TakeSignal(2, wait)]), vec![I::Cancel(1)]],
        vec![vec![I::Kill(1, 1)], vec![I::Sleep], vec![I::HandleOnce]],
        vec![vec![I::HandleOnce, I::Kill(1, 1), I::Kill(2, 1)], vec![], vec![]],
        vec![vec![I::Ignore(1), I::Kill(1, 1)], vec![]],
        vec![vec![I::Spawn(2)], vec![I::KillAny(1)], vec![]],
        vec![vec![I::KillAny(1)], vec![I::Spawn(2)], vec![]],
        vec![vec![I::Join(1, Wait::Timed)], vec![I::Cancel(0)]],
        vec![vec![], vec![I::Sleep], vec![I::Join(1, Wait::Timed)], vec![I::Cancel(2)]],
        vec![vec![I::Cancel(2)], vec![I::Sleep], vec![I::Join(1, wait)]],
        vec![
            vec![I::Raise(0), I::Acquire(0, wait)],
            vec![I::Await(0, wait), I::Kill(0, 1)],
            vec![I::Acquire(0, Wait::Try), I::Post(0)],
        ],
        vec![vec![I::Await(0, Wait::Timed)], vec![I::Kill(0, 1)], vec![I::Raise(0)]],
        vec![vec![I::Raise(0)], vec![I::Kill(2, 1)], vec![I::Await(0, wait)]],
        vec![vec![I::DropSender(0), I::Receive(0, Wait::Timed)], vec![I::DropSender(0)]],
        vec![vec![I::DropSender(0)], vec![I::DropSender(0), I::Receive(0, Wait::Timed)]],
        vec![vec![I::Requeue(0, 1)], waits.clone(), vec![I::FutexWake(0, 1)]],
        vec![vec![I::FutexWake(0, 1)], waits.clone(), vec![I::Requeue(0, 1)]],
        vec![vec![], waits, vec![I::FutexWake(0, 1)], vec![I::Requeue(0, 1)]],
        vec![
            vec![I::Watch(0), I::Watch(1), I::Spawn(1), I::Shut(0), I::Join(1, Wait::Block), I::PollSet(Wait::Try)],
            vec![I::Shut(1)],
        ],
        vec![requeue.clone(), futex.clone(), futex.clone()],
        vec![vec![], futex.clone(), futex, requeue],
        vec![vec![], vec![I::Park(Wait::Block)], vec![I::Detach(1)], vec![I::Detach(1)]],
        vec![notify.clone(), waiter, notify],
        vec![vec![I::TakeSignal(3, Wait::Block)], vec![I::KillAny(1), I::Ignore(1)]],
        vec![vec![I::KillAny(2), I::TakeSignal(3, Wait::Try)], vec![I::Ignore(2)]],
    ];
    programs.into_iter().map(Program::new).collect()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Runs `work` on each processor, quietly.
fn on_all(work: impl Fn() + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(&work);
        }
    });
    let _ = std::panic::take_hook();
}

/// The seeds of the first programs in which there is an access, for each that there is; programs that were written have all of theirs.
fn programs_of_entries(programs: u64, attempts: usize) -> BTreeMap<Entry, Vec<u64>> {
    let (next, found) = (AtomicU64::new(0), Mutex::new(BTreeMap::<Entry, BTreeSet<u64>>::new()));
    on_all(|| {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= programs {
                return;
            }
            mutation::set(None);
            mutation::take_seen();
            if explore(&program(seed), &mut Optimal::default(), MOST_CLASSES).limited {
                continue;
            }
            let seen = mutation::take_seen();
            let mut found = found.lock().expect("no panic");
            for entry in seen {
                found.entry(entry).or_default().insert(seed);
            }
        }
    });
    let mut found = found.into_inner().expect("no panic");
    for program in rare_programs() {
        explore(&program, &mut Optimal::default(), MOST_OF_RARE);
        for entry in mutation::take_seen() {
            found.entry(entry).or_default();
        }
    }
    // The first ones, whatever the order in which they were found.
    let found = found.into_iter();
    found.map(|(entry, seeds)| (entry, seeds.into_iter().take(attempts).collect())).collect()
}

/// Whether a program is explored rightly.
fn is_right(program: &Program, most: u64) -> bool {
    matches!(catch_unwind(AssertUnwindSafe(|| check(program, most, false))), Ok(None | Some(Ok(()))))
}

/// Whether some program tells a mutant from the original.
fn is_killed(mutant: Mutant, seeds: &[u64]) -> bool {
    let seeds = seeds.iter().map(|seed| (program(*seed), MOST_SCHEDULES));
    seeds.chain(rare_programs().into_iter().map(|program| (program, MOST_OF_RARE))).any(|(program, most)| {
        let original = explore(&program, &mut Optimal::default(), MOST_CLASSES);
        mutation::set(Some(mutant));
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mutated = explore(&program, &mut Optimal::default(), 10 * MOST_CLASSES);
            mutated.final_states == original.final_states && matches!(check(&program, most, false), None | Some(Ok(())))
        }));
        mutation::set(None);
        // What comes out wrongly anyway tells nothing.
        !matches!(result, Ok(true)) && is_right(&program, most)
    })
}

fn name((entry, change): Mutant) -> String {
    let Entry { op, object, write } = entry;
    let access = if write { "write" } else { "read" };
    match change {
        Change::LeftOut => format!("{op}: {access} of {object} left out"),
        Change::Weakened => format!("{op}: write of {object} as a read"),
    }
}

/// The first column of the table of exceptions.
fn explained() -> BTreeSet<String> {
    let page = include_str!("../../../docs/footprints.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    rows.map(|(name, _)| name.to_owned()).collect()
}

#[test]
#[allow(clippy::print_stderr)] // Tells the survivors.
fn every_access_in_a_footprint_is_needed() {
    for program in rare_programs() {
        assert!(is_right(&program, MOST_OF_RARE), "{program:?} is explored wrongly");
    }
    let (programs, attempts) = (number("ORDAIN_PROGRAMS", 12_000), number("ORDAIN_ATTEMPTS", 200));
    let entries = programs_of_entries(programs, attempts as usize);
    let mutants: Vec<(Mutant, &Vec<u64>)> = entries
        .iter()
        .flat_map(|(entry, seeds)| {
            let weakened = (entry.write && entry.object != "everything").then_some(((*entry, Change::Weakened), seeds));
            core::iter::once(((*entry, Change::LeftOut), seeds)).chain(weakened)
        })
        .collect();
    let (next, survivors) = (AtomicU64::new(0), Mutex::new(BTreeSet::new()));
    on_all(|| {
        while let Some((mutant, seeds)) = mutants.get(next.fetch_add(1, Relaxed) as usize) {
            if !is_killed(*mutant, seeds) {
                survivors.lock().expect("no panic").insert((name(*mutant), seeds.len()));
            }
        }
    });
    let survivors = survivors.into_inner().expect("no panic");
    let explained = explained();
    eprintln!("{} mutants, {} survive", mutants.len(), survivors.len());
    for (name, programs) in &survivors {
        let known = if explained.contains(name) { "explained" } else { "NOT EXPLAINED" };
        eprintln!("{name} ({programs} programs): {known}");
    }
    let unexplained = survivors.iter().filter(|(name, _)| !explained.contains(name)).count();
    assert_eq!(unexplained, 0, "accesses that no program needs");
    let alive = |name: &String| survivors.iter().any(|(survivor, _)| survivor == name);
    let stale: Vec<&String> = explained.iter().filter(|name| !alive(name)).collect();
    assert!(stale.is_empty(), "needed after all, so out of the table: {stale:?}");
}
