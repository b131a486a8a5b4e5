//! Suites that are stopped or killed at any moment go on with `--resume`: nothing is explored again, and rows come to what they would have come
//! to otherwise. The Rust tests are the cases of this very file.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{compile, directory, json, ordain, source, write};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Tests of suites; they are ignored when this file is tested.
mod cases {
    use ordain::sync::{Arc, Mutex};
    use ordain::thread;

    /// Threads that take a lock in turn, so many times each.
    fn counter(threads: usize, rounds: usize) -> impl Fn() {
        move || {
            let count = Arc::new(Mutex::new(0));
            let turn =
                move |count: &Mutex<usize>| (0..rounds).for_each(|_| *count.lock().expect("held by nobody") += 1);
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let count = count.clone();
                    thread::spawn(move || turn(&count))
                })
                .collect();
            turn(&count);
            others.into_iter().for_each(|other| other.join().expect("it does not panic"));
        }
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn large() {
        ordain::check(counter(3, 4));
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn twice() {
        ordain::check(counter(2, 4));
        ordain::Check::new()
            .name("second")
            .strategy(ordain::Strategy::Portfolio)
            .run(counter(2, 5))
            .expect_no_finding();
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn finds_and_goes_on() {
        let report = ordain::Check::new().keep_going(true).run(|| {
            let count = Arc::new(Mutex::new(0));
            let other = count.clone();
            let child = thread::spawn(move || (0..4).for_each(|_| *other.lock().expect("held by nobody") += 1));
            assert!(*count.lock().expect("held by nobody") != 2, "it was looked at in between");
            (0..3).for_each(|_| *count.lock().expect("held by nobody") += 1);
            child.join().expect("it does not panic");
        });
        assert_eq!(report.findings.len(), 1);
    }

    #[test]
    #[ignore = "a case of a suite"]
    fn outside() {
        static COUNT: Mutex<usize> = Mutex::const_new(0);
        ordain::check(|| {
            let turn = || (0..5).for_each(|_| *COUNT.lock().expect("held by nobody") += 1);
            let child = thread::spawn(turn);
            turn();
            child.join().expect("it does not panic");
        });
    }
}

/// What tests come to that nobody stops.
const COUNTS: [(&str, u64); 6] = [
    ("program", 34_650),
    ("mixed", 503),
    ("large", 34_650),
    ("twice", 70 + 503),
    ("finds_and_goes_on", 0),
    ("outside", 252),
];

fn suite(at: &Path, names: &[&str], head: &str) {
    compile(at, &source("counts/mutex_counter.c"), "counter", &[]);
    std::os::unix::fs::symlink(std::env::current_exe().unwrap(), at.join("cases")).unwrap();
    let test = |name: &&str| {
        let what = match *name {
            "program" => "program = \"./counter\"\nargs = [\"3\", \"4\"]".to_owned(),
            "mixed" => "program = \"./counter\"\nargs = [\"2\", \"5\"]\nstrategy = \"portfolio\"".to_owned(),
            case => format!("binary = \"./cases\"\ntest = \"cases::{case}\""),
        };
        format!("[[test]]\nname = \"{name}\"\n{what}\n")
    };
    write(at, "ordain.toml", format!("[suite]\n{head}\n{}", names.iter().map(test).collect::<String>()));
}

fn row<'a>(result: &'a Value, name: &str) -> &'a Value {
    result["tests"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

fn resume(at: &Path, options: &[&str], status: i32) -> Value {
    json(ordain(at).args(["suite", "-q", "--format", "json", "--resume", ".ordain/suite"]).args(options), status)
}

fn expect(result: &Value, names: &[&str]) {
    for name in names {
        let wanted = COUNTS.iter().find(|(known, _)| known == name).unwrap().1;
        let row = row(result, name);
        assert_eq!((&row["state"], &row["executions"]), (&"verified".into(), &wanted.into()), "{row:#}");
    }
}

/// The checkpoints of tests.
fn checkpoints(at: &Path) -> Vec<(PathBuf, SystemTime)> {
    let tests = fs::read_dir(at.join(".ordain/suite")).into_iter().flatten().flatten();
    let files = tests.flat_map(|test| fs::read_dir(test.path()).into_iter().flatten().flatten());
    let checkpoints = files.filter(|file| file.file_name().to_string_lossy().starts_with("checkpoint"));
    checkpoints.filter_map(|file| Some((file.path(), file.metadata().ok()?.modified().ok()?))).collect()
}

#[test]
fn every_budget_is_spent_on_what_is_new() {
    let directory = directory();
    let at = directory.path();
    let names = ["mixed", "twice", "finds_and_goes_on"];
    suite(at, &names, "workers = 1\nslice = \"20 executions\"");
    let whole = json(ordain(at).args(["suite", "-q", "--format", "json"]), 1);
    expect(&whole, &["mixed", "twice"]);
    let budget = ["-q", "--format", "json", "--budget", "150 executions"];
    let stopped = ordain(at).arg("suite").args(budget).output().unwrap();
    let mut result: Value = serde_json::from_slice(&stopped.stdout).unwrap();
    let mut spent = 150;
    while result["finished"] == false {
        assert_eq!(result["executions"], spent);
        let stopped = ordain(at).args(["suite", "--resume", ".ordain/suite"]).args(budget).output().unwrap();
        result = serde_json::from_slice(&stopped.stdout).unwrap();
        spent += 150;
    }
    for name in names {
        for key in ["state", "executions", "notes"] {
            assert_eq!(row(&result, name)[key], row(&whole, name)[key], "{name}");
        }
        assert_eq!(
            row(&result, name)["findings"].as_array().map(Vec::len),
            row(&whole, name)["findings"].as_array().map(Vec::len)
        );
    }
    assert!(checkpoints(at).is_empty(), "nothing is left");
}

#[test]
fn a_suite_that_is_killed_again_and_again_comes_to_the_same() {
    let directory = directory();
    let at = directory.path();
    let names = ["program", "large", "twice"];
    suite(at, &names, "slice = \"50ms\"");
    for kill in 0..4 {
        let before = checkpoints(at);
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
        command.current_dir(at).args(["suite", "-q"]).stdout(Stdio::null()).stderr(Stdio::null());
        if kill > 0 {
            command.args(["--resume", ".ordain/suite"]);
        }
        let mut child = command.spawn().unwrap();
        // Whenever it comes it must do no harm, but something shall have been kept.
        while checkpoints(at) == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(7));
        }
        std::thread::sleep(Duration::from_millis(31 * kill));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    expect(&resume(at, &[], 0), &names);
    assert!(checkpoints(at).is_empty(), "nothing is left");
}

