//! Estimates: in verdicts and JSON, exploration traces, and `ordain estimate`.
#![cfg(target_os = "linux")]

mod common;

use common::{compile, directory, json, ordain, people, source, stdout, write};

/// A directory with a program of three threads that take a lock `k` times each.
fn counter() -> tempfile::TempDir {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    directory
}

#[test]
fn a_trace_is_written_and_read() {
    let directory = counter();
    let mut check = ordain(directory.path());
    check.args(["check", "--exploration-trace", "t.trace", "--", "./counter", "3", "2"]);
    assert!(people(&mut check, 0).contains("all 90 classes of schedules"));
    let mut estimate = ordain(directory.path());
    estimate.args(["estimate", "t.trace", "--at", "10,100", "--format", "json"]);
    let told = json(&mut estimate, 0);
    assert_eq!((&told["executions"], &told["complete"]), (&90.into(), &true.into()));
    let rows = told["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 24);
    for row in rows.iter().filter(|row| row["fit"] == "empty") {
        let total = 10f64.powf(row["estimates"][1]["log10"].as_f64().expect("an estimate"));
        assert!((total - 90.0).abs() < 1e-6, "in the end all know it: {row}");
    }
    let table = stdout(ordain(directory.path()).args(["estimate", "t.trace", "--time"]), 0);
    assert!(table.starts_with("The trace of a whole search: 90 executions in "), "{table}");
    assert_eq!(table.lines().filter(|l| l.starts_with("eager")).count(), 8, "{table}");
}

#[test]
fn what_is_left_is_told() {
    let directory = counter();
    let mut check = ordain(directory.path());
    check.args(["check", "--strategy", "optimal", "--max-executions", "500", "--format", "json"]);
    let told = json(check.args(["--", "./counter", "3", "3"]), 0);
    assert_eq!(told["estimate"], 1680, "{told}");
    assert_eq!(told["estimate_log10"]["done"], 500);
    let meaning = told["meaning"].as_str().expect("text");
    assert!(meaning.contains("about 30 %") && meaning.ends_with("of an estimated 1680 classes explored"), "{meaning}");
    let run = std::fs::read_to_string(directory.path().join(".ordain/counter/run.json")).expect("a record");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let path = run["path"].as_array().expect("a path");
    assert!(path.iter().any(|state| !state["left"].as_array().expect("a list").is_empty()), "{path:?}");
    assert!(path.iter().any(|s| s["taken"].as_str().is_some_and(|t| t.contains("lock"))), "{path:?}");
}

#[test]
fn what_is_no_trace_is_refused() {
    let directory = counter();
    let refused = |arguments: &[&str]| people(ordain(directory.path()).args(arguments), 2);
    assert!(refused(&["estimate", "none"]).contains("cannot read the exploration trace none"));
    write(directory.path(), "bad", "AddNode 0 -1\nExplore 0\nStart\nTransition 7\n");
    assert!(refused(&["estimate", "bad"]).contains("bad has no execution"));
    write(directory.path(), "worse", "AddNode 0 -1\nExplore 0\nStart\nTransition 7\nEnd 1\n");
    assert!(refused(&["estimate", "worse"]).contains("line 4: node 7 has not been added"));
    write(directory.path(), "binary", [0u8, 159, 146, 150]);
    assert!(refused(&["estimate", "binary"]).contains("exploration trace"));
    let to = ["check", "--exploration-trace", "none/t", "--", "./counter", "2", "1"];
    assert!(refused(&to).contains("cannot write the exploration trace none/t"));
    let random = ["check", "--strategy", "random", "--exploration-trace", "t", "--", "./counter", "2", "1"];
    assert!(refused(&random).contains("`random` is none"));
}
