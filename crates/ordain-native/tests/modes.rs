//! The three modes give the same classes, the same findings and the same output: starting anew is the reference for the others.

mod common;

use common::{Program, check_of, programs};
use ordain_explore::strategy::{Kind as StrategyKind, Optimal};
use ordain_explore::{Class, Target, class_of, search};
use ordain_native::{Ended, Failure, Mode, Native, Verdict};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// How an execution ended and what it wrote, by its class.
type Explored = BTreeMap<Class, (String, Ended, String, String)>;

/// Explores a program in one mode, led from outside; what it shows. Without a mode it is the one that fits the program. `None` if it
/// cannot be run in this mode. What comes from outside is `inputs`, as far as they go.
fn explore(program: &Program, mode: Option<Mode>, most: u64, inputs: &mut Vec<u8>) -> Option<Explored> {
    let check = check_of(program);
    let mut native = Native::new(check.launch.clone(), check.options(), mode, check.program.patience())
        .expect("a program that starts");
    native.set_inputs(inputs);
    let mut explored = Explored::new();
    search(&mut native, &mut Optimal::default(), &mut |native, summary| {
        match native.failure() {
            Some(Failure::Refused(_)) if mode == Some(Mode::Fork) => return ControlFlow::Break(()),
            failure => assert!(failure.is_none(), "{} {:?}: {failure:?}", program.file, program.args),
        }
        if summary.executions == 0 && summary.restarted {
            // It taught the search something, which begins again.
            explored.clear();
            return ControlFlow::Continue(());
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
    // What a process does after it has written over the runtime in it depends on what is where, so that has no class.
    let destroys = |p: &Program| p.file == "bugs/wild_writes.c";
    let wanted = |p: &Program| !p.atomics && !p.sample && p.expect != "hang" && !destroys(p) && p.file.contains(&only);
    let is_in = |p: &Program| directories.iter().any(|d| p.file.starts_with(d));
    programs().into_iter().filter(|p| is_in(p) && wanted(p)).collect()
}

/// Whether a program reports what it does with numbers that differ between processes: sanitizers write their process and addresses.
fn reports_addresses(program: &Program) -> bool {
    program.flags.iter().any(|flag| flag.starts_with("-fsanitize="))
}

/// What is different about a program in a mode, if anything.
fn difference(program: &Program, mode: &str, explored: &Explored, reference: &Explored) -> Option<String> {
    let name = format!("{} {:?} in {mode} mode", program.file, program.args);
    let differs = explored.iter().find(|(class, shown)| reference.get(class) != Some(shown));
    if let Some((class, shown)) = differs {
        return Some(format!("{name}: {shown:?}, but {:?}", reference.get(class)));
    }
    let (here, there) = (explored.len(), reference.len());
    (here != there).then(|| format!("{name}: {here} classes, but {there}"))
}

/// Compares up to so many executions of each program of some directories: in the mode that fits it, in fork mode, and anew as long
/// as that does not take more than `anew`. How many were compared, and how many programs cannot be run in fork mode.
fn compare(directories: &[&str], most: u64, anew: u64) -> (usize, usize) {
    let (mut compared, mut refused) = (0, 0);
    let mut wrong = Vec::new();
    for program in list(directories).into_iter().filter(|program| !reports_addresses(program)) {
        let mut inputs = Vec::new();
        let Some(reference) = explore(&program, Some(Mode::Exec), anew, &mut inputs) else { continue };
        let fitting = explore(&program, None, anew, &mut inputs).expect("some mode");
        wrong.extend(difference(&program, "its own", &fitting, &reference));
        let Some(forked) = explore(&program, Some(Mode::Fork), anew, &mut inputs) else {
            refused += 1;
            continue;
        };
        wrong.extend(difference(&program, "fork", &forked, &reference));
        compared += reference.len();
        if reference.len() as u64 == anew && most > anew {
            // The whole, or much more of it, in the modes that are fast.
            let whole = explore(&program, None, most, &mut inputs).expect("some mode");
            let forked = explore(&program, Some(Mode::Fork), most, &mut inputs).expect("as before");
            wrong.extend(difference(&program, "its own", &whole, &forked));
            compared += whole.len();
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    (compared, refused)
}

#[test]
fn all_modes_give_the_same_executions() {
    // Starting anew takes milliseconds, so long explorations are compared with that by their beginning, which is the same for all.
    let (compared, refused) = compare(&["bugs/", "fixed/"], 300, 16);
    assert!(compared > 700, "{compared} executions were compared");
    assert_eq!(refused, 0);
}

#[test]
fn all_modes_run_every_mechanism_in_the_same_way() {
    let (compared, refused) = compare(&["features/", "counts/"], 100, 8);
    assert!(compared > 400, "{compared} executions were compared");
    // What constructors leave open is shared by the children of one process.
    assert!(refused < 5, "{refused} programs cannot be run in fork mode");
}

/// What a check says of a program: verdict, number of executions, kinds of findings.
fn judge(program: &Program, mode: Option<Mode>) -> (Verdict, u64, Vec<&'static str>) {
    let mut check = check_of(program);
    check.settings.strategy = Some(StrategyKind::Optimal);
    check.program.mode = mode;
    check.settings.keep_going = true;
    check.settings.max_executions = Some(300);
    let report = check.run().unwrap_or_else(|problem| panic!("{} {:?}: {problem}", program.file, program.args));
    let mut kinds: Vec<&str> = report.findings.iter().map(|f| f.story.kind.name()).collect();
    kinds.sort_unstable();
    (report.verdict, report.summary.executions, kinds)
}

#[test]
fn exploring_inside_finds_what_leading_from_outside_finds() {
    /// More are not started anew.
    const ANEW: u64 = 4;
    /// Before a program is verified a thousand samples are drawn, which takes ten seconds if each is started anew: so many are.
    const VERIFIED_ANEW: usize = 3;
    let mut verified_anew = 0;
    // Mechanisms are compared above: some take long on purpose, and a thousand samples are drawn of each.
    let all = ["bugs/", "fixed/", "counts/"];
    for program in list(&all).into_iter().filter(|p| p.option.is_none()) {
        let fitting = judge(&program, None);
        if explore(&program, Some(Mode::Fork), 1, &mut Vec::new()).is_some() {
            assert_eq!(fitting, judge(&program, Some(Mode::Fork)), "{} {:?}", program.file, program.args);
        }
        let is_verified = fitting.0 == Verdict::Verified;
        if fitting.1 <= ANEW && !(is_verified && verified_anew == VERIFIED_ANEW) {
            verified_anew += usize::from(is_verified);
            assert_eq!(fitting, judge(&program, Some(Mode::Exec)), "{} {:?}", program.file, program.args);
        }
    }
}

#[test]
fn objects_that_outlive_processes_are_removed_with_the_execution() {
    // Not in the list, because they have names, so that it must not run twice at the same time.
    let text = r#"{"file": "outside/kernel_objects.c", "language": "c", "expect": "verified", "why": ""}"#;
    let program: Program = serde_json::from_str(text).expect("a program");
    for mode in [None, Some(Mode::Fork), Some(Mode::Exec)] {
        assert_eq!(judge(&program, mode), (Verdict::Verified, 2, Vec::new()), "{mode:?}");
    }
}