#[test]
fn what_cannot_be_gone_on_with_begins_again_and_says_why() {
    let directory = directory();
    let at = directory.path();
    let names = ["program", "mixed", "large", "outside"];
    suite(at, &names, "workers = 1\npolicy = \"round-robin\"\nslice = \"40 executions\"");
    let stopped = json(ordain(at).args(["suite", "-q", "--format", "json", "--budget", "160 executions"]), 0);
    assert_eq!(stopped["finished"], false);
    // Damaged, of another test, of another program.
    let of = |name: &str, file: &str| at.join(".ordain/suite").join(name).join(file);
    let mut bytes = fs::read(of("program", "checkpoint")).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    fs::copy(of("program", "checkpoint"), of("mixed", "checkpoint")).unwrap();
    fs::write(of("program", "checkpoint"), bytes).unwrap();
    fs::write(of("large", "checkpoint-1"), "ordain checkpoint 9 of some other time\n").unwrap();
    let result = resume(at, &[], 0);
    expect(&result, &names);
    let note = |name: &str| row(&result, name)["notes"].to_string();
    for (name, why) in [
        ("program", "it is damaged"),
        ("mixed", "it is of another arguments"),
        ("large", "another version of Ordain"),
        ("outside", "locks or channels that were made outside"),
    ] {
        assert!(note(name).contains("began again") && note(name).contains(why), "{name}: {}", note(name));
    }
    // A suite that is not resumed begins with nothing.
    let again = json(ordain(at).args(["suite", "-q", "--format", "json", "--budget", "160 executions"]), 0);
    assert_eq!(again["executions"], 160);
}
