//! `ordain replay` of programs: findings show again, departures are told, and schedules are not trusted.
#![cfg(target_os = "linux")]

mod common;

use assert_cmd::Command;
use common::{SCHEDULE, compile, compile_text, directory, json, ordain, source, stderr, stdout, told, twins, write};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where a check of `./bug` writes its schedule.
const FINDING: &str = ".ordain/bug/finding-1.ordain";

fn found(directory: &Path, options: &[&str]) {
    ordain(directory).arg("check").args(options).args(["--", "./bug"]).assert().code(1);
}

fn replay(directory: &Path, options: &[&str]) -> Command {
    let mut command = ordain(directory);
    command.arg("replay").args(options).arg(FINDING);
    command
}

#[test]
fn findings_show_every_time() {
    for (name, kind) in [("abba", "deadlock"), ("check_then_act", "assertion"), ("null_pointer", "crash")] {
        let directory = twins(name);
        found(directory.path(), &[]);
        let text = stderr(&mut replay(directory.path(), &["--times", "20"]), 1);
        assert!(text.contains(&format!("\nordain found: {kind}\n")), "{text}");
        assert!(text.ends_with("\nthe finding showed 20 of 20 times\n"), "{text}");
    }
}

/// What executions have taught changes which steps there are: numbers of descriptors matter, or where calls begin. A fresh process is told.
#[test]
fn findings_that_rest_on_lessons_show_in_fresh_processes() {
    for (name, argument, lesson) in
        [("double_close", None, 1), ("close_while_waiting", Some("read"), 2), ("close_while_waiting", Some("poll"), 2)]
    {
        for options in [&["--strategy", "optimal"][..], &["--mode", "exec"], &["--workers", "2"]] {
            let directory = directory();
            compile(directory.path(), &source(&format!("bugs/{name}.c")), "bug", &[]);
            let mut check = ordain(directory.path());
            check.arg("check").args(options).args(["--", "./bug"]).args(argument).assert().code(1);
            let text = stderr(&mut replay(directory.path(), &["--times", "3"]), 1);
            assert!(text.ends_with("\nthe finding showed 3 of 3 times\n"), "{name} {options:?}: {text}");
            let path = directory.path().join(FINDING);
            let schedule = fs::read_to_string(&path).expect("the schedule was written");
            let line = format!("lesson: {lesson}\n");
            assert!(schedule.contains(&line), "{name} {options:?}: {schedule}");
            // Without it the program has other steps.
            fs::write(&path, schedule.replace(&line, "")).expect("the schedule can be written");
            let text = stderr(&mut replay(directory.path(), &[]), 2);
            assert!(text.contains("the program departs from the schedule at step "), "{name} {options:?}: {text}");
        }
    }
}

#[test]
fn a_replay_tells_what_it_runs_and_what_shows() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    insta::assert_snapshot!(told(&mut replay(directory.path(), &[]), 1, directory.path()));
}

