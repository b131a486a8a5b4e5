//! `ordain check` at its limits: of time, of what the system gives, of what can be written and read. It ends, with what it has.
#![cfg(target_os = "linux")]

mod common;

use common::{compile_text, directory};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Whose exit status tells in which order eight threads came first: some hundred findings. It takes a while to come to main.
const MANY: &str = r#"
#include <pthread.h>
#define T 8
pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
volatile long s;
int order[T], n;
void *f(void *x) {
    pthread_mutex_lock(&c);
    order[n++] = (long)x;
    pthread_mutex_unlock(&c);
    return 0;
}
__attribute__((constructor)) void slow(void) { for (long j = 0; j < 100000000; j++) s = j; }
int main(void) {
    pthread_t t[T];
    for (long i = 0; i < T; i++) pthread_create(t + i, 0, f, (void *)i);
    for (int i = 0; i < T; i++) pthread_join(t[i], 0);
    return order[0] * 49 % 251 + order[1] * 7 + order[2];
}
"#;

/// A deadlock that is found at once.
const ABBA: &str = r#"
#include <pthread.h>
pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
void *f(void *x) {
    pthread_mutex_lock(&b); pthread_mutex_lock(&a); pthread_mutex_unlock(&a); pthread_mutex_unlock(&b);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    pthread_mutex_lock(&a); pthread_mutex_lock(&b); pthread_mutex_unlock(&b); pthread_mutex_unlock(&a);
    pthread_join(t, 0);
    return 0;
}
"#;

/// More than any command here takes on the slowest of machines, and less than confirming all that is found.
const PATIENCE: Duration = Duration::from_secs(60);

/// `ordain check`, in a directory.
fn check(directory: &Path, options: &[&str], program: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    command.current_dir(directory).env("NO_COLOR", "1").stdin(Stdio::null());
    command.arg("check").args(options).args(["--", program]);
    command
}

