//! `ordain check`: findings, verdicts, options, the JSON object, and everything that cannot be checked.
#![cfg(target_os = "linux")]

mod common;

use assert_cmd::Command;
use common::{assert_valid, compile, compile_text, directory, json, ordain, source, stderr, told, twins, write};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// `ordain check OPTIONS -- PROGRAM`, in `directory`.
fn check(directory: &Path, options: &[&str], program: &[&str]) -> Command {
    let mut command = ordain(directory);
    command.arg("check").args(options).arg("--").args(program);
    command
}

const VERIFIED: &str = "verified at level sync: holds if threads share memory only under the calls that Ordain sees\n";

#[test]
fn a_deadlock_is_told_with_threads_lines_and_replay() {
    let directory = twins("abba");
    insta::assert_snapshot!(told(&mut check(directory.path(), &[], &["./bug"]), 1, directory.path()));
}

#[test]
fn the_program_without_the_bug_is_verified() {
    let directory = twins("abba");
    insta::assert_snapshot!(told(&mut check(directory.path(), &[], &["./fixed"]), 0, directory.path()));
    let kept: Vec<_> = fs::read_dir(directory.path().join(".ordain/fixed")).expect("a run directory").collect();
    assert_eq!(kept.len(), 1, "the record of the run, and nothing else: {kept:?}");
}

#[test]
fn each_kind_of_finding_has_its_word_and_its_twin_none() {
    for (name, kind, about) in [
        ("check_then_act", "assertion", "Assertion `seats >= 0' failed"),
        ("null_pointer", "crash", "main.1 got SIGSEGV, a bad memory access (address 0x0)"),
        ("abort_invariant", "abort", "aborted the program"),
        ("exit_code", "exit-status", "the program exited with status"),
        ("double_unlock", "misuse", "unlock"),
    ] {
        let directory = twins(name);
        let text = stderr(&mut check(directory.path(), &[], &["./bug"]), 1);
        assert!(text.starts_with(&format!("ordain found: {}\n", kind.replace('-', " "))), "{name}: {text}");
        assert!(text.contains(about) && text.contains(&format!("\nfinding: {kind} (after ")), "{name}: {text}");
        assert!(text.contains(&format!("{name}.c:")), "{name}: {text}");
        let text = stderr(&mut check(directory.path(), &[], &["./fixed"]), 0);
        assert!(text.starts_with(VERIFIED), "{name}: {text}");
    }
}

#[test]
fn all_modes_agree() {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    for mode in ["snapshot", "fork", "exec"] {
        let text = stderr(&mut check(directory.path(), &["--quiet", "--mode", mode], &["./counter", "2", "3"]), 0);
        assert!(text.starts_with(VERIFIED), "{text}");
        assert!(text.contains("all 20 classes of schedules, in 20 executions"), "{text}");
        assert!(text.contains(&format!("{mode} (asked for)")), "{text}");
    }
}

#[test]
fn the_verdict_says_what_the_strategy_can() {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    let told = |options: &[&str], size: [&str; 2]| {
        stderr(&mut check(directory.path(), options, &["./counter", size[0], size[1]]), 0)
    };
    for strategy in ["optimal", "source", "dpor"] {
        let text = told(&["--strategy", strategy], ["2", "2"]);
        assert!(text.starts_with(VERIFIED) && text.contains("all 6 classes"), "{strategy}: {text}");
    }
    let text = told(&["--strategy", "dfs"], ["2", "1"]);
    assert!(text.starts_with(VERIFIED) && text.contains("every class of schedules, in "), "{text}");
    for strategy in ["random", "urw", "pct", "pos"] {
        let text = told(&["--strategy", strategy, "--max-executions", "20", "--seed", "7"], ["2", "2"]);
        assert!(text.starts_with("no finding at level sync: nothing was found in 20 executions"), "{text}");
        assert!(text.contains(&format!("{strategy}, seed 7\n")), "{text}");
    }
    let text = told(&["--max-executions", "5"], ["3", "3"]);
    assert!(text.starts_with("no finding") && text.contains("portfolio, seed 0"), "{text}");
    let text = told(&["--max-time", "300ms"], ["4", "4"]);
    assert!(text.starts_with("no finding") && text.contains("note      the time was over"), "{text}");
    let text = told(&["--preemption-bound", "0"], ["2", "2"]);
    assert!(text.starts_with("no finding at level sync: every class within the bound was explored"), "{text}");
    assert!(text.contains("bounded, at most 0 preemptions\n"), "{text}");
    let text = told(&["--delay-bound", "1"], ["2", "2"]);
    assert!(text.contains("bounded, at most 1 delay\n"), "{text}");
}

