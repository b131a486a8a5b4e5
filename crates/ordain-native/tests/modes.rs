//! The three modes give the same classes, the same findings and the same output: starting anew is the reference for the others.

mod common;

use common::{Program, check_of, programs};
use ordain_explore::strategy::{Kind as StrategyKind, Optimal};
use ordain_explore::{Class, Target, class_of, search};
use ordain_native::{Ended, Mode, Native};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How an execution ended and what it wrote, by its class.
type Explored = BTreeMap<Class, (String, Ended, String, String)>;

/// Explores a program in one mode, led from outside; what it shows.
fn explore(program: &Program, mode: Mode, most: u64) -> Explored {
    let check = check_of(program);
    let mut native =
        Native::new(check.launch.clone(), check.options, Some(mode), check.patience).expect("a program that starts");
    let mut explored = Explored::new();
    search(&mut native, &mut Optimal::default(), &mut |native, summary| {
        assert!(native.failure().is_none(), "{}: {:?}", program.file, native.failure());
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
    explored
}

/// Which programs can be run in all modes, and are small.
fn list() -> Vec<Program> {
    let only = std::env::var("ORDAIN_ONLY").unwrap_or_default();
    let wanted = |p: &Program| !p.atomics && p.expect != "hang" && p.file.contains(&only);
    programs()
        .into_iter()
        .filter(|p| (p.file.starts_with("bugs/") || p.file.starts_with("fixed/")) && wanted(p))
        .collect()
}

#[test]
fn all_modes_give_the_same_executions() {
    // Starting anew takes milliseconds, so long explorations are compared by their beginning, which is the same for all.
    const MOST: u64 = 60;
    let mut compared = 0;
    let mut wrong = Vec::new();
    for program in list() {
        let reference = explore(&program, Mode::Exec, MOST);
        for mode in [Mode::Fork, Mode::Snapshot] {
            let explored = explore(&program, mode, MOST);
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
    assert!(compared > 700, "{compared} executions were compared");
}

#[test]
fn exploring_inside_finds_what_leading_from_outside_finds() {
    for program in list().into_iter().filter(|p| p.option.is_none()) {
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
