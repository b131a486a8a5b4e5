//! `ordain report` and the files for other tools, made from real runs; progress; and Ctrl-C.
#![cfg(target_os = "linux")]

mod common;

use common::{compile_text, directory, json, ordain, people, twins, write};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A program whose schedules nobody explores in a day.
const ENDLESS: &str = "#include <pthread.h>\nstatic pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void *work(void *p) { for (int i = 0; i < 40; i++) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); } return p; }\n\
    int main(void) { pthread_t t[4]; for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n\
    for (int i = 0; i < 4; i++) pthread_join(t[i], 0); return 0; }\n";

fn check(directory: &Path, options: &[&str], program: &str, status: i32) -> String {
    people(ordain(directory).arg("check").args(options).arg("--").arg(program), status)
}

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).expect("the file is there")
}

#[test]
fn a_run_becomes_one_page() {
    let directory = twins("abba");
    check(directory.path(), &[], "./bug", 1);
    let text = people(ordain(directory.path()).arg("report"), 0);
    assert_eq!(text, ".ordain/bug/report.html\n");
    let page = read(directory.path(), ".ordain/bug/report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("main.1 and main.2 wait for each other"));
    // Of two runs the newer one; of a named one that; and wherever it is wanted.
    check(directory.path(), &[], "./fixed", 0);
    assert_eq!(people(ordain(directory.path()).arg("report"), 0), ".ordain/fixed/report.html\n");
    people(ordain(directory.path()).args(["report", ".ordain/bug", "-o", "here.html"]), 0);
    assert_eq!(read(directory.path(), "here.html"), page);
}

#[test]
fn a_browser_is_started_if_there_is_one() {
    let directory = twins("abba");
    check(directory.path(), &[], "./bug", 1);
    people(ordain(directory.path()).args(["report", "--open"]).env("BROWSER", "true"), 0);
    let text = people(ordain(directory.path()).args(["report", "--open"]).env("BROWSER", "no-such-browser"), 2);
    assert!(text.contains("the report was written to .ordain/bug/report.html, but no browser shows it"), "{text}");
}

#[test]
fn what_is_no_run_is_told() {
    let directory = directory();
    let text = people(ordain(directory.path()).arg("report"), 2);
    assert!(text.contains("there is no run in .ordain here"), "{text}");
    let text = people(ordain(directory.path()).args(["report", "nowhere"]), 2);
    assert!(text.contains("nowhere is not the directory of a run"), "{text}");
    for (contents, reason) in [
        ("{", "EOF"),
        ("[]", "invalid"),
        ("{\"version\": 2}", "missing field"),
        ("{\"version\": 7}", "another version"),
    ] {
        write(directory.path(), "run.json", contents);
        let text = people(ordain(directory.path()).args(["report", "."]), 2);
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn other_tools_get_their_files() {
    let directory = twins("abba");
    let files = ["--junit", "junit.xml", "--sarif", "out.sarif", "--trace", "trace.json"];
    check(directory.path(), &files, "./bug", 1);
    let junit = read(directory.path(), "junit.xml");
    assert!(
        junit.contains("type=\"deadlock\"") && junit.contains("message=\"main.1 and main.2 wait for each other\""),
        "{junit}"
    );
    let sarif: Value = serde_json::from_str(&read(directory.path(), "out.sarif")).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert!(place["artifactLocation"]["uri"].as_str().is_some_and(|uri| uri.ends_with("abba.c")), "{place}");
    assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line == 14 || line == 25), "{place}");
    let trace: Value = serde_json::from_str(&read(directory.path(), "trace.json")).expect("JSON");
    let names: Vec<&str> =
        trace["traceEvents"].as_array().expect("events").iter().filter_map(|e| e["name"].as_str()).collect();
    assert!(names.contains(&"lock from") && names.contains(&"lock to"), "{names:?}");
    // The same from the record, later.
    let again = ["report", "--junit", "-", "-o", "page.html"];
    let output = ordain(directory.path()).args(again).assert().code(0).get_output().stdout.clone();
    assert_eq!(String::from_utf8_lossy(&output), junit);
    // The run is on record as its schema says.
    let schema: Value = serde_json::from_str(include_str!("../../../docs/run.schema.json")).expect("a schema");
    let run: Value = serde_json::from_str(&read(directory.path(), ".ordain/bug/run.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> = validator.iter_errors(&run).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn a_check_without_a_verdict_is_an_error_for_other_tools_too() {
    let directory = directory();
    check(directory.path(), &["--junit", "junit.xml", "--sarif", "out.sarif"], "./nothing", 2);
    assert!(read(directory.path(), "junit.xml").contains("there is no program `./nothing`"));
    assert!(read(directory.path(), "out.sarif").contains("there is no program `./nothing`"));
    let twins = twins("abba");
    write(twins.path(), "file", "");
    // A finding stays one, whatever becomes of the report.
    let text = check(twins.path(), &["--junit", "file/junit.xml"], "./bug", 1);
    assert!(text.contains("ordain found: deadlock") && text.contains("cannot write file/junit.xml"), "{text}");
}

#[test]
fn findings_are_as_small_as_asked_for() {
    let directory = twins("philosophers");
    let found = |options: &[&str]| {
        let options = [&["check", "--format", "json", "--strategy", "random", "--seed", "4"][..], options].concat();
        json(ordain(directory.path()).args(options).arg("--").arg("./bug"), 1)["findings"][0].clone()
    };
    let small = found(&[]);
    let large = found(&["--shrink-time", "0"]);
    assert_eq!(large["found_with"], Value::Null);
    assert_eq!(small["found_with"]["steps"], large["steps"]);
    assert_eq!(small["found_with"]["preemptions"], large["preemptions"]);
    assert!(small["preemptions"].as_u64() <= large["preemptions"].as_u64(), "{small} {large}");
    assert!(small["steps"].as_u64() <= large["steps"].as_u64(), "{small} {large}");
}

/// Waits for a child that must end by itself.
fn wait(mut child: std::process::Child) -> (Option<i32>, String) {
    let begin = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut text = String::new();
    child.stdout.take().expect("its output is read").read_to_string(&mut text).expect("text");
    child.stderr.take().expect("its errors are read").read_to_string(&mut text).expect("text");
    (child.wait().expect("it has ended").code(), text)
}

#[test]
fn an_interrupt_ends_a_run_in_order() {
    let directory = directory();
    compile_text(directory.path(), ENDLESS, "endless");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.current_dir(directory.path()).args(["check", "--", "./endless"]).env("NO_COLOR", "1");
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // It has begun when its program runs.
    let tasks = format!("/proc/{0}/task/{0}/children", child.id());
    while fs::read_to_string(&tasks).is_ok_and(|children| children.trim().is_empty()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(1300));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(asked.success());
    let (status, text) = wait(child);
    assert_eq!(status, Some(130), "{text}");
    assert!(text.contains("no finding at level sync: "), "{text}");
    assert!(text.contains("it was stopped before its end"), "{text}");
    assert!(text.lines().any(|l| l.contains(" executions, ") && l.contains(" per second")), "progress: {text}");
    let run: Value = serde_json::from_str(&read(directory.path(), ".ordain/endless/run.json")).expect("JSON");
    assert_eq!((&run["interrupted"], &run["exhausted"]), (&true.into(), &false.into()));
    assert!(run["progress"].as_array().is_some_and(|samples| samples.len() > 3), "{run}");
}

#[test]
fn quiet_runs_say_nothing_before_their_end() {
    let directory = directory();
    compile_text(directory.path(), ENDLESS, "endless");
    let text = check(directory.path(), &["--quiet", "--max-time", "1500ms"], "./endless", 0);
    assert!(text.starts_with("no finding at level sync: "), "{text}");
    let text = check(directory.path(), &["--max-time", "1500ms"], "./endless", 0);
    let line = text.lines().find(|line| line.starts_with("1 s: ")).unwrap_or_default();
    assert!(line.contains(" executions, ") && line.contains(" left"), "{text}");
}
