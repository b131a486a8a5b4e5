//! `ordain doctor`: every row, its fix, and a conclusion that fits the exit status.
#![cfg(target_os = "linux")]

mod common;

use common::{directory, ordain};

const ROWS: [&str; 14] = [
    "processor",
    "kernel",
    "glibc",
    "userfaultfd",
    "PAGEMAP_SCAN",
    "seccomp",
    "FSGSBASE",
    "fixed addresses",
    "time stamp counter",
    "memfd",
    "ptrace scope",
    "shadow stacks",
    "cores",
    "memory",
];

#[test]
fn everything_is_listed_with_its_use_and_a_conclusion() {
    let directory = directory();
    let output = ordain(directory.path()).arg("doctor").output().expect("the command can be run");
    let text = String::from_utf8(output.stdout).expect("output is text");
    for row in ROWS {
        let line = text.lines().find(|line| line.get(9..).is_some_and(|l| l.starts_with(row)));
        let line = line.unwrap_or_else(|| panic!("no row {row}: {text}"));
        let status = ["ok ", "limited ", "missing "].iter().find(|s| line.starts_with(*s));
        assert!(status.is_some() && line.contains("  for "), "{line}");
    }
    // What is not there has a fix in the line below.
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("limited") || pair[0].starts_with("missing")) {
        assert!(pair[1].contains("-> "), "{pair:?}");
    }
    let works = text.contains("\nprograms can be checked");
    assert!(works != text.contains("\nprograms cannot be checked here"), "{text}");
    assert_eq!(output.status.code(), Some(if works { 0 } else { 2 }));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn the_json_object_has_the_same() {
    let directory = directory();
    let output =
        ordain(directory.path()).args(["doctor", "--format", "json"]).output().expect("the command can be run");
    let object: serde_json::Value = serde_json::from_slice(&output.stdout).expect("standard output is one JSON value");
    assert_eq!(object["version"], 2);
    assert_eq!(output.status.code(), Some(if object["mode"].is_string() { 0 } else { 2 }));
    let checks = object["checks"].as_array().expect("a list");
    let names: Vec<&str> = checks.iter().filter_map(|check| check["name"].as_str()).collect();
    assert_eq!(names, ROWS);
    for check in checks {
        assert!(["ok", "limited", "missing"].contains(&check["status"].as_str().unwrap_or_default()), "{check}");
        assert_eq!(check["fix"].is_string(), check["status"] != "ok", "{check}");
        assert!(check["found"].is_string() && check["needed_for"].is_string(), "{check}");
    }
}
