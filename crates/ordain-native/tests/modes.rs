//! The three modes give the same classes, the same findings and the same output: starting anew is the reference for the others.

mod common;

use common::{Program, check_of, programs};
use ordain_explore::strategy::{Kind as StrategyKind, Optimal};
use ordain_explore::{Class, Target, class_of, search};
use ordain_native::{Ended, Failure, Mode, Native};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How an execution ended and what it wrote, by its class.
type Explored = BTreeMap<Class, (String, Ended, String, String)>;

/// Explores a program in one mode, led from outside; what it shows. `None` if it cannot be run in this mode. What comes from outside
/// is `inputs`, as far as they go.
fn explore(program: &Program, mode: Mode, most: u64, inputs: &mut Vec<u8>) -> Option<Explored> {
    let check = check_of(program);
    let mut native =
        Native::new(check.launch.clone(), check.options, Some(mode), check.patience).expect("a program that starts");
    native.set_inputs(inputs);
    let mut explored = Explored::new();
    search(&mut native, &mut Optimal::default(), &mut |native, summary| {
        match native.failure() {
            Some(Failure::Refused(_)) if mode == Mode::Snapshot => return ControlFlow::Break(()),
            failure => assert!(failure.is_none(), "{}: {failure:?}", program.file),
        }
        let execution = native.execution();
        let (class, end) = (class_of(execution), execution.end.title().to_owned());
        // How a process perishes whose memory was overwritten depends on what is where in it.
        let ended = match native.aftermath().ended.clone() {
            Ended::Corrupted(_) => Ended::Corrupted(String::new()),
            ended => ended,
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let shown = (end, ended, text(native.output(0)), text(native.output(1)));
        assert!(explored.insert(class, shown).is_none(), "{}: a class was run twice", program.file);
        if summary.executions >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    *inputs = native.inputs();
    native.failure().is_none().then_some(explored)
}

/// Which programs of some directories can be compared: all but those that take long, or synchronise by atomics.
fn list(directories: &[&str]) -> Vec<Program> {
    let only = std::env::var("ORDAIN_ONLY").unwrap_or_default();
    let wanted = |p: &Program| !p.atomics && !p.sample && p.expect != "hang" && p.file.contains(&only);
    let is_in = |p: &Program| directories.iter().any(|d| p.file.starts_with(d));
    programs().into_iter().filter(|p| is_in(p) && wanted(p)).collect()
}

/// Compares up to so many executions of each program of some directories. How many were compared, and how many programs cannot be
/// run in snapshot mode.
fn compare(directories: &[&str], most: u64) -> (usize, usize) {
    let (mut compared, mut refused) = (0, 0);
    let mut wrong = Vec::new();
    for program in list(directories) {
        let mut inputs = Vec::new();
        let reference = explore(&program, Mode::Exec, most, &mut inputs).expect("every program can be started anew");
        for mode in [Mode::Fork, Mode::Snapshot] {
            let Some(explored) = explore(&program, mode, most, &mut inputs) else {
                refused += 1;
                continue;
            };
            let differs = explored.iter().find(|(class, shown)| reference.get(class) != Some(shown));
            if let Some((class, shown)) = differs {
                let anew = reference.get(class);
                wrong.push(format!("{} in {} mode: {shown:?}, but anew {anew:?}", program.file, mode.word()));
            } else if explored.len() != reference.len() {
                wrong.push(format!(
                    "{} in {} mode: {} classes, but anew {}",
                    program.file,
                    mode.word(),
                    explored.len(),
                    reference.len()
                ));
            }
        }
        compared += reference.len();
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    (compared, refused)
}

#[test]
fn all_modes_give_the_same_executions() {
    // Starting anew takes milliseconds, so long explorations are compared by their beginning, which is the same for all.
    let (compared, refused) = compare(&["bugs/", "fixed/"], 60);
    assert!(compared > 700, "{compared} executions were compared");
    assert_eq!(refused, 0);
}

#[test]
fn all_modes_run_every_mechanism_in_the_same_way() {
    let (compared, refused) = compare(&["features/", "counts/"], 20);
    assert!(compared > 300, "{compared} executions were compared");
    // Child processes cannot be undone by putting memory back.
    assert!(refused < 5, "{refused} programs cannot be run in snapshot mode");
}

#[test]
fn exploring_inside_finds_what_leading_from_outside_finds() {
    for program in list(&["bugs/", "fixed/"]).into_iter().filter(|p| p.option.is_none()) {
        let inside = |mode| {
            let mut check = check_of(&program);
            check.strategy = Some(StrategyKind::Optimal);
            check.mode = Some(mode);
            check.keep_going = true;
            check.max_executions = Some(300);
            let report = check.run().unwrap_or_else(|problem| panic!("{}: {problem}", program.file));
            let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.story.kind.word()).collect();
            kinds.sort_unstable();
            (report.verdict, report.summary.executions, kinds)
        };
        assert_eq!(inside(Mode::Snapshot), inside(Mode::Fork), "{}", program.file);
    }
}