#[test]
fn the_json_object_counts() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    let object = json(&mut replay(directory.path(), &["--times", "3", "--format", "json"]), 1);
    let count = |name: &str| object[name].as_u64();
    assert_eq!((count("version"), count("times"), count("shown")), (Some(2), Some(3), Some(3)));
    assert_eq!((count("ended_well"), count("departed")), (Some(0), Some(0)));
    assert_eq!((&object["program_changed"], &object["departure"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(object["finding"]["kind"], "deadlock");
    assert_eq!(object["finding"]["threads"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_changed_program_is_told_and_its_departure_has_status_2() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    fs::rename(directory.path().join("fixed"), directory.path().join("bug")).expect("the file can be renamed");
    let text = stderr(&mut replay(directory.path(), &[]), 2);
    assert!(text.contains("bug is not the same as when the schedule was made (its fingerprint was "), "{text}");
    assert!(
        text.contains("the program departs from the schedule at step 5 of 6: main.2 was to lock mutex to at "),
        "{text}"
    );
    assert!(text.contains("help: the program is not the one that the schedule was made with"), "{text}");
    let object = json(&mut replay(directory.path(), &["--format", "json"]), 2);
    assert!(object["error"]["message"].as_str().is_some_and(|m| m.contains("departs")), "{object}");
}

#[test]
fn a_program_without_the_bug_that_can_follow_ends_well() {
    let directory = directory();
    let text = |status: i32| {
        format!(
            "#include <pthread.h>\nstatic pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
             int main(void) {{ pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); return {status}; }}\n"
        )
    };
    compile_text(directory.path(), &text(3), "bug");
    found(directory.path(), &[]);
    compile_text(directory.path(), &text(0), "bug");
    let text = stderr(&mut replay(directory.path(), &[]), 0);
    assert!(
        text.contains("warning: ") && text.contains("\nno finding: the program followed the schedule of 2 steps"),
        "{text}"
    );
    let text = stderr(&mut replay(directory.path(), &["--times", "2"]), 0);
    assert!(text.ends_with("the finding showed 0 of 2 times; the program ended well 2 times\n"), "{text}");
    let object = json(&mut replay(directory.path(), &["--format", "json"]), 0);
    assert_eq!((&object["program_changed"], &object["ended_well"]), (&true.into(), &1.into()));
}

#[test]
fn a_program_that_moved_can_be_named() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    fs::rename(directory.path().join("bug"), directory.path().join("moved")).expect("the file can be renamed");
    let text = stderr(&mut replay(directory.path(), &[]), 2);
    assert!(
        text.contains("the program of the schedule cannot be run") && text.contains("there is no program"),
        "{text}"
    );
    assert!(text.contains("help: if it was moved or is called otherwise here, name it with --program FILE"), "{text}");
    let text = stderr(&mut replay(directory.path(), &["--program", "./moved"]), 1);
    assert!(text.contains("ordain found: deadlock") && !text.contains("warning"), "{text}");
}

#[test]
fn arguments_variables_and_options_survive_in_the_schedule() {
    let directory = directory();
    let text = r##"
        #include <stdlib.h>
        #include <string.h>
        int main(int count, char **arguments) {
            const char *variable = getenv("ODD");
            return count == 6 && !strcmp(arguments[1], "") && !strcmp(arguments[2], " a b ") &&
                   !strcmp(arguments[3], "#1 100%41\n\t") && !strcmp(arguments[4], "gr\xc3\xbcn") &&
                   !strcmp(arguments[5], "\xff\x01") && variable && !strcmp(variable, " =#\n") ? 3 : 0;
        }"##;
    compile_text(directory.path(), text, "bug");
    let mut command = ordain(directory.path());
    command.args(["check", "--env", "ODD= =#\n", "--expect-status", "2", "--", "./bug", "", " a b ", "#1 100%41\n\t"]);
    command.arg("gr\u{fc}n").arg(OsStr::from_bytes(b"\xff\x01")).assert().code(1);
    let text = stderr(&mut replay(directory.path(), &[]), 1);
    assert!(text.contains("the program exited with status 3"), "{text}");
    assert!(!text.contains('\u{1}') && !text.contains('\t'), "{text:?}");
    stdout(ordain(directory.path()).args(["show", FINDING]), 0);
}

#[test]
fn a_path_with_odd_characters_survives() {
    let directory = twins("abba");
    let odd = directory.path().join("a #1 100%");
    fs::create_dir(&odd).expect("a directory can be made");
    fs::rename(directory.path().join("bug"), odd.join("bug")).expect("the file can be renamed");
    found(&odd, &[]);
    stderr(&mut replay(&odd, &[]), 1);
}

#[test]
fn input_must_be_given_again() {
    let directory = directory();
    let text = "#include <stdio.h>\nint main(void) { return getchar() == 'x' ? 3 : 0; }\n";
    compile_text(directory.path(), text, "bug");
    write(directory.path(), "input", "xyz");
    write(directory.path(), "other", "abcd");
    found(directory.path(), &["--stdin", "input"]);
    let text = stderr(&mut replay(directory.path(), &[]), 2);
    assert!(text.contains("the program read 3 bytes of standard input when the schedule was made"), "{text}");
    assert!(text.contains("help: name the file that it read with --stdin FILE"), "{text}");
    let text = stderr(&mut replay(directory.path(), &["--stdin", "input"]), 1);
    assert!(!text.contains("warning"), "{text}");
    let text = stderr(&mut replay(directory.path(), &["--stdin", "other"]), 0);
    assert!(text.contains("warning: standard input was 3 bytes, "), "{text}");
    stderr(&mut replay(directory.path(), &["--stdin", "nowhere"]), 2);
}

#[test]
fn what_a_check_assumed_is_assumed_again() {
    let directory = twins("output_order");
    found(directory.path(), &["--compare-output"]);
    let text = stderr(&mut replay(directory.path(), &["--times", "3"]), 1);
    assert!(text.contains("ordain found: output") && text.contains("showed 3 of 3 times"), "{text}");

    let endless = "#include <semaphore.h>\nstatic sem_t sem;\n\
                   int main(void) { sem_init(&sem, 0, 0); for (;;) { sem_post(&sem); sem_wait(&sem); } }\n";
    compile_text(directory.path(), endless, "bug");
    found(directory.path(), &["--max-steps", "100", "--spin-bound", "1000"]);
    let text = stderr(&mut replay(directory.path(), &[]), 1);
    assert!(text.contains("ordain found: step limit"), "{text}");
}

#[test]
fn a_schedule_is_shown() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    let text = stdout(ordain(directory.path()).args(["show", FINDING]), 0);
    assert!(text.starts_with("executable  /") && text.contains("\nlevel       sync\n"), "{text}");
    assert!(text.contains("     5  main.2          lock mutex to at "), "{text}");
}

#[test]
fn a_header_that_makes_no_sense_is_refused() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    let schedule = fs::read_to_string(directory.path().join(FINDING)).expect("the schedule was written");
    let executable = schedule.lines().find(|l| l.starts_with("executable: ")).expect("it names the program").to_owned();
    let cases = [
        ("executable:", "it is not the absolute path of a program"),
        ("executable: ./bug", "it is not the absolute path of a program"),
        ("executable: /bin%00/sh", "it holds a NUL byte"),
        ("executable: /nowhere/bug", "there is no program `/nowhere/bug`"),
        ("executable: /etc/passwd", "/etc/passwd is not executable"),
        ("executable: /", "/ is not a file"),
        ("executable: /bin/true\nexecutable: /bin/false", "it is there more than once"),
        ("+level: mpi", "it is there more than once"),
        ("+timeouts: never", "expected `any` or `last`"),
        ("+spurious-wakeups: never", "expected a boolean"),
        ("+expect-status: 256", "integer `256`, expected u8"),
        ("+expect-status: -1", "integer `-1`, expected u8"),
        ("+lesson: 256", "it should be a number from 0 to 255"),
        ("+lesson: all", "it should be a number from 0 to 255"),
        ("+spin-bound: 0", "it must be 1 or more"),
        ("+max-steps: many", "string \"many\", expected usize"),
        ("+hang-time: 7", "expected a string"),
        ("+argument: a%00b", "it holds a NUL byte"),
        ("+variable: COLOUR", "write NAME=VALUE"),
        ("+variable: =green", "no name before the `=`"),
        ("+variable: LD_PRELOAD=/tmp/evil.so", "Ordain sets LD_PRELOAD itself"),
        ("+input: much", "it does not say how many bytes"),
    ];
    for (line, reason) in cases {
        let changed = match line.strip_prefix('+') {
            Some(more) => schedule.replace("steps:\n", &format!("{more}\nsteps:\n")),
            None => schedule.replace(&executable, line),
        };
        write(directory.path(), "a.ordain", changed);
        let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]), 2);
        assert!(text.contains(reason) && text.contains("help: "), "{line}: {text}");
    }
    for (rubbish, reason) in
        [("", "not a schedule"), ("ordain schedule 1\nexecutable: /bin/true\n", "no line `steps:`")]
    {
        write(directory.path(), "a.ordain", rubbish);
        let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]), 2);
        assert!(text.contains(reason), "{text}");
    }
    for (odd, shown) in [("\u{1b}[2J", "\u{fffd}[2J"), ("%1b[2J", "%1b[2J"), (&*"x".repeat(100_000), "xxx")] {
        write(directory.path(), "a.ordain", schedule.replace(&executable, &format!("executable: /{odd}")));
        let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]), 2);
        assert!(text.contains(shown) && !text.contains('\u{1b}') && text.len() < 1000, "{odd}: {text:?}");
    }
}

