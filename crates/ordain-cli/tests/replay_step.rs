//! `ordain replay --step`: commands from a pipe lead through a schedule, forward and back.
#![cfg(target_os = "linux")]

mod common;

use common::{SCHEDULE, directory, ordain, stderr, told, twins, write};
use std::fs;
use std::path::Path;

const FINDING: &str = ".ordain/bug/finding-1.ordain";

fn step(directory: &Path, commands: &str) -> assert_cmd::Command {
    let mut command = ordain(directory);
    command.args(["replay", "--step", FINDING]).write_stdin(commands.to_owned());
    command
}

fn found(name: &str) -> tempfile::TempDir {
    let directory = twins(name);
    ordain(directory.path()).args(["check", "--", "./bug"]).assert().code(1);
    directory
}

#[test]
fn a_schedule_is_walked_forward_and_back() {
    let directory = found("abba");
    let commands = "h\nn\n\nw\nt main.2\no\nw main.1\nb 2\nu 3\nw\nr\nw\no\nn\nq\n";
    insta::assert_snapshot!(told(&mut step(directory.path(), commands), 1, directory.path()));
}

#[test]
fn a_crash_is_where_it_happened() {
    let directory = found("null_pointer");
    insta::assert_snapshot!(told(&mut step(directory.path(), "r\nw\nb\nw\n"), 0, directory.path()));
}

#[test]
fn wrong_commands_are_told_and_the_end_of_input_ends() {
    let directory = found("abba");
    let text = stderr(&mut step(directory.path(), "z\nn x\nt main.7\nw nobody\nn 2\nu 1\np\nb 99"), 0);
    for line in [
        "`z` is no command; `h` lists them\n",
        "`n x` is no command; `h` lists them\n",
        "there is no thread `main.7`; so far there are main\n",
        "there is no thread `nobody`; so far there are main\n",
        "step 2 is next; `b 1` goes back to 1\n",
        "the program has written nothing yet\n",
        "(ordain) b 99\nnext is step 0: main: spawn main.1 at abba.c:35",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(text.ends_with("(ordain) \n"), "{text}");
    stderr(&mut step(directory.path(), ""), 0);
}

#[test]
fn a_changed_program_departs_on_the_way() {
    let directory = found("abba");
    fs::rename(directory.path().join("fixed"), directory.path().join("bug")).expect("the file can be renamed");
    let text = stderr(&mut step(directory.path(), "r\nq\n"), 2);
    assert!(text.contains("the program departs from the schedule: main.2 was to lock mutex to at "), "{text}");
    assert!(text.contains("--search"), "{text}");
}

#[test]
fn only_programs_are_stepped_through() {
    let directory = directory();
    write(directory.path(), "test.ordain", SCHEDULE);
    for option in ["--step", "--gdb", "--search", "--all"] {
        let text = stderr(ordain(directory.path()).args(["replay", "test.ordain", option]), 2);
        assert!(text.contains(&format!("{option} is for schedules of programs")), "{text}");
    }
}

#[test]
fn an_interrupt_leaves_no_process() {
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    let directory = found("abba");
    // Whoever runs tests in the background of a shell has interrupts ignored, and so would have what they start.
    let mut ordain = Command::new("env");
    ordain
        .current_dir(directory.path())
        .args(["--default-signal=INT", env!("CARGO_BIN_EXE_ordain"), "replay", "--step", FINDING])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped());
    let mut ordain = ordain.spawn().expect("ordain can be run");
    let mut text = Vec::new();
    let mut errors = ordain.stderr.take().expect("it is a pipe");
    while !text.ends_with(b"(ordain) ") {
        let mut byte = [0];
        errors.read_exact(&mut byte).expect("the prompt comes");
        text.push(byte[0]);
    }
    let id = ordain.id();
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("the system tells children");
    let child: u32 = children.trim().parse().expect("there is one child");
    let interrupted = Command::new("kill").args(["-INT", &id.to_string()]).status().expect("kill can be run");
    assert!(interrupted.success() && !ordain.wait().expect("it ends").success());
    let is_there = || {
        let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        state.rsplit_once(')').is_some_and(|rest| !rest.1.trim_start().starts_with(['Z', 'X']))
    };
    while is_there() {
        std::thread::yield_now();
    }
}
