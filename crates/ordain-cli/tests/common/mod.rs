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
    command.current_dir(directory).env_remove("ORDAIN_REPLAY").env("NO_COLOR", "1").env("LC_ALL", "C");
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
level: ordain types, sequential consistency
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
