//! What the system offers: the checks agree with the features, and looking changes nothing.

use ordain_native::doctor::{Check, Status, examine, features};
use std::fs;

fn check(name: &str) -> Check {
    examine().into_iter().find(|check| check.name == name).unwrap_or_else(|| panic!("there is no check {name}"))
}

#[test]
fn the_checks_agree_with_the_features() {
    let features = features();
    let pairs = [
        ("userfaultfd", features.userfaultfd_wp_async),
        ("PAGEMAP_SCAN", features.pagemap_scan),
        ("seccomp", features.seccomp_trap),
        ("FSGSBASE", features.fsgsbase),
        ("fixed addresses", features.no_aslr),
    ];
    for (name, there) in pairs {
        assert_eq!(check(name).status == Status::Ok, there, "{name}");
    }
}

#[test]
fn every_check_says_what_it_found_and_what_it_is_for() {
    let checks = examine();
    for check in &checks {
        assert!(!check.found.is_empty() && !check.needed_for.is_empty(), "{check:?}");
        assert_eq!(check.fix.is_some(), check.status != Status::Ok, "what is not there has a fix: {check:?}");
    }
    let mut names: Vec<_> = checks.iter().map(|check| check.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), checks.len(), "each thing once");
}

#[test]
fn finds_what_is_certainly_there() {
    assert_eq!(check("processor").found, "x86_64");
    assert!(check("kernel").found.starts_with("Linux "));
    assert!(check("glibc").found.starts_with("2."));
    assert!(check("cores").found.parse::<usize>().is_ok_and(|cores| cores > 0));
    assert!(check("memory").found.contains("GiB"));
}

#[test]
fn looking_changes_nothing() {
    let state = || {
        let status = fs::read_to_string("/proc/thread-self/status").expect("readable");
        let kept = |line: &&str| ["NoNewPrivs", "Seccomp"].iter().any(|name| line.starts_with(name));
        let lines: Vec<String> = status.lines().filter(kept).map(str::to_owned).collect();
        let personality = fs::read_to_string("/proc/thread-self/personality").ok();
        (lines, personality)
    };
    let before = state();
    examine();
    assert_eq!(state(), before);
}
