//! What the tests of all commands need.
#![allow(dead_code)] // Each test file uses a part of it.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A directory of its own for each test, removed at its end.
pub(crate) fn directory() -> TempDir {
    tempfile::tempdir().expect("a temporary directory can be made")
}

/// The command `ordain`, run in `directory` without what the environment may say about replay and colours.
pub(crate) fn ordain(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.current_dir(directory).env_remove("ORDAIN_REPLAY").env("NO_COLOR", "1").env("LC_ALL", "C.UTF-8");
    command
}

/// Writes a file and gives its path.
pub(crate) fn write(directory: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join(name);
    fs::write(&path, text).expect("the file can be written");
    path
}

/// A schedule of the test `bank::transfer`.
pub(crate) const SCHEDULE: &str = "\
ordain schedule 1
program: bank::transfer
found: deadlock: main waits to lock main/mutex 0
level: ordain types
steps:
main                 # spawn main.1 at src/lib.rs:7:9
main                 # lock main/mutex#0 at src/lib.rs:9:13
main.1 choice 1      # notify-one main/condvar#2 -> woke 1 at src/lib.rs:11:13
main.1
";

/// Standard output of a command that must end with `status`.
pub(crate) fn stdout(command: &mut Command, status: i32) -> String {
    let output = command.assert().code(status).get_output().clone();
    String::from_utf8(output.stdout).expect("output is text")
}

/// Standard error of a command that must end with `status`; nothing may be on standard output.
pub(crate) fn stderr(command: &mut Command, status: i32) -> String {
    let output = command.assert().code(status).get_output().clone();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8(output.stderr).expect("output is text")
}

/// What a command that must end with `status` tells people: its result on standard output, then all else on standard error.
pub(crate) fn people(command: &mut Command, status: i32) -> String {
    let output = command.assert().code(status).get_output().clone();
    String::from_utf8(output.stdout).expect("output is text")
        + &String::from_utf8(output.stderr).expect("output is text")
}

/// The text of a test program, such as `bugs/abba.c`.
pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs").join(name)
}

/// Compiles a C program into `directory` and gives its path.
pub(crate) fn compile(directory: &Path, source: &Path, program: &str, flags: &[&str]) -> PathBuf {
    let path = directory.join(program);
    let mut command = std::process::Command::new("cc");
    command.args(["-O1", "-g", "-pthread", "-o"]).arg(&path).arg(source).args(flags);
    let output = command.output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    path
}

/// Compiles the text of a C program.
pub(crate) fn compile_text(directory: &Path, text: &str, program: &str) -> PathBuf {
    let source = write(directory, &format!("{program}.c"), text);
    compile(directory, &source, program, &[])
}

/// A directory with the programs of `bugs/NAME.c`, as `bug`, and of `fixed/NAME.c`, as `fixed`.
pub(crate) fn twins(name: &str) -> TempDir {
    let directory = directory();
    compile(directory.path(), &source(&format!("bugs/{name}.c")), "bug", &[]);
    compile(directory.path(), &source(&format!("fixed/{name}.c")), "fixed", &[]);
    directory
}

/// Text for people, of a command that must end with `status`; without what differs from machine to machine.
pub(crate) fn told(command: &mut Command, status: i32, directory: &Path) -> String {
    let text = people(command, status);
    let root = directory.canonicalize().expect("the directory exists");
    let programs = source("").display().to_string();
    let text = text.replace(env!("CARGO_BIN_EXE_ordain"), "ordain").replace(&programs, "");
    let text = text.replace(&root.display().to_string(), "[DIRECTORY]");
    let without_times = |line: &str| {
        let mut line = line.to_owned();
        if line.trim_start().starts_with("took ") {
            line = line.chars().map(|c| if c.is_ascii_digit() { 'N' } else { c }).collect();
            while line.contains("NN") {
                line = line.replace("NN", "N");
            }
            // There is a speed only if exploring took time that the clock of the processor could see.
            line = line.replace(": N executions per CPU second", "");
        }
        line
    };
    // Progress is told only if it takes long.
    let is_progress = |line: &str| {
        let seconds =
            line.split_once(" s: ").is_some_and(|(n, rest)| n.parse::<u32>().is_ok() && rest.contains(" per second, "));
        seconds || line.starts_with("found: ") && line.contains("; making it smaller, ")
    };
    text.lines().filter(|line| !is_progress(line)).map(|line| without_times(line) + "\n").collect()
}

/// The JSON object on standard output of a command that must end with `status`.
pub(crate) fn json(command: &mut Command, status: i32) -> serde_json::Value {
    serde_json::from_str(&stdout(command, status)).expect("standard output is one JSON value")
}

/// Demands that a result of `ordain check` is as its schema says.
pub(crate) fn assert_valid(value: &serde_json::Value) {
    let schema = serde_json::from_str(include_str!("../../../../docs/check.schema.json")).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