#[test]
fn the_json_object_is_as_its_schema_says() {
    let directory = twins("null_pointer");
    let found = json(&mut check(directory.path(), &["--format", "json"], &["./bug", "an argument"]), 1);
    assert_valid(&found);
    assert_eq!(found["verdict"], "finding");
    assert_eq!(found["level"], "sync");
    assert_eq!(found["mode"], "snapshot");
    assert_eq!(found["strategy"], "optimal");
    assert_eq!(found["arguments"], serde_json::json!(["an argument"]));
    assert_eq!(found["threads_max"], 2);
    assert_eq!(found["estimate"], Value::Null);
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "crash");
    assert!(Path::new(finding["schedule"].as_str().expect("a path")).is_file());
    let culprit = &finding["threads"][1];
    assert_eq!((&culprit["name"], &culprit["frames"][0]["function"]), (&"main.1".into(), &"work".into()));
    assert_eq!(culprit["frames"][0]["line"], 19);

    let clean = json(&mut check(directory.path(), &["--format", "json"], &["./fixed"]), 0);
    assert_valid(&clean);
    assert_eq!((&clean["verdict"], &clean["exhausted"]), (&"verified".into(), &true.into()));
    assert_eq!(clean["estimate"], clean["executions"]);
    assert_eq!(clean["findings"], serde_json::json!([]));

    let wrong = json(&mut check(directory.path(), &["--format", "json"], &["./nothing"]), 2);
    assert_valid(&wrong);
    assert_eq!(wrong["error"]["message"], "there is no program `./nothing`");

    // The validation itself can fail.
    let mut odd = clean.clone();
    odd["executions"] = "many".into();
    assert!(std::panic::catch_unwind(|| assert_valid(&odd)).is_err());
}

#[test]
fn the_program_gets_its_arguments_input_and_variables() {
    let directory = directory();
    let text = r#"
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(int count, char **arguments) {
            char line[20] = "";
            const char *variable = getenv("COLOUR"), *inherited = getenv("SECRET");
            if (count != 2 || strcmp(arguments[1], "--help")) return 10;
            if (!fgets(line, sizeof line, stdin) || strcmp(line, "hello\n")) return 11;
            if (!variable || strcmp(variable, "green=1")) return 12;
            return inherited ? 13 : 42;
        }"#;
    compile_text(directory.path(), text, "program");
    write(directory.path(), "input", "hello\n");
    let options = ["--stdin", "input", "--env", "COLOUR=green=1", "--expect-status", "42"];
    let text = stderr(check(directory.path(), &options, &["./program", "--help"]).env("SECRET", "x"), 0);
    assert!(text.starts_with(VERIFIED), "{text}");
    assert!(text.contains("note      the program made no threads with this input"), "{text}");
    let text = stderr(&mut check(directory.path(), &options[..4], &["./program", "--help"]), 1);
    assert!(text.contains("the program exited with status 42"), "{text}");
    let text = stderr(&mut check(directory.path(), &[], &["./program", "--help"]), 1);
    assert!(text.contains("the program exited with status 11"), "{text}");
}

#[test]
fn a_program_is_found_in_the_path() {
    let directory = directory();
    let text = stderr(&mut check(directory.path(), &[], &["true"]), 0);
    assert!(text.starts_with(VERIFIED), "{text}");
}

#[test]
fn keep_going_gives_different_findings() {
    let directory = directory();
    let text = r#"
        #include <assert.h>
        #include <pthread.h>
        #include <stdlib.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static int order[2], next;
        static void *work(void *number) {
            pthread_mutex_lock(&lock);
            order[next++] = (int)(long)number;
            pthread_mutex_unlock(&lock);
            return NULL;
        }
        int main(void) {
            pthread_t a, b;
            pthread_create(&a, NULL, work, (void *)1);
            pthread_create(&b, NULL, work, (void *)2);
            pthread_join(a, NULL);
            pthread_join(b, NULL);
            assert(order[0] == 1);
            exit(3);
        }"#;
    compile_text(directory.path(), text, "program");
    let text = stderr(&mut check(directory.path(), &["--keep-going"], &["./program"]), 1);
    assert!(text.contains("\nfinding: 2 different ones: assertion, exit-status (in 2 executions)\n"), "{text}");
    for file in ["finding-1.ordain", "finding-2.ordain"] {
        assert!(text.contains(&format!("ordain replay .ordain/program/{file}\n")), "{text}");
        assert!(directory.path().join(".ordain/program").join(file).is_file());
    }
}

