//! Estimates: golden values, invariants, and numbers that are known.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::random;
use common::{Interpreter, Program};
use ordain_explore::estimate::trace::{Event, Recorder};
use ordain_explore::estimate::{Backtracks, Effort, Expectation, Fit, Foresight, Measure, Method, Technique};
use ordain_explore::strategy::Kind;
use ordain_explore::{Target, search};
use ordain_model::End;
use std::ops::ControlFlow;

fn technique(expectation: Expectation, method: Method, fit: Fit) -> Technique {
    Technique { expectation, method, fit }
}

fn parse(text: &str) -> Vec<Event> {
    text.lines().flat_map(|l| l.split('|')).map(|l| l.trim().parse().unwrap()).collect()
}

/// The trace of figure 4.2 of the thesis.
const FIGURE: &str = "AddNode 0 -1 | Explore 0 | Start | AddNode 1 0 | AddNode 2 0 | AddNode 3 0 | Explore 1 | Transition 1
AddNode 4 1 | AddNode 5 1 | Explore 4 | Transition 4 | AddNode 6 4 | Explore 6 | Transition 6 | Explore 3 | End 0.42
Start | Transition 3 | AddNode 7 3 | AddNode 8 3 | Explore 7 | Transition 7 | AddNode 9 7 | Explore 9 | Transition 9 | End 0.29";

#[test]
fn the_figure_of_the_thesis() {
    let events = parse(FIGURE);
    for mut tree in [Backtracks::with_oracle(events.iter()), Backtracks::depth_first()] {
        let mut seen = Vec::new();
        for event in &events {
            tree.take(event).unwrap();
            if let Event::End { .. } = event {
                let estimate = |e, m| tree.estimate(technique(e, m, Fit::Empty), Measure::Time).unwrap().exp();
                for expectation in [Expectation::Lazy, Expectation::Eager] {
                    seen.push(estimate(expectation, Method::Weighted));
                    seen.push(estimate(expectation, Method::Recursive));
                }
            }
        }
        let expected = [0.84, 0.84, 1.26, 1.26, 0.71, 0.71, 0.71, 0.71];
        assert!(seen.iter().zip(expected).all(|(s, e)| (s - e).abs() < 1e-9), "{seen:?}");
    }
    let mut oracle = Backtracks::with_oracle(events.iter());
    for event in &events[..17] {
        oracle.take(event).unwrap();
    }
    let estimate = oracle.estimate(technique(Expectation::Oracle, Method::Weighted, Fit::Empty), Measure::Executions);
    assert!((estimate.unwrap().exp() - 2.0).abs() < 1e-9);
}

#[test]
fn lines_that_make_no_sense_are_refused() {
    for line in
        ["", "AddNode", "AddNode 1", "AddNode x 0", "Explore -3", "End", "End inf", "End -1", "Start 1", "start"]
    {
        assert!(line.parse::<Event>().is_err(), "{line}");
    }
    for trace in
        ["Start", "AddNode 1 0", "AddNode 0 - | AddNode 0 -", "AddNode 0 -1 | Explore 7", "AddNode 0 - | End 1"]
    {
        let mut tree = Backtracks::default();
        assert!(parse(trace).iter().any(|e| tree.take(e).is_err()), "{trace}");
    }
    let jump = "AddNode 0 -1 | AddNode 1 0 | AddNode 2 1 | Start | Transition 2";
    let mut tree = Backtracks::default();
    assert!(parse(jump).iter().any(|e| tree.take(e).is_err()));
}

/// Explores a program and gives its trace, with steps for time.
fn trace_of(program: &Program, kind: Kind, most: u64) -> Option<Vec<Event>> {
    let mut target = Interpreter::new(program.clone());
    let mut strategy = kind.make(1, 3);
    let (mut events, mut recorder) = (Vec::new(), Recorder::default());
    let mut runs = 0;
    loop {
        match strategy.plan() {
            Some(mut plan) => target.run(&mut plan),
            None => return Some(events),
        }
        let execution = target.execution();
        if execution.learned {
            return None;
        }
        strategy.learn(execution);
        recorder.record(execution, &*strategy, execution.steps.len() as f64, &mut |event| events.push(event));
        runs += 1;
        if runs >= most {
            return None;
        }
    }
}

#[test]
fn invariants_hold_on_random_programs() {
    let (mut complete, mut late) = (0, 0);
    for seed in 0..120 {
        let program = random::program(seed);
        for kind in [Kind::Dfs, Kind::Dpor, Kind::Source, Kind::Optimal] {
            let Some(events) = trace_of(&program, kind, 150) else { continue };
            complete += 1;
            late += u32::from(adds_late(&events));
            check_trace(&events, &format!("seed {seed}, {}, {program:?}", kind.name()));
        }
    }
    assert!(complete > 150 && late * 4 < complete, "{complete}, {late}");
}

/// Whether nodes got children after they were first gone on from: a crash that was moved to before a thread's last steps, which nobody had
/// announced there. Whoever expects that all children are explored does not expect those.
fn adds_late(events: &[Event]) -> bool {
    let (mut parents, mut entered) = (std::collections::BTreeMap::new(), std::collections::BTreeSet::new());
    events.iter().any(|event| {
        match *event {
            Event::AddNode { node, parent } => {
                parents.insert(node, parent);
                return parent.is_some_and(|parent| entered.contains(&parent));
            }
            Event::Transition { node } => entered.extend(parents.get(&node).copied().flatten()),
            _ => {}
        }
        false
    })
}

