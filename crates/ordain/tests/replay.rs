//! Replaying findings: schedule files, `ORDAIN_REPLAY`, and what happens to those that do not fit.
//!
//! Tests that need the variable run themselves again as a child process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::quiet;
use ordain::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use ordain::{Check, Finding, FindingKind, Verdict, thread};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

/// Set in child processes.
const CHILD: &str = "ORDAIN_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one test of this binary in a process of its own.
fn child(test: &str, mode: &str, replay: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    command.env(CHILD, mode).env("ORDAIN_REPLAY", replay).env("RUST_BACKTRACE", "0");
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ordain-replay-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two updates of three get lost only if each thread is interrupted at the right place.
fn program() {
    let x = Arc::new(AtomicUsize::new(0));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let x = x.clone();
            thread::spawn(move || {
                let old = x.load(SeqCst);
                x.store(old + 1, SeqCst);
            })
        })
        .collect();
    let old = x.load(SeqCst);
    x.store(old + 1, SeqCst);
    others.into_iter().for_each(|t| t.join().unwrap());
    let left = x.load(SeqCst);
    let pick = ordain::choose(3);
    assert!(left != 1 || pick != 2, "lost two");
}

/// A program that has changed since: one thread less.
fn changed() {
    let x = Arc::new(AtomicUsize::new(0));
    let y = x.clone();
    thread::spawn(move || y.store(1, SeqCst)).join().unwrap();
}

fn found(check: Check) -> Finding {
    let report = check.run(program);
    assert_eq!(report.verdict, Verdict::Finding);
    report.findings[0].clone()
}

