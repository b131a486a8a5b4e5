//! Help, version, and wrong use.

mod common;

use common::{directory, ordain, stderr, stdout};

#[test]
fn help_lists_the_commands_and_the_exit_status() {
    let directory = directory();
    let text = stdout(ordain(directory.path()).arg("--help"), 0);
    for word in [
        "check",
        "demo",
        "show",
        "replay",
        "report",
        "explain",
        "doctor",
        "Exit status: 0 nothing found, 1 a finding, 2 wrong use",
    ] {
        assert!(text.contains(word), "{text}");
    }
    for command in ["check", "demo", "show", "replay", "report", "explain", "doctor"] {
        let text = stdout(ordain(directory.path()).args([command, "--help"]), 0);
        assert!(text.contains(&format!("Usage: ordain {command}")), "{text}");
    }
}

#[test]
fn the_version_is_told() {
    let directory = directory();
    let text = stdout(ordain(directory.path()).arg("--version"), 0);
    assert_eq!(text, format!("ordain {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_use_has_status_2() {
    let directory = directory();
    let wrong: [&[&str]; 7] =
        [&[], &["shwo"], &["show"], &["replay"], &["show", "a", "b"], &["--demo"], &["replay", "a", "-p", "b"]];
    for arguments in wrong {
        let text = stderr(ordain(directory.path()).args(arguments), 2);
        assert!(text.contains("Usage: ordain"), "{arguments:?}: {text}");
    }
    let text = stderr(ordain(directory.path()).arg("shwo"), 2);
    assert!(text.contains("'show'"), "{text}");
}
