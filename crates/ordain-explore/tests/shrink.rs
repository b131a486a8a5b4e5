//! Shrinking against brute force: of all schedules of a random program that show the same deadlock, none may have fewer
//! preemptions than the shrunk one, and of those with as few none fewer steps; and the shrunk one shows it.

mod common;

use common::{Interpreter, random};
use ordain_explore::strategy::{Dfs, Random};
use ordain_explore::{Lowest, Plan, Planned, Preemptions, Strategy, Target, prefix_of, shrink};
use ordain_model::{End, Execution};

/// Programs with more schedules are passed over.
const MOST_SCHEDULES: usize = 600;

/// What tells one deadlock from another: who waits to do what.
fn deadlock(execution: &Execution) -> Option<String> {
    match &execution.end {
        End::Deadlock(deadlock) => {
            Some(format!("{:?}", deadlock.waiters.iter().map(|w| (w.thread, w.op)).collect::<Vec<_>>()))
        }
        _ => None,
    }
}

/// All schedules that end in a deadlock; `None` if there are too many schedules, or if loops make them incomparable.
fn all_deadlocks(target: &mut Interpreter) -> Option<Vec<(String, Vec<Planned>)>> {
    let mut strategy = Dfs::default();
    let (mut found, mut runs) = (Vec::new(), 0);
    while let Some(mut plan) = strategy.plan() {
        target.run(&mut plan);
        runs += 1;
        if runs > MOST_SCHEDULES || target.execution().learned || target.execution().spin_held {
            return None;
        }
        if let Some(what) = deadlock(target.execution()) {
            found.push((what, prefix_of(target.execution())));
        }
        strategy.learn(target.execution());
    }
    Some(found)
}

/// Preemptions and steps.
fn size(target: &mut Interpreter, prefix: &[Planned]) -> (usize, usize) {
    let mut policy = Preemptions::of(Lowest);
    target.run(&mut Plan::follow(prefix, &mut policy));
    (policy.steps.len(), target.execution().steps.len())
}

#[test]
fn no_schedule_of_the_same_deadlock_is_smaller() {
    let (mut programs, mut shrunk_some) = (0, 0);
    for seed in 0..3_000 {
        let program = random::program(seed);
        let mut target = Interpreter::new(program.clone());
        let Some(found) = all_deadlocks(&mut target).filter(|found| !found.is_empty()) else { continue };
        programs += 1;
        // The last one that plain search comes to has most to shrink.
        let (what, prefix) = &found[found.len() - 1];
        let alike: Vec<_> = found.iter().filter(|f| f.0 == *what).collect();
        let smallest = alike.iter().map(|f| size(&mut target, &f.1)).min().expect("it is one of them");
        let mut same = |target: &mut Interpreter| deadlock(target.execution()).as_ref() == Some(what);
        let shrunk = shrink(&mut target, prefix, &mut same, &mut || true).expect("it was found with this schedule");
        assert!(!shrunk.stopped && shrunk.fewest, "seed {seed}: {program:?}");
        assert_eq!((shrunk.size.preemptions, shrunk.size.steps), smallest, "seed {seed}: {program:?}");
        assert!(shrunk.size <= shrunk.from);
        target.run(&mut Plan::follow(&shrunk.prefix, &mut Lowest));
        assert_eq!(deadlock(target.execution()).as_ref(), Some(what), "seed {seed}");
        assert_eq!(size(&mut target, &shrunk.prefix), smallest);
        shrunk_some += usize::from(shrunk.size < shrunk.from);
    }
    assert!(
        programs > 150 && shrunk_some > 50,
        "{programs} programs, {shrunk_some} made smaller: the test is too weak"
    );
}

#[test]
fn without_time_what_was_found_is_kept() {
    let mut seen = 0;
    for seed in 0..500 {
        let program = random::program(seed);
        let mut target = Interpreter::new(program);
        let mut strategy = Random::new(seed);
        for _ in 0..50 {
            let Some(mut plan) = strategy.plan() else { break };
            target.run(&mut plan);
            if let Some(what) = deadlock(target.execution()) {
                let prefix = prefix_of(target.execution());
                let mut same = |target: &mut Interpreter| deadlock(target.execution()).as_ref() == Some(&what);
                let shrunk = shrink(&mut target, &prefix, &mut same, &mut || false);
                if let Some(shrunk) = shrunk {
                    assert_eq!(shrunk.size, shrunk.from);
                    assert_eq!(shrunk.prefix.len(), prefix.len());
                    seen += 1;
                }
                break;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}
