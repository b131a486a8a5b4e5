//! `ordain replay`, with a stand-in for cargo that tells how it was called.
#![cfg(unix)]

mod common;

use assert_cmd::Command;
use common::{SCHEDULE, directory, ordain, stderr, stdout, write};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The command `ordain replay a.ordain`, with a cargo that lists `listed` and whose tests end with `status`.
fn replay(directory: &Path, listed: &str, status: i32) -> Command {
    let script = format!(
        "#!/bin/sh\n\
         for last; do :; done\n\
         if [ \"$last\" = --list ]; then echo \"listed with ${{ORDAIN_REPLAY-nothing}}\" >&2; printf '{listed}'; exit; fi\n\
         echo \"cargo $* with $ORDAIN_REPLAY\"\n\
         exit {status}\n"
    );
    let cargo = write(directory, "cargo", script);
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    let mut command = ordain(directory);
    command.args(["replay", "a.ordain"]).env("CARGO", cargo);
    command
}

const LISTED: &str = "other: test\\nbank::transfer: test\\n\\n2 tests, 0 benchmarks\\n";

#[test]
fn the_test_of_the_schedule_is_run_with_it() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let file = directory.path().join("a.ordain");
    let text = stdout(&mut replay(directory.path(), LISTED, 0), 0);
    assert_eq!(text, format!("cargo test -- --exact bank::transfer --nocapture with {}\n", file.display()));
}

#[test]
fn what_follows_two_dashes_is_for_cargo() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let mut command = replay(directory.path(), LISTED, 0);
    let text = stdout(command.args(["--", "-p", "bank", "--release"]), 0);
    assert!(text.starts_with("cargo test -p bank --release -- --exact bank::transfer --nocapture with "), "{text}");
}

#[test]
fn a_test_that_fails_is_a_finding() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    stdout(&mut replay(directory.path(), LISTED, 101), 1);
}

#[test]
fn a_replay_that_is_asked_for_already_does_not_disturb_the_listing() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let mut command = replay(directory.path(), LISTED, 0);
    let output = command.env("ORDAIN_REPLAY", "other.ordain").assert().code(0).get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "listed with nothing\n");
    assert!(String::from_utf8_lossy(&output.stdout).contains("/a.ordain\n"));
}

#[test]
fn a_test_that_is_not_there_is_a_problem_and_not_a_success() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let text = stderr(&mut replay(directory.path(), "0 tests, 0 benchmarks\\n", 0), 2);
    assert!(text.contains("there is no test called `bank::transfer` here"), "{text}");
    assert!(text.contains("ORDAIN_REPLAY=a.ordain cargo test TEST"), "{text}");
}

#[test]
fn tests_that_do_not_build_are_a_problem_and_not_a_finding() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let cargo = write(directory.path(), "failing", "#!/bin/sh\necho 'error: could not compile' >&2\nexit 101\n");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
    let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]).env("CARGO", cargo), 2);
    assert!(text.starts_with("error: could not compile\n"), "{text}");
    assert!(text.contains("the tests cannot be listed: cargo ended with exit status: 101"), "{text}");
}

#[test]
fn a_cargo_that_cannot_be_run_is_a_problem() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]).env("CARGO", "/nowhere/cargo"), 2);
    assert!(text.contains("cannot run /nowhere/cargo") && text.contains("No such file or directory"), "{text}");
}

#[test]
fn the_file_must_be_a_schedule_of_a_test() {
    let directory = directory();
    let with = |program: &str| format!("ordain schedule 1\n{program}steps:\nmain\n");
    let cases = [
        (with(""), "does not name the program"),
        (with("program:\n"), "does not name the program"),
        (with("program: --logfile=x\n"), "`--logfile=x` is not the name of a test"),
        (with("program: ordain demo nothing\n"), "there is no demo program called `nothing`"),
        ("nonsense".to_owned(), "not a schedule"),
    ];
    for (text, reason) in cases {
        write(directory.path(), "a.ordain", &text);
        let shown = stderr(&mut replay(directory.path(), LISTED, 0), 2);
        assert!(shown.contains(reason), "{text:?}: {shown}");
    }
    fs::remove_file(directory.path().join("a.ordain")).expect("the file can be removed");
    let shown = stderr(&mut replay(directory.path(), LISTED, 0), 2);
    assert!(shown.contains("cannot read the schedule file a.ordain"), "{shown}");
}

#[test]
fn a_schedule_of_another_version_of_a_demo_program_departs() {
    let directory = directory();
    write(directory.path(), "a.ordain", "ordain schedule 1\nprogram: ordain demo transfer\nsteps:\nmain.7\n");
    let text = stdout(ordain(directory.path()).args(["replay", "a.ordain"]), 1);
    assert!(text.contains("the program departs from the schedule at step 0"), "{text}");
}