#[test]
fn steps_that_the_program_cannot_make_are_departures() {
    let directory = twins("abba");
    found(directory.path(), &[]);
    let schedule = fs::read_to_string(directory.path().join(FINDING)).expect("the schedule was written");
    let header = schedule.split("steps:\n").next().expect("there is a header");
    for (steps, place) in [
        ("main.7", "step 0 of 1: main.7 was to move, but it is not there"),
        ("main\nmain\nmain\n", "step 2 of 3: main was to move, but its join main.1 at "),
        ("main\nmain choice 4000000000\n", "step 1 of 2: main was to move"),
        ("main.1.1.1.1.1.1.1.1\n", "step 0 of 1: main.1.1.1.1.1.1.1.1 was to move, but it is not there"),
    ] {
        write(directory.path(), "a.ordain", format!("{header}steps:\n{steps}"));
        let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]), 2);
        assert!(text.contains(&format!("the program departs from the schedule at {place}")), "{text}");
        assert!(text.contains("help: the program is the same, so something around it differs"), "{text}");
    }
    write(directory.path(), "a.ordain", format!("{header}steps:\n{}", "main\n".repeat(300_000)));
    let text = stderr(ordain(directory.path()).args(["replay", "a.ordain"]), 2);
    assert!(text.contains("at step 2 of 300000: "), "{text}");
}

#[test]
fn options_for_programs_are_not_for_tests_and_the_other_way_round() {
    let directory = directory();
    write(directory.path(), "a.ordain", SCHEDULE);
    for options in [&["--times", "2"][..], &["--stdin", "x"], &["--program", "x"], &["--format", "json"]] {
        let mut command = ordain(directory.path());
        let output = command.arg("replay").args(options).arg("a.ordain").assert().code(2).get_output().clone();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            text.contains("is for schedules of programs, and a.ordain is that of the test `bank::transfer`"),
            "{text}"
        );
    }
    compile(directory.path(), &source("bugs/abba.c"), "bug", &[]);
    found(directory.path(), &[]);
    let text = stderr(replay(directory.path(), &[]).args(["--", "-p", "bank"]), 2);
    assert!(text.contains("what is behind `--` is for cargo"), "{text}");
    stderr(&mut replay(directory.path(), &["--times", "0"]), 2);
}
