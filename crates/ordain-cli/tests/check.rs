//! `ordain check`: findings, verdicts, options, the JSON object, and everything that cannot be checked.
#![cfg(target_os = "linux")]

mod common;

use assert_cmd::Command;
use common::{assert_valid, compile, compile_text, directory, json, ordain, people, source, told, twins, write};
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
        let text = people(&mut check(directory.path(), &[], &["./bug"]), 1);
        assert!(text.starts_with(&format!("ordain found: {}\n", kind.replace('-', " "))), "{name}: {text}");
        assert!(text.contains(about) && text.contains(&format!("\nfinding: {kind} (after ")), "{name}: {text}");
        assert!(text.contains(&format!("{name}.c:")), "{name}: {text}");
        let text = people(&mut check(directory.path(), &[], &["./fixed"]), 0);
        assert!(text.starts_with(VERIFIED), "{name}: {text}");
    }
}

#[test]
fn all_modes_agree() {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    for mode in ["snapshot", "fork", "exec"] {
        let text = people(&mut check(directory.path(), &["--quiet", "--mode", mode], &["./counter", "2", "3"]), 0);
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
        people(&mut check(directory.path(), options, &["./counter", size[0], size[1]]), 0)
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
    let text = people(check(directory.path(), &options, &["./program", "--help"]).env("SECRET", "x"), 0);
    assert!(text.starts_with(VERIFIED), "{text}");
    assert!(text.contains("note      the program made no threads with this input"), "{text}");
    let text = people(&mut check(directory.path(), &options[..4], &["./program", "--help"]), 1);
    assert!(text.contains("the program exited with status 42"), "{text}");
    let text = people(&mut check(directory.path(), &[], &["./program", "--help"]), 1);
    assert!(text.contains("the program exited with status 11"), "{text}");
}

#[test]
fn a_program_is_found_in_the_path() {
    let directory = directory();
    let text = people(&mut check(directory.path(), &[], &["true"]), 0);
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
    let text = people(&mut check(directory.path(), &["--keep-going"], &["./program"]), 1);
    assert!(text.contains("\nfinding: 2 different ones: assertion, exit-status (in 2 executions)\n"), "{text}");
    for file in ["finding-1.ordain", "finding-2.ordain"] {
        assert!(text.contains(&format!("ordain replay .ordain/program/{file}\n")), "{text}");
        assert!(directory.path().join(".ordain/program").join(file).is_file());
    }
}

#[test]
fn output_that_depends_on_the_schedule_is_a_finding_if_asked() {
    let directory = twins("output_order");
    people(&mut check(directory.path(), &[], &["./bug"]), 0);
    let text = people(&mut check(directory.path(), &["--compare-output"], &["./bug"]), 1);
    assert!(text.contains("line 1 is \"2: one two\" under one schedule and \"2: two one\" under another"), "{text}");
    people(&mut check(directory.path(), &["--compare-output"], &["./fixed"]), 0);
}

#[test]
fn late_timeouts_are_told() {
    let directory = twins("sleep_sync");
    people(&mut check(directory.path(), &[], &["./bug"]), 1);
    // The second is the name that it had before.
    for options in [&["--timeouts", "last"][..], &["--kind-time"]] {
        let text = people(&mut check(directory.path(), options, &["./bug"]), 0);
        assert!(text.contains("; timeouts: last, when nothing else can happen"), "{text}");
    }
}

#[test]
fn a_program_that_hangs_is_found_in_the_given_time() {
    let directory = twins("flag_spin");
    let text = people(&mut check(directory.path(), &["--hang-time", "200ms"], &["./bug"]), 1);
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
    let text = people(&mut check(directory.path(), &["--junit", "junit.xml"], &["./program"]), 3);
    assert!(text.starts_with("no finding at level sync"), "{text}");
    let junit = fs::read_to_string(directory.path().join("junit.xml")).expect("it is written");
    assert!(junit.contains("failures=\"1\"") && junit.contains("type=\"requirement\""), "{junit}");
    assert!(text.contains("\n\nWARNING: almost nothing was visible: 2 threads"), "{text}");
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
    let text = people(&mut check(directory.path(), &[], &["./program"]), 2);
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
        let text = people(&mut check(path, options, &[program]), 2);
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
    let cases: [(&[&str], &str); 24] = [
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
        (&["--env", "COLOUR"], "COLOUR is not set here; write NAME=VALUE"),
        (&["--env", ""], "write NAME=VALUE"),
        (&["--timeouts", "late"], "possible values: any, last"),
        (&["--budget", "5"], "the unit is missing"),
        (&["--budget", "5m", "--max-time", "5m"], "cannot be used with"),
        (&["--env", "=green"], "no name before the `=`"),
        (&["--env", "LD_PRELOAD=mine.so"], "Ordain sets LD_PRELOAD itself"),
        (&["--expect-status", "256"], "256 is not in 0..=255"),
        (&["--preemption-bound", "1", "--delay-bound", "1"], "cannot be used with"),
        (&["--preemption-bound", "1", "--strategy", "pct"], "cannot be used with"),
        (&["--preemption-bound", "-1"], "unexpected argument"),
    ];
    for (options, reason) in cases {
        let text = people(&mut check(directory.path(), options, &["./bug"]), 2);
        assert!(text.contains(reason), "{options:?}: {text}");
    }
    for arguments in [&["check"][..], &["check", "--"], &["check", "--sed", "./bug"]] {
        let text = people(ordain(directory.path()).args(arguments), 2);
        assert!(text.contains("Usage: ordain check [OPTIONS] [--] PROGRAM [ARGUMENT]..."), "{arguments:?}: {text}");
    }
}

#[test]
fn a_finding_is_told_even_if_its_schedule_cannot_be_written() {
    let directory = twins("abba");
    write(directory.path(), "file", "");
    let options = ["--run-dir", "file/run"];
    // It goes to the directory for temporary files, and that is told.
    let temporary = directory.path().join("temporary");
    fs::create_dir(&temporary).expect("a directory can be made");
    let elsewhere = |program: &str, to: &Path, status| {
        people(check(directory.path(), &options, &[program]).env("TMPDIR", to), status)
    };
    let text = elsewhere("./bug", &temporary, 1);
    assert!(text.contains("ordain found: deadlock") && text.contains("\nfinding: deadlock"), "{text}");
    assert!(text.contains("  note      file/run cannot be written to ("), "{text}");
    let kept: Vec<_> = fs::read_dir(&temporary).expect("readable").flatten().map(|entry| entry.path()).collect();
    let schedule = kept[0].join("finding-1.ordain");
    assert!(kept.len() == 1 && text.contains(&format!("the run directory is {}", kept[0].display())), "{text}");
    ordain(directory.path()).arg("replay").arg(&schedule).assert().code(1);
    // What nobody needs is not kept.
    assert!(elsewhere("./fixed", &temporary, 0).contains("so no record of the run is kept"));
    assert_eq!(fs::read_dir(&temporary).expect("readable").count(), 1);
    // Where that cannot be written to either, the schedule is told.
    let text = elsewhere("./bug", Path::new("/proc/nowhere"), 1);
    assert!(
        text.contains("\nits schedule, which `ordain replay FILE` takes when it is in a file:\n\nordain schedule"),
        "{text}"
    );
    let object = json(
        check(directory.path(), &[&options[..], &["--format", "json"]].concat(), &["./bug"]).env("TMPDIR", "/proc"),
        1,
    );
    assert_eq!(object["findings"][0]["schedule"], Value::Null);
}

#[test]
fn findings_of_another_command_line_are_kept() {
    let directory = directory();
    let text = "#include <stdio.h>\nint main(int n, char **a) { return n == 1 ? 0 : (getchar() != EOF) + 10 * n; }";
    compile_text(directory.path(), text, "program");
    let run = |options: &[&str], arguments: &[&str], status| {
        people(&mut check(directory.path(), options, &[&["./program"], arguments].concat()), status)
    };
    let number = |text: &str| {
        let at = text.find("replay .ordain/").map_or("", |at| &text[at + 7..]);
        at.split_once("/finding-1").map_or(String::new(), |name| name.0.to_owned())
    };
    write(directory.path(), "input", "x");
    for _ in 0..2 {
        // The same command line has the same directory, whatever was checked between.
        assert_eq!(number(&run(&[], &["a"], 1)), ".ordain/program");
        run(&[], &[], 0);
        assert_eq!(number(&run(&[], &["b"], 1)), ".ordain/program-2");
        assert_eq!(number(&run(&["--stdin", "input"], &["a"], 1)), ".ordain/program-3");
        assert_eq!(number(&run(&["--env", "A=1"], &["a"], 1)), ".ordain/program-4");
    }
    assert_eq!(fs::read_dir(directory.path().join(".ordain")).expect("readable").count(), 5);
}

#[test]
fn the_program_may_stand_without_dashes_and_the_result_is_on_standard_output() {
    let directory = twins("abba");
    let mut command = ordain(directory.path());
    let output =
        command.args(["check", "--quiet", "./fixed", "--max-time", "--junit"]).assert().code(0).get_output().clone();
    assert!(output.stdout.starts_with(VERIFIED.as_bytes()) && output.stderr.is_empty(), "{output:?}");
    let run = fs::read_to_string(directory.path().join(".ordain/fixed/run.json")).expect("a record");
    assert!(run.contains("fixed --max-time --junit\""), "its arguments are its own: {run}");
    // What machines read there is alone.
    for options in [&["--format", "json"][..], &["--junit", "-"], &["--sarif", "/dev/stdout"]] {
        let mut command = check(directory.path(), &[&["-q"], options].concat(), &["./bug"]);
        let output = command.assert().code(1).get_output().clone();
        let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(
            !out.contains("ordain found: deadlock\n\n") && errors.contains("\nfinding: deadlock"),
            "{out}\n{errors}"
        );
        assert!(out.starts_with(['{', '<']), "{out}");
    }
}

#[test]
fn colours_are_chosen_and_the_locale_is_heeded() {
    let directory = twins("abba");
    let told = |options: &[&str], variable: &str, value: &str| {
        let mut command = check(directory.path(), options, &["./bug"]);
        people(command.env_remove("NO_COLOR").env(variable, value), 1)
    };
    for (options, variable, value, coloured) in [
        (&["--color", "always"][..], "NO_COLOR", "1", true),
        (&["--color", "never"], "CLICOLOR_FORCE", "1", false),
        (&["--color", "auto"], "CLICOLOR_FORCE", "1", true),
        (&[], "NO_COLOR", "1", false),
        (&[], "TERM", "xterm", false),
    ] {
        assert_eq!(told(options, variable, value).contains('\u{1b}'), coloured, "{options:?} {variable}={value}");
    }
    for locale in ["C", "POSIX"] {
        let text = told(&[], "LC_ALL", locale);
        assert!(text.is_ascii(), "{text}");
    }
    let text = people(check(directory.path(), &["--color", "never"], &["./missing"]).env("LC_ALL", "C"), 2);
    assert!(text.is_ascii() && text.contains("there is no program"), "{text}");
}

#[test]
fn variables_are_passed_on_by_name() {
    let directory = directory();
    let text = "#include <stdlib.h>\nint main(void) { return getenv(\"COLOUR\") ? atoi(getenv(\"COLOUR\")) : 9; }";
    compile_text(directory.path(), text, "program");
    people(check(directory.path(), &["--env", "COLOUR"], &["./program"]).env("COLOUR", "0"), 0);
    let text = people(check(directory.path(), &["--env", "COLOUR"], &["./program"]).env("COLOUR", "7"), 1);
    assert!(text.contains("exited with status 7"), "{text}");
    // A replay has the value of the schedule, or another one.
    let replay = |options: &[&str], status| {
        people(ordain(directory.path()).arg("replay").args(options).arg(".ordain/program/finding-1.ordain"), status)
    };
    assert!(replay(&[], 1).contains("COLOUR=7"));
    assert!(replay(&["--env", "COLOUR=0"], 0).contains("COLOUR=0"));
}

#[test]
fn how_long_it_would_take_is_told_in_a_sentence() {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    let told = |size: [&str; 2]| {
        let text = people(&mut check(directory.path(), &["--estimate", "-q"], &["./counter", size[0], size[1]]), 0);
        assert_eq!(text.lines().count(), 1, "{text}");
        text
    };
    let text = told(["2", "2"]);
    assert!(
        text.starts_with("exploring everything takes ") && text.ends_with(" executions, which were all made\n"),
        "{text}"
    );
    let text = told(["6", "6"]);
    assert!(text.starts_with("exploring everything would take about ") && text.contains("years"), "{text}");
    assert!(text.contains(": an estimated ") && text.contains(" per second with "), "{text}");
    let options = ["--estimate", "--format", "json"];
    let object = json(&mut check(directory.path(), &options, &["./counter", "6", "6"]), 0);
    assert!(object["seconds_log10"]["log10"].as_f64().is_some_and(|log10| log10 > 6.0), "{object}");
    assert!(!directory.path().join(".ordain").exists(), "nothing was checked");
    // What is met on the way is no result.
    let abba = twins("abba");
    let text = people(&mut check(abba.path(), &["--estimate", "-q"], &["./bug"]), 0);
    assert!(text.contains("the same command without --estimate tells it"), "{text}");
}

#[test]
fn what_is_required_decides_about_the_status() {
    let directory = directory();
    compile(directory.path(), &source("counts/mutex_counter.c"), "counter", &[]);
    let told = |options: &[&str], size: [&str; 2], status| {
        let options = [options, &["--strategy", "optimal"]].concat();
        people(&mut check(directory.path(), &options, &["./counter", size[0], size[1]]), status)
    };
    for (options, status) in [
        (&[][..], 0),
        (&["--require", "verified"], 3),
        (&["--require", "share=90%"], 3),
        (&["--require", "share=0.0000001%"], 0),
    ] {
        let text = told(&[&["--max-executions", "300"], options].concat(), ["3", "4"], status);
        assert!(text.starts_with("no finding at level sync"), "{text}");
        assert_eq!(text.contains("\n  failed    `"), status == 3, "{text}");
    }
    for require in ["verified", "share=100%"] {
        assert!(told(&["--require", require], ["2", "3"], 0).starts_with("verified"));
    }
    let options = ["--require", "verified", "--max-executions", "300", "--format", "json"];
    let object = json(&mut check(directory.path(), &options, &["./counter", "3", "4"]), 3);
    assert_valid(&object);
    assert_eq!(object["unmet"], "`verified` was required, but the verdict is `no finding`");
    let text = told(&["--require", "all"], ["2", "3"], 2);
    assert!(text.contains("write `verified`, or a share of the classes such as `share=90%`"), "{text}");
}

#[test]
fn the_run_directory_can_be_chosen() {
    let directory = twins("abba");
    let text = people(&mut check(directory.path(), &["--run-dir", "my runs/1"], &["./bug"]), 1);
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
            .stdin(Stdio::null())
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