/// The part of a child's output that tells the finding.
fn told(output: &Output) -> String {
    let text = text(output);
    let start = text.find("ordain found: ").unwrap_or_else(|| panic!("no finding in {text}"));
    text[start..].lines().take_while(|l| !l.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_schedule_file_is_written_and_replays() {
    const NAME: &str = "a_schedule_file_is_written_and_replays";
    if is_child() {
        ordain::check(program);
        return;
    }
    let directory = Directory::new("file");
    let finding = found(Check::new().schedule_directory(Some(directory.0.clone())));
    let file = finding.schedule_file().expect("a file").to_owned();
    assert!(file.is_absolute() && file.ends_with(Path::new(NAME).join("finding-1.ordain")), "{}", file.display());
    assert_eq!(finding.replay_value(), file.display().to_string());

    let written = std::fs::read_to_string(&file).unwrap();
    let mut lines = written.lines();
    assert_eq!(lines.next(), Some("ordain schedule 1"));
    assert!(written.contains(&format!("\nprogram: {NAME}\nfound: panic: main panicked at ")), "{written}");
    assert_eq!(lines.skip_while(|l| *l != "steps:").skip(1).count(), finding.steps());
    assert!(written.contains("main choice 2        # choose below 3 -> 2 at "), "{written}");
    let entries: Vec<_> = std::fs::read_dir(file.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(entries, ["finding-1.ordain", "run.json"], "nothing half-written stays");

    let output = child(NAME, "replay", finding.replay_value());
    assert!(!output.status.success());
    assert!(text(&output).contains("lost two"), "{}", text(&output));
    assert!(text(&output).contains("(after 1 execution) [1 execution; 1 misbehaved; "), "{}", text(&output));
    assert!(text(&output).contains("; strategy: replay of "), "{}", text(&output));
}

#[test]
fn a_check_that_passes_says_its_verdict_and_a_summary() {
    const NAME: &str = "a_check_that_passes_says_its_verdict_and_a_summary";
    if is_child() {
        for (name, most) in [("first", u64::MAX), ("second", 1), ("third", u64::MAX)] {
            let check = quiet().name(name).strategy(ordain::Strategy::Optimal).max_executions(most);
            check.run(|| _ = ordain::choose(3)).expect_no_finding();
        }
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture", "--test-threads=1"]).env(CHILD, "tell").env_remove("ORDAIN_REPLAY");
    let told = text(&command.output().unwrap());
    let lines: Vec<&str> = told.lines().filter_map(|line| line.split_once("ordain: ").map(|line| line.1)).collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(lines[0].starts_with("first: verified at level ") && lines[0].ends_with(']'), "{told}");
    assert!(
        lines[1].starts_with("second: no finding at level ordain types: nothing was found in 1 execution; "),
        "{told}"
    );
    assert!(lines[2].ends_with(" (3 checks passed so far: 2 verified, 1 without a finding only)"), "{told}");
}

#[test]
fn a_hundred_replays_tell_the_same() {
    const NAME: &str = "a_hundred_replays_tell_the_same";
    if is_child() {
        // A replay runs one execution and tells the finding.
        let texts: Vec<String> = (0..25).map(|_| quiet().run(program).findings[0].to_string()).collect();
        assert!(texts.iter().all(|t| *t == texts[0]), "a replay differs");
        panic!("{}", texts[0]);
    }
    let finding = found(quiet());
    let outputs: Vec<Output> = (0..4).map(|_| child(NAME, "replay", finding.replay_value())).collect();
    // All but the line that says how to replay, which is not repeated when one does.
    let expected = finding.to_string().lines().take_while(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    for output in &outputs {
        assert_eq!(told(output), expected);
    }
}

#[test]
fn every_strategy_finds_something_that_replays() {
    const NAME: &str = "every_strategy_finds_something_that_replays";
    use ordain::Strategy::{Dfs, Dpor, Optimal, Pct, Portfolio, Pos, Random, Source, Urw};
    if is_child() {
        let report = quiet().run(program);
        assert_eq!(report.executions, 1);
        report.expect_no_finding();
        return;
    }
    for strategy in [Dfs, Dpor, Source, Optimal, Random, Urw, Pct, Pos, Portfolio] {
        let finding = found(quiet().strategy(strategy));
        let output = child(NAME, "replay", finding.replay_value());
        assert!(text(&output).contains("lost two"), "{strategy:?}: {}", text(&output));
    }
}

#[test]
fn other_checks_run_as_usual_during_a_replay() {
    const NAME: &str = "other_checks_run_as_usual_during_a_replay";
    if is_child() {
        let other = quiet().name("another").run(changed);
        // Only one of its threads uses the object.
        assert_eq!((other.verdict, other.executions), (Verdict::NoFinding, 1), "{other}");
        assert_eq!(other.strategy, "optimal");
        let replayed = quiet().run(program);
        assert!(replayed.strategy.starts_with("replay of "), "{replayed}");
        return;
    }
    let output = child(NAME, "replay", found(quiet()).replay_value());
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_schedule_is_printed_if_no_file_can_be_written() {
    const NAME: &str = "a_schedule_is_printed_if_no_file_can_be_written";
    if is_child() {
        ordain::check(program);
        return;
    }
    let directory = Directory::new("blocked");
    let file = directory.0.join("a file");
    std::fs::write(&file, "in the way").unwrap();
    let finding = found(Check::new().schedule_directory(Some(file.join("below"))));
    assert_eq!(finding.schedule_file(), None);
    assert!(finding.replay_value().starts_with(&format!("inline:{NAME};main")), "{finding}");
    assert!(finding.to_string().contains("The schedule file could not be written ("), "{finding}");
    let output = child(NAME, "replay", finding.replay_value());
    assert!(text(&output).contains("lost two"), "{}", text(&output));
}

#[test]
fn findings_of_one_check_get_files_of_their_own() {
    let directory = Directory::new("many");
    let report = Check::new().name("a::b c").keep_going(true).schedule_directory(Some(directory.0.clone())).run(|| {
        let pick = ordain::choose(3);
        assert_ne!(pick, 1, "one");
        assert_ne!(pick, 2, "two");
    });
    let files: Vec<_> = report.findings.iter().map(|f| f.schedule_file().unwrap().to_owned()).collect();
    assert_eq!(files.len(), 2);
    assert!(files[0].ends_with("a.b-c/finding-1.ordain") && files[1].ends_with("a.b-c/finding-2.ordain"), "{files:?}");
}

/// The message of a child that was asked to replay a file with this content.
fn replay_of(test: &str, content: &str) -> String {
    let directory = Directory::new(test);
    let file = directory.0.join("some.ordain");
    std::fs::write(&file, content).unwrap();
    let output = child(test, "replay", &file.display().to_string());
    assert!(!output.status.success());
    text(&output)
}

#[test]
fn a_corrupt_file_is_refused_with_the_line() {
    const NAME: &str = "a_corrupt_file_is_refused_with_the_line";
    if is_child() {
        ordain::check(program);
        return;
    }
    let cases = [
        ("", "line 1: not a schedule"),
        ("ordain schedule 99\nsteps:\n", "line 1: made by another version of Ordain"),
        ("ordain schedule 1\nnonsense\nsteps:\n", "line 2: expected `KEY: VALUE` or `steps:`"),
        ("ordain schedule 1\nprogram: x\n", "no line `steps:`"),
        ("ordain schedule 1\nsteps:\nmain\nmain choice many\n", "line 4: not a step"),
    ];
    for (content, message) in cases {
        let text = replay_of(NAME, content);
        assert!(text.contains("ordain: cannot replay ") && text.contains(message), "{content:?}: {text}");
    }
    let missing = text(&child(NAME, "replay", "/nowhere/at/all.ordain"));
    assert!(missing.contains("ordain: cannot replay /nowhere/at/all.ordain: "), "{missing}");
    let inline = text(&child(NAME, "replay", "inline:no steps"));
    assert!(
        inline.contains("ordain: cannot replay the schedule given inline: expected `inline:NAME;STEPS`"),
        "{inline}"
    );
}

#[test]
fn a_program_that_has_changed_is_told_where_it_departs() {
    const NAME: &str = "a_program_that_has_changed_is_told_where_it_departs";
    if is_child() {
        let report = quiet().run(changed);
        assert_eq!(*report.findings[0].kind(), FindingKind::Nondeterminism);
        report.expect_no_finding();
        return;
    }
    let text = text(&child(NAME, "replay", found(quiet()).replay_value()));
    let difference = "departs from the schedule at step 1: main was to move, but its join main.1 is blocked";
    assert!(text.contains(difference), "{text}");
    assert!(text.contains("The program has changed since, or it is not deterministic"), "{text}");
    let directory = Directory::new("changed");
    let finding = found(Check::new().schedule_directory(Some(directory.0.clone())));
    let output = child(NAME, "replay", finding.replay_value());
    assert!(self::text(&output).contains("(it showed: panic: main panicked at "), "{}", self::text(&output));
}

#[test]
fn a_program_that_was_fixed_passes_its_old_schedule() {
    const NAME: &str = "a_program_that_was_fixed_passes_its_old_schedule";
    if is_child() {
        let report = quiet().run(|| assert_ne!(ordain::choose(3), 7));
        assert_eq!((report.verdict, report.executions), (Verdict::NoFinding, 1));
        return;
    }
    let report = quiet().run(|| assert_ne!(ordain::choose(3), 2));
    let output = child(NAME, "replay", report.findings[0].replay_value());
    assert!(output.status.success(), "{}", text(&output));
}
