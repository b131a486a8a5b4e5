//! Every exhaustive strategy against plain depth-first search.

use super::{Explored, Program, explore};
use ordain_explore::strategy::{Bound, Bounded, Dfs, Dpor, Optimal, Source};
use ordain_explore::{Coverage, Strategy};

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

/// Checks one program, bounded search included if told; `None` if it has more than `most` schedules.
pub fn check(program: &Program, most: u64, bounded: bool) -> Option<Result<(), String>> {
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
    let limit = 10 * oracle.summary.executions + 100;
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
        let found = explore(program, &mut bounded, 100 * oracle.summary.executions + 1000);
        compare("bounded", oracle, &found)?;
        if bounded.coverage() != Coverage::Everything {
            return Err("bounded: not exhaustive with a large bound".into());
        }
    }
    Ok(())
}