/// Estimates never fall below what has elapsed, are exact at the end, the oracle lies between the others, and a tree that forgets what is
/// finished says the same as one that does not; also after the trace was written and read.
fn check_trace(events: &[Event], name: &str) {
    let text: String = events.iter().map(|e| format!("{e}\n")).collect();
    assert_eq!(parse(text.trim_end()), events);
    let late = adds_late(events);
    let mut whole = Backtracks::with_oracle(events.iter());
    let mut folded = Backtracks::depth_first();
    for event in events {
        whole.take(event).unwrap_or_else(|e| panic!("{name}: {e}"));
        folded.take(event).unwrap_or_else(|e| panic!("{name}: {e}"));
        if !matches!(event, Event::End { .. }) {
            continue;
        }
        for measure in [Measure::Executions, Measure::Time] {
            let elapsed = if measure == Measure::Time { whole.elapsed() } else { whole.executions() as f64 };
            for technique in Technique::all() {
                let Some(estimate) = whole.estimate(technique, measure) else { continue };
                assert!(estimate >= elapsed.ln() - 1e-9, "{name}: {technique:?} {} < {elapsed}", estimate.exp());
                if technique.expectation != Expectation::Oracle {
                    let other = folded.estimate(technique, measure).unwrap();
                    let same = (other - estimate).abs() < 1e-6 * estimate.abs().max(1.0);
                    assert!(same, "{name}: {technique:?} {estimate} and {other}");
                }
            }
            let weighted = |e| whole.estimate(technique(e, Method::Weighted, Fit::Empty), measure).unwrap();
            let (lazy, oracle) = (weighted(Expectation::Lazy), weighted(Expectation::Oracle));
            let eager = weighted(Expectation::Eager);
            assert!(lazy <= oracle + 1e-9, "{name}: {lazy} {oracle}");
            assert!(late || oracle <= eager + 1e-9, "{name}: {oracle} {eager}");
        }
    }
    for technique in Technique::all().filter(|t| t.fit == Fit::Empty) {
        let total = whole.estimate(technique, Measure::Time).unwrap().exp();
        assert!((total / whole.elapsed() - 1.0).abs() < 1e-9, "{name}: {technique:?} {total} {}", whole.elapsed());
    }
    assert!(folded.size() <= 1 + events.len());
}

/// Explores a program while its sketch learns; gives the number of executions, and estimates after the first execution, first with
/// what that has taught, then with all that is known in the end.
fn foresee(program: &Program, kind: Kind, most: u64) -> Option<(u64, f64)> {
    let mut target = Interpreter::new(program.clone());
    let mut foresight = Foresight::default();
    let mut strategy = kind.make(1, 3);
    let mut learned = false;
    let summary = search(&mut target, &mut *strategy, &mut |target, summary| {
        learned |= target.execution().learned || target.execution().spin_held;
        foresight.learn(target.execution());
        if summary.executions < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if !summary.exhausted || learned {
        return None;
    }
    let mut strategy = kind.make(1, 3);
    target.run(&mut strategy.plan()?);
    strategy.learn(target.execution());
    let cut = u64::from(!matches!(target.execution().end, End::Cut));
    strategy.plan()?;
    let estimate = foresight.estimate(&*strategy, cut, Effort::of(100_000))?;
    Some((summary.executions, estimate.ln.exp()))
}

#[test]
fn foresight_counts_what_a_search_explores() {
    for kind in [Kind::Dfs, Kind::Optimal, Kind::Source] {
        let (mut exact, mut all) = (0, 0);
        for seed in 0..200 {
            let program = random::program(seed);
            let Some((executions, estimate)) = foresee(&program, kind, 500) else { continue };
            all += 1;
            exact += i32::from((estimate - executions as f64).abs() < 0.5);
        }
        assert!(all > 30 && exact * 4 >= all * 3, "{}: {exact} of {all}", kind.name());
    }
}

#[test]
fn branch_points_tell_what_is_left_and_can_be_sent() {
    use ordain_explore::branch_point::{branch_points, decode, encode};
    for kind in [Kind::Dfs, Kind::Dpor, Kind::Source, Kind::Optimal] {
        let mut told = 0;
        for seed in 0..60 {
            let mut target = Interpreter::new(random::program(seed));
            let mut strategy = kind.make(1, 3);
            for _ in 0..20 {
                let Some(mut plan) = strategy.plan() else { break };
                target.run(&mut plan);
                if target.execution().learned {
                    break;
                }
                strategy.learn(target.execution());
                let path = branch_points(&*strategy);
                assert_eq!(decode(&encode(&path)).as_ref(), Some(&path));
                let Some(last) = path.last() else { continue };
                told += 1;
                // The way that comes next is the last one, and something was done there before.
                assert!(!last.explored.is_empty() && !last.explored.contains(&last.taken), "{kind:?}, seed {seed}");
                let mut pairs = encode(&path);
                pairs.pop();
                assert!(decode(&pairs).is_none_or(|other| other != path));
            }
        }
        assert!(told > 50, "{kind:?}: {told}");
    }
}