#[test]
fn output_that_depends_on_the_schedule_is_a_finding_if_asked() {
    let directory = twins("output_order");
    stderr(&mut check(directory.path(), &[], &["./bug"]), 0);
    let text = stderr(&mut check(directory.path(), &["--compare-output"], &["./bug"]), 1);
    assert!(text.contains("line 1 is \"2: one two\" under one schedule and \"2: two one\" under another"), "{text}");
    stderr(&mut check(directory.path(), &["--compare-output"], &["./fixed"]), 0);
}

#[test]
fn kind_time_is_told() {
    let directory = twins("sleep_sync");
    stderr(&mut check(directory.path(), &[], &["./bug"]), 1);
    let text = stderr(&mut check(directory.path(), &["--kind-time"], &["./bug"]), 0);
    assert!(text.contains("in kind time, where waits expire only when nothing else can happen"), "{text}");
}

#[test]
fn a_program_that_hangs_is_found_in_the_given_time() {
    let directory = twins("flag_spin");
    let text = stderr(&mut check(directory.path(), &["--hang-time", "200ms"], &["./bug"]), 1);
    assert!(text.contains("ordain found: hang") && text.contains("bugs/flag_spin.c:"), "{text}");
}

#[test]
fn almost_nothing_visible_is_told_loudly() {
    let directory = directory();
    let text = "fn main() {
        let lock = std::sync::Arc::new(std::sync::Mutex::new(0));
        let other = lock.clone();
        let thread = std::thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
        thread.join().unwrap();
    }";
    let source = write(directory.path(), "program.rs", text);
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let status =
        std::process::Command::new(rustc).arg("--edition=2024").arg(source).current_dir(directory.path()).status();
    assert!(status.expect("there is a Rust compiler").success());
    let text = stderr(&mut check(directory.path(), &[], &["./program"]), 0);
    assert!(text.starts_with("no finding at level sync"), "{text}");
    assert!(text.contains("\n\nWARNING: ALMOST NOTHING WAS VISIBLE: 2 threads"), "{text}");
}

#[test]
fn a_program_that_is_not_deterministic_is_a_problem() {
    let directory = directory();
    let text = r#"
        #include <pthread.h>
        #include <stdio.h>
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        int main(void) {
            FILE *file = fopen("runs", "a+");
            fputc('x', file);
            fseek(file, 0, SEEK_END);
            for (long i = ftell(file); i > 0; i--) {
                pthread_mutex_lock(&lock);
                pthread_mutex_unlock(&lock);
            }
            fclose(file);
            return 0;
        }"#;
    compile_text(directory.path(), text, "program");
    let text = stderr(&mut check(directory.path(), &[], &["./program"]), 2);
    assert!(text.contains("the program is not deterministic: after the same "), "{text}");
    assert!(text.contains("help: exploration needs a program that does the same"), "{text}");
}

#[test]
fn what_cannot_be_checked_is_refused_with_reason_and_help() {
    let directory = twins("abba");
    let path = directory.path();
    let minimal = write(path, "minimal.c", "int main(void) { return 0; }\n");
    compile(path, &minimal, "static", &["-static"]);
    write(path, "text", "no program\n");
    make_executable(&write(path, "script", "#!/bin/sh\necho hello\n"));
    make_executable(&write(path, "text-x", "no program\n"));
    fs::create_dir(path.join("folder")).expect("a directory can be made");
    let cases: [(&[&str], &str, &str, &str); 11] = [
        (&[], "./nothing", "there is no program `./nothing`", "help: is the path right"),
        (&[], "no-such-program", "there is no program `no-such-program`", "help: it is in no directory of PATH"),
        (&[], "", "there is no program ``", "help: it is in no directory of PATH"),
        (&[], "./static", "is statically linked", "help: Ordain enters a program through the dynamic loader"),
        (&[], "./script", "is a script for /bin/sh", "help: Ordain controls the program that runs"),
        (&[], "./folder", "is not a file", "help: name the program file itself"),
        (&[], "./text", "is not executable", "help: if it is a program, allow it with `chmod +x"),
        (&[], "./text-x", "it is not an ELF file", "help: pass the compiled program"),
        (&["--stdin", "nowhere"], "./bug", "cannot read nowhere, which was to be", "help: --stdin takes the file"),
        (&["--stdin", "folder"], "./bug", "Is a directory", "help: --stdin takes the file"),
        (&["--stdin", "/dev/zero"], "./bug", "/dev/zero has more than 1073741824 bytes", "help: every execution reads"),
    ];
    for (options, program, reason, help) in cases {
        let text = stderr(&mut check(path, options, &[program]), 2);
        assert!(text.contains(reason) && text.contains(help), "{program}: {text}");
        let object = json(&mut check(path, &[options, &["--format", "json"]].concat(), &[program]), 2);
        let message = object["error"]["message"].as_str().expect("a message");
        assert!(message.contains(reason), "{program}: {object}");
        assert!(help.contains(&object["error"]["help"].as_str().expect("a help")[..10]), "{program}: {object}");
    }
    assert!(!path.join(".ordain").exists());
}

fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the mode can be set");
}

#[test]
fn wrong_options_are_refused() {
    let directory = twins("abba");
    let cases: [(&[&str], &str); 20] = [
        (&["--strategy", "dfz"], "possible values: dfs, dpor, source, optimal, random, urw, pct, pos, portfolio"),
        (&["--max-time", "30"], "the unit is missing; write a number and a unit: 500ms, 30s, 5m or 1h"),
        (&["--max-time", "5 minutes"], "unit is unknown"),
        (&["--max-time", "-5s"], "unexpected argument"),
        (&["--max-time", "0s"], "longer than nothing"),
        (&["--max-time", "1e300h"], "longer than any check"),
        (&["--hang-time", "s"], "not a time"),
        (&["--max-executions", "0"], "0 is not in 1.."),
        (&["--max-steps", "0"], "1 or more"),
        (&["--pct-depth", "0"], "1 or more"),
        (&["--spin-bound", "0"], "--spin-bound"),
        (&["--mode", "fast"], "possible values: snapshot, fork, exec"),
        (&["--format", "xml"], "possible values: human, json"),
        (&["--env", "COLOUR"], "write NAME=VALUE"),
        (&["--env", "=green"], "no name before the `=`"),
        (&["--env", "LD_PRELOAD=mine.so"], "Ordain sets LD_PRELOAD itself"),
        (&["--expect-status", "256"], "256 is not in 0..=255"),
        (&["--preemption-bound", "1", "--delay-bound", "1"], "cannot be used with"),
        (&["--preemption-bound", "1", "--strategy", "pct"], "cannot be used with"),
        (&["--preemption-bound", "-1"], "unexpected argument"),
    ];
    for (options, reason) in cases {
        let text = stderr(&mut check(directory.path(), options, &["./bug"]), 2);
        assert!(text.contains(reason), "{options:?}: {text}");
    }
    for arguments in [&["check"][..], &["check", "./bug"], &["check", "--"]] {
        let text = stderr(ordain(directory.path()).args(arguments), 2);
        assert!(text.contains("Usage: ordain check [OPTIONS] -- PROGRAM [ARGUMENT]..."), "{arguments:?}: {text}");
    }
}

#[test]
fn a_finding_is_told_even_if_its_schedule_cannot_be_written() {
    let directory = twins("abba");
    write(directory.path(), "file", "");
    let options = ["--run-dir", "file/run"];
    let text = stderr(&mut check(directory.path(), &options, &["./bug"]), 1);
    assert!(text.contains("ordain found: deadlock") && text.contains("\nfinding: deadlock"), "{text}");
    assert!(text.contains("The schedule file could not be written (file/run: Not a directory"), "{text}");
    assert!(text.contains(" Name a directory that can be written to with --run-dir.\n"), "{text}");
    let object = json(&mut check(directory.path(), &[&options[..], &["--format", "json"]].concat(), &["./bug"]), 1);
    assert_eq!(object["findings"][0]["schedule"], Value::Null);
}

#[test]
fn the_run_directory_can_be_chosen() {
    let directory = twins("abba");
    let text = stderr(&mut check(directory.path(), &["--run-dir", "my runs/1"], &["./bug"]), 1);
    assert!(text.contains(" replay 'my runs/1/finding-1.ordain'\n"), "{text}");
    assert!(directory.path().join("my runs/1/finding-1.ordain").is_file());
    assert!(!directory.path().join(".ordain").exists());
}

/// Processes that run the program at `path`.
fn processes(path: &Path) -> usize {
    let path = path.canonicalize().expect("the program exists");
    let entries = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    entries.filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == path)).count()
}

#[test]
fn a_killed_check_leaves_nothing_behind() {
    let directory = directory();
    let program = compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    for mode in ["snapshot", "fork", "exec"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ordain"))
            .args(["check", "--mode", mode, "--strategy", "dfs", "--", "./counter", "5", "5"])
            .current_dir(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command can be run");
        wait_until("the program runs", 20, || processes(&program) > 0);
        child.kill().expect("the check still runs");
        child.wait().expect("the check is gone");
        wait_until("the program is gone", 2, || processes(&program) == 0);
    }
    let left: Vec<_> = fs::read_dir(directory.path()).expect("readable").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["counter"]);
}

fn wait_until(what: &str, seconds: u64, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what}: not after {:?}", start.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
}
