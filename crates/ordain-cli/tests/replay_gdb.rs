//! `ordain replay --gdb`: gdb stands where the finding is, or before any step, and knows threads by name.
#![cfg(target_os = "linux")]

mod common;

use common::{ordain, twins};
use std::path::Path;
use tempfile::TempDir;

const FINDING: &str = ".ordain/bug/finding-1.ordain";

fn found(name: &str) -> TempDir {
    let directory = twins(name);
    ordain(directory.path()).args(["check", "--", "./bug"]).assert().code(1);
    directory
}

/// What gdb prints for commands, without addresses and directories.
fn gdb(directory: &Path, options: &[&str], commands: &[&str]) -> String {
    let mut ordain = ordain(directory);
    ordain.args(["replay", FINDING, "--gdb", "--gdb-arg=-nx", "--gdb-arg=-batch"]).args(options);
    // Its own directory for temporary files shows that nothing is left there.
    let temporary = directory.join("tmp");
    std::fs::create_dir_all(&temporary).expect("a directory can be made");
    ordain.env("TMPDIR", &temporary).env_remove("DEBUGINFOD_URLS");
    for command in commands {
        ordain.arg("--gdb-arg=-ex").arg(format!("--gdb-arg={command}"));
    }
    let output = ordain.assert().code(1).get_output().clone();
    assert_eq!(std::fs::read_dir(&temporary).expect("the directory is there").count(), 0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let programs = common::source("").display().to_string();
    let text = text.replace(&programs, "");
    let word = |word: &str| if word.starts_with("0x") { "0x..".to_owned() } else { word.to_owned() };
    // Numbers of processes.
    let text =
        text.split_inclusive(')').map(|part| match part.rsplit_once("(LWP ").or(part.rsplit_once("(process ")) {
            Some((before, _)) => format!("{before}(..)"),
            None => part.to_owned(),
        });
    let text: String = text.collect();
    text.lines().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn a_deadlock_shows_who_waits_where() {
    let directory = found("abba");
    let commands = ["ordain threads", "ordain bt all", "ordain thread main", "ordain thread 2", "bt"];
    insta::assert_snapshot!(gdb(directory.path(), &[], &commands));
}

#[test]
fn a_failed_assertion_shows_its_thread_and_values() {
    let directory = found("check_then_act");
    insta::assert_snapshot!(gdb(directory.path(), &[], &["ordain threads", "bt", "print seats", "ordain output"]));
}

#[test]
fn a_crash_is_at_its_line() {
    let directory = found("null_pointer");
    insta::assert_snapshot!(gdb(directory.path(), &[], &["ordain threads", "bt", "print config", "continue"]));
}

#[test]
fn the_schedule_goes_on_from_any_step() {
    let directory = found("check_then_act");
    let commands = [
        "ordain threads",
        "ordain step",
        "ordain next main.2",
        "print seats",
        "ordain until 9",
        "ordain threads",
        "break check_then_act.c:21",
        "continue",
        "print seats",
        "continue",
        "ordain steps",
    ];
    insta::assert_snapshot!(gdb(directory.path(), &["--at", "2"], &commands));
}

#[test]
fn wrong_commands_are_told() {
    let directory = found("abba");
    let mut command = ordain(directory.path());
    command.args(["replay", FINDING, "--gdb", "--at", "1", "--gdb-arg=-nx", "--gdb-arg=-q"]);
    command.write_stdin("ordain thread nobody\nordain step x\nordain until 0\ncontinue\ncontinue\nordain threads\n");
    let output = command.assert().code(1).get_output().clone();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    for told in [
        "There is no thread `nobody` here; there are main, main.1.",
        "`x` is no number.",
        "Step 1 is next; to go back, start again with --at 0.",
        "The execution is over: deadlock",
        "The program has ended; start `ordain replay --gdb` again.",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
}

#[test]
fn threads_have_names_in_gdbs_own_list() {
    let directory = found("abba");
    let text = gdb(directory.path(), &[], &["info threads"]);
    for name in ["main", "main.1", "main.2"] {
        assert_eq!(text.matches(&format!("\"{name}\"")).count(), 1, "{text}");
    }
}

#[test]
fn spare_threads_are_not_in_gdbs_own_list() {
    let directory = found("check_then_act");
    let text = gdb(directory.path(), &[], &["info threads", "info threads 1", "print seats"]);
    let listed: Vec<&str> = text.lines().filter(|line| line.contains(" LWP ")).collect();
    assert_eq!(listed.len(), 3, "main and the thread that failed, and one that was asked for by its number: {text}");
    assert!(listed[0].contains("\"main.") && listed[0].contains("in take () at bugs/check_then_act.c:"), "{text}");
    assert!(listed[1].contains("\"main\"") && listed[1].contains("in main () at"), "{text}");
    assert!(!text.contains("(spare)\"") && text.contains("not shown)"), "{text}");
    assert!(text.contains("$1 = "), "the frame is the same as before: {text}");
}

#[test]
fn a_step_that_is_not_there_and_a_missing_gdb_are_told() {
    let directory = found("abba");
    let told = |ordain: &mut assert_cmd::Command| {
        String::from_utf8_lossy(&ordain.assert().code(2).get_output().stderr.clone()).into_owned()
    };
    let text = told(ordain(directory.path()).args(["replay", FINDING, "--gdb", "--at", "99"]));
    assert!(text.contains("there is no step 99: the execution has 6 of them"), "{text}");
    let text = told(ordain(directory.path()).args(["replay", FINDING, "--gdb"]).env("PATH", "/nonexistent"));
    assert!(text.contains("gdb is not installed") && text.contains("apt install gdb"), "{text}");
    let text = told(ordain(directory.path()).args(["replay", FINDING, "--at", "1"]));
    assert!(text.contains("--gdb"), "{text}");
}