/// The same, after a command of the shell that sets a limit.
fn limited(directory: &Path, limit: &str, options: &str) -> Output {
    let line = format!("{limit} && exec '{}' check {options} -- ./program", env!("CARGO_BIN_EXE_ordain"));
    let output = Command::new("sh").current_dir(directory).env("NO_COLOR", "1").args(["-c", &line]).output();
    output.expect("there is a shell")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The findings of a check that was over in time, which are in the record too, and its notes.
fn findings(directory: &Path, output: &Output, begin: Instant) -> (usize, Vec<String>) {
    assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("an object");
    let kept = fs::read(directory.join(".ordain/program/run.json")).expect("the record of the run");
    let kept: Value = serde_json::from_slice(&kept).expect("an object");
    let count = |object: &Value| object["findings"].as_array().expect("findings").len();
    assert_eq!(count(&told), count(&kept));
    for number in 1..=count(&told) {
        assert!(directory.join(format!(".ordain/program/finding-{number}.ordain")).exists(), "{number}");
    }
    let notes =
        told["notes"].as_array().expect("notes").iter().map(|n| n["text"].as_str().unwrap_or_default().to_owned());
    (count(&told), notes.collect())
}

#[test]
fn findings_that_there_is_no_time_to_confirm_are_counted() {
    let directory = directory();
    compile_text(directory.path(), MANY, "program");
    for strategy in ["random", "portfolio"] {
        for workers in ["1", "2"] {
            let options =
                ["--max-time", "2s", "--keep-going", "--strategy", strategy, "--workers", workers, "--format", "json"];
            let begin = Instant::now();
            let output = check(directory.path(), &options, "./program").output().expect("it runs");
            let (count, notes) = findings(directory.path(), &output, begin);
            assert!((1..100).contains(&count), "{count}");
            let unconfirmed = notes.iter().any(|note| note.contains("no time to confirm"));
            // One worker comes to few of them, and so does a portfolio.
            assert!(unconfirmed || workers == "1" || strategy == "portfolio", "{strategy}: {notes:?}");
            fs::remove_dir_all(directory.path().join(".ordain")).expect("it is there");
        }
    }
}

#[test]
fn a_resumed_search_comes_to_what_was_not_confirmed() {
    let directory = directory();
    let few = MANY.replace("#define T 8", "#define T 4").replace("order[0] * 49 % 251", "1 + order[0] * 28");
    compile_text(directory.path(), &few, "program");
    for workers in ["1", "2"] {
        let parts =
            ["--keep-going", "--shrink-time", "0", "--strategy", "optimal", "--workers", workers, "--format", "json"];
        let mut options = [&parts[..], &["--max-time", "1s"]].concat();
        let begin = Instant::now();
        // Each comes to something, also on a machine on which that takes a while: so there is an end.
        let last = loop {
            let output = check(directory.path(), &options, "./program").output().expect("it runs");
            if !directory.path().join(".ordain/program/checkpoint").exists() || begin.elapsed() > PATIENCE * 4 {
                break output;
            }
            options = [&parts[..], &["--max-time", "1s", "--resume"]].concat();
        };
        let (count, _) = findings(directory.path(), &last, Instant::now());
        let told: Value = serde_json::from_slice(&last.stdout).expect("an object");
        // Four threads in any order, and the exit status tells of the first three.
        assert_eq!((count, &told["executions"]), (24, &Value::from(24)), "{workers} workers");
        fs::remove_dir_all(directory.path().join(".ordain")).expect("it is there");
    }
}

#[test]
fn a_signal_ends_the_confirming_of_findings() {
    let directory = directory();
    compile_text(directory.path(), MANY, "program");
    let options = ["--keep-going", "--strategy", "random", "--workers", "2", "--shrink-time", "0", "--format", "json"];
    let mut command = check(directory.path(), &options, "./program");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let (begin, first) = (Instant::now(), directory.path().join(".ordain/program/finding-1.ordain"));
    while !first.exists() && begin.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let begin = Instant::now();
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("there is kill");
    assert!(killed.success());
    let output = child.wait_with_output().expect("it ends");
    let (count, notes) = findings(directory.path(), &output, begin);
    assert!((1..100).contains(&count), "{count}");
    assert!(notes.iter().any(|note| note == "it was stopped before its end"), "{notes:?}");
}

#[test]
fn who_is_stopped_ends_with_the_status_of_the_signal_and_can_go_on() {
    let directory = directory();
    common::compile(directory.path(), &common::source("counts/mutex_counter.c"), "program", &[]);
    let kept = directory.path().join(".ordain/program/checkpoint");
    for (signal, status) in [("-INT", 130), ("-TERM", 143)] {
        let mut command = check(directory.path(), &["-q", "--strategy", "optimal"], "./program");
        let child = command.args(["6", "6"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let begin = Instant::now();
        while !kept.exists() && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
        let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("there is kill");
        assert!(killed.success());
        let output = child.wait_with_output().expect("it ends");
        let told = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{told}");
        assert!(
            told.contains("no finding at level sync") && told.contains("with --resume goes on from here"),
            "{told}"
        );
        fs::remove_file(&kept).expect("what is left of the search is kept");
    }
}

#[test]
fn no_file_that_cannot_be_written_hides_a_finding_or_another_file() {
    let directory = directory();
    let at = directory.path();
    compile_text(at, ABBA, "program");
    compile_text(at, PAIRS, "fixed");
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").expect("it is there");
    for (program, status) in [("./program", 1), ("./fixed", 2)] {
        let options = ["-q", "--junit", "/dev/full", "--sarif", "result.sarif", "--trace", "/proc/none/trace"];
        let told = check(at, &options, program).output().expect("it runs");
        assert_eq!(told.status.code(), Some(status), "{}", text(&told.stderr));
        assert!(text(&told.stderr).contains("cannot write /dev/full"), "{}", text(&told.stderr));
        fs::remove_file(at.join("result.sarif")).expect("the other file is written");
        // Neither does an object that nobody can read.
        let mut command = check(at, &["-q", "--format", "json"], program);
        let told = command.stdout(full()).output().expect("it runs");
        assert_eq!(told.status.code(), Some(status), "{}", text(&told.stderr));
        assert!(text(&told.stderr).contains("cannot write to standard output"), "{}", text(&told.stderr));
    }
    let told = check(at, &["-q", "--junit", "/dev/full"], "./missing").output().expect("it runs");
    assert_eq!(told.status.code(), Some(2));
    for words in ["there is no program `./missing`", "cannot write /dev/full"] {
        assert!(text(&told.stderr).contains(words), "{}", text(&told.stderr));
    }
}

#[test]
fn a_search_goes_on_after_findings_that_could_be_made_smaller() {
    let directory = directory();
    compile_text(directory.path(), MANY, "program");
    let options = ["--max-time", "8s", "--keep-going", "--format", "json", "--workers", "1", "--shrink-time", "1h"];
    let begin = Instant::now();
    let output = check(directory.path(), &options, "./program").output().expect("it runs");
    let (count, _) = findings(directory.path(), &output, begin);
    assert!(count > 1, "making the first one smaller must not take all of the time");
}

#[test]
fn what_is_no_file_is_written_to_and_stays() {
    let directory = directory();
    let at = directory.path();
    compile_text(at, ABBA, "program");
    let make = |name: &str| {
        let made = Command::new("mkfifo").arg(at.join(name)).status().expect("there is mkfifo");
        assert!(made.success());
    };
    make("read");
    let mut reader = Command::new("cat").arg(at.join("read")).stdout(Stdio::piped()).spawn().expect("there is cat");
    // It has opened the FIFO when somebody can open it to write; that ends when the check does so too.
    let held = fs::OpenOptions::new().write(true).open(at.join("read")).expect("there is a reader");
    fs::write(at.join("target"), "old").expect("it can be written");
    symlink("target", at.join("link")).expect("it can be made");
    symlink("new/target", at.join("dangling")).expect("it can be made");
    symlink("/dev/null", at.join("null")).expect("it can be made");
    for file in ["read", "link", "dangling", "null", "deep/down/file"] {
        let told = check(at, &["-q", "--sarif", file], "./program").output().expect("it runs");
        assert_eq!(told.status.code(), Some(1), "{file}: {}", text(&told.stderr));
    }
    drop(held);
    let mut heard = String::new();
    std::io::Read::read_to_string(reader.stdout.as_mut().expect("a pipe"), &mut heard).expect("it is text");
    reader.wait().expect("it ends");
    for written in [heard, text(&fs::read(at.join("target")).expect("it is there"))] {
        assert!(written.contains("\"2.1.0\""), "{written}");
    }
    let kind = |name: &str| fs::symlink_metadata(at.join(name)).expect("it is there").file_type();
    assert!(
        kind("read").is_fifo()
            && kind("link").is_symlink()
            && kind("dangling").is_symlink()
            && kind("null").is_symlink()
    );
    assert!(kind("new/target").is_file() && kind("deep/down/file").is_file());
    assert!(fs::metadata("/dev/null").expect("it is there").file_type().is_char_device());
    // Standard output, by whichever name, is not replaced either, and what is in it stays.
    let out = fs::File::create(at.join("out")).expect("it can be made");
    let mut command = check(at, &["-q", "--format", "json", "--junit", "/dev/stdout"], "./program");
    assert_eq!(command.stdout(out).stderr(Stdio::null()).status().expect("it runs").code(), Some(1));
    let out = fs::read_to_string(at.join("out")).expect("it is text");
    assert!(out.starts_with('{') && out.contains("<testsuites"), "{out}");
    make("unread");
    let told = check(at, &["-q", "--junit", "unread"], "./program").output().expect("it runs");
    // A finding stays one.
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("it is a FIFO that nobody reads"), "{}", text(&told.stderr));
    assert!(kind("unread").is_fifo());
    let told = check(at, &["-q", "--exploration-trace", "unread", "--strategy", "optimal"], "./program").output();
    assert!(text(&told.expect("it runs").stderr).contains("it is a FIFO that nobody reads"));
    let told = check(at, &["-q", "--junit", "deep"], "./program").output().expect("it runs");
    assert!(text(&told.stderr).contains("it is a directory"), "{}", text(&told.stderr));
}

#[test]
fn an_input_that_nobody_writes_is_told() {
    let directory = directory();
    let at = directory.path();
    compile_text(at, ABBA, "program");
    assert!(Command::new("mkfifo").arg(at.join("fifo")).status().expect("there is mkfifo").success());
    let told = check(at, &["--max-time", "1s", "--stdin", "fifo"], "./program").output().expect("it runs");
    assert_eq!(told.status.code(), Some(2));
    assert!(text(&told.stderr).contains("nobody has opened it to write"), "{}", text(&told.stderr));
    // One that somebody writes is read to its end, and so is a pipe without a name.
    compile_text(
        at,
        "#include <stdio.h>\nint main(void) { return getchar() == 'x' && getchar() == EOF ? 3 : 4; }",
        "reads",
    );
    let line = "(sleep 0.2; printf x) > fifo & exec \"$0\" check -q --expect-status 3 --stdin fifo -- ./reads";
    for line in [line, "printf x | \"$0\" check -q --expect-status 3 --stdin /dev/stdin -- ./reads"] {
        let mut command = Command::new("sh");
        command.current_dir(at).args(["-c", line, env!("CARGO_BIN_EXE_ordain")]);
        let told = command.output().expect("there is a shell");
        assert_eq!(told.status.code(), Some(0), "{}", text(&told.stderr));
    }
}

#[test]
fn what_is_piped_into_a_check_is_read() {
    let directory = directory();
    let at = directory.path();
    compile_text(at, "#include <stdio.h>\nint main(void) { return getchar() == 'x' ? 3 : 0; }", "reads");
    let ordain = env!("CARGO_BIN_EXE_ordain");
    for (line, status) in [
        ("(sleep 0.2; printf x) | \"$0\" check -q -- ./reads", 1),
        ("\"$0\" replay .ordain/reads/finding-1.ordain", 1),
        ("printf x > file; \"$0\" check -q -- ./reads < file", 1),
        ("printf y | \"$0\" check -q -- ./reads", 0),
        ("\"$0\" check -q -- ./reads < /dev/null", 0),
        ("printf x | \"$0\" check -q --stdin /dev/null -- ./reads", 0),
        // One that nobody writes to and nobody closes is refused, not dropped.
        ("mkfifo never; \"$0\" check --max-time 1s -- ./reads 0<> never", 2),
    ] {
        let told = Command::new("sh").current_dir(at).args(["-c", line, ordain]).output().expect("there is a shell");
        let message = text(&told.stderr);
        assert_eq!(told.status.code(), Some(status), "{line}: {message}");
        let refused = message
            .contains("what is piped into the command, which was to be the program's standard input, gives nothing");
        assert_eq!(refused, line.contains("never"), "{line}: {message}");
    }
}

#[test]
fn messages_name_the_limit_of_the_system() {
    let directory = directory();
    compile_text(directory.path(), ABBA, "program");
    for (limit, options, words) in [
        ("ulimit -n 20", "", "ulimit -n"),
        ("ulimit -n 1003", "--workers 1024 --strategy random", "use fewer workers"),
        ("ulimit -f 1", "", "ulimit -f"),
        ("ulimit -s 256", "", "ulimit -s"),
        ("true", "--workers 100000", "it must be 1024 or less"),
        ("true", "--pct-depth 4294967295", "it must be 1000 or less"),
    ] {
        let told = limited(directory.path(), limit, options);
        let message = text(&told.stderr);
        assert_eq!(told.status.code(), Some(2), "{limit}: {message}");
        assert!(message.contains(words) && !message.contains("ordain doctor"), "{limit}: {message}");
    }
}

#[test]
fn what_a_killed_check_left_is_removed() {
    let directory = directory();
    let at = directory.path();
    compile_text(at, ABBA, "program");
    let left = at.join(".ordain/program/.ordain-partial-aBcDeF");
    fs::create_dir_all(at.join(".ordain/program")).expect("it can be made");
    fs::write(&left, "half of something").expect("it can be written");
    let told = check(at, &["-q"], "./program").output().expect("it runs");
    assert_eq!(told.status.code(), Some(1), "{}", text(&told.stderr));
    assert!(!left.exists());
}

/// Two threads that take and give back a mutex, over and over.
const PAIRS: &str = r#"
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *x) {
    for (int i = 0; i < 4; i++) pthread_mutex_lock(&m), pthread_mutex_unlock(&m);
    return x;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    f(0);
    pthread_join(t, 0);
    return 0;
}
"#;

#[test]
fn a_low_limit_of_steps_breaks_no_lock() {
    let directory = directory();
    compile_text(directory.path(), PAIRS, "program");
    for (most, kind) in
        [(6, Some("step-limit")), (10, Some("step-limit")), (14, Some("step-limit")), (24, None), (40, None)]
    {
        let most = most.to_string();
        let options = ["--strategy", "optimal", "--format", "json", "-q", "--max-steps", &most];
        let told = check(directory.path(), &options, "./program").output().expect("ordain runs");
        let told: Value = serde_json::from_slice(&told.stdout).expect("one object");
        assert_eq!(told["findings"][0]["kind"].as_str(), kind, "{most}: {told}");
        assert_eq!(told["verdict"] == "verified", kind.is_none(), "{most}: {told}");
    }
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_result() {
    let directory = directory();
    compile_text(directory.path(), ABBA, "program");
    let options = ["--format", "json", "-q", "--junit", "/dev/full"];
    let told = check(directory.path(), &options, "./program").output().expect("ordain runs");
    let one: Value = serde_json::from_slice(&told.stdout).expect("one object");
    assert_eq!(one["verdict"], "finding");
    assert_eq!(told.status.code(), Some(1));
    assert!(text(&told.stderr).contains("/dev/full"), "{}", text(&told.stderr));
}

#[test]
fn an_exploration_trace_is_not_read_without_end() {
    for path in ["/dev/zero", "/"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
        let told = command.env("NO_COLOR", "1").args(["estimate", path]).output().expect("ordain runs");
        assert_eq!(told.status.code(), Some(2));
        assert!(text(&told.stderr).contains("neither a file nor a pipe"), "{}", text(&told.stderr));
    }
}

/// A thousand threads that take one lock.
const CROWD: &str = r#"
#include <pthread.h>
#include <stdlib.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
void *f(void *x) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return x; }
int main(void) {
    static pthread_t t[1000];
    for (int i = 0; i < 1000; i++) if (pthread_create(t + i, 0, f, 0)) exit(2);
    for (int i = 0; i < 1000; i++) pthread_join(t[i], 0);
    return 0;
}
"#;

#[test]
fn a_thousand_threads_keep_the_limit_in_every_mode() {
    let directory = directory();
    compile_text(directory.path(), CROWD, "crowd");
    for mode in ["snapshot", "fork", "exec"] {
        let begin = Instant::now();
        let options = ["-q", "--mode", mode, "--strategy", "optimal", "--max-time", "4s"];
        let output = check(directory.path(), &options, "./crowd").output().expect("it runs");
        let errors = text(&output.stderr);
        assert!(begin.elapsed() < PATIENCE, "{mode}: {errors}");
        assert!(!errors.contains("before its main"), "{mode}: {errors}");
    }
}

#[test]
fn a_reader_that_goes_away_leaves_the_exit_status() {
    let directory = directory();
    compile_text(directory.path(), ABBA, "abba");
    for options in [["-q", "--format=json"], ["-q", "--junit=-"]] {
        let mut child = check(directory.path(), &options, "./abba").stdout(Stdio::piped()).spawn().expect("it starts");
        drop(child.stdout.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{options:?}");
    }
}

#[test]
fn an_error_that_cannot_be_told_is_no_panic() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let mut command = Command::new(env!("CARGO_BIN_EXE_ordain"));
    let status = command.args(["show", "not-there"]).stderr(full).status().expect("it runs");
    assert_eq!(status.code(), Some(2));
}
