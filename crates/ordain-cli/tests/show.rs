//! `ordain show`: valid files, and everything that is none.

mod common;

use common::{SCHEDULE, directory, ordain, stderr, stdout, write};

#[test]
fn a_schedule_is_a_table() {
    let directory = directory();
    let file = write(directory.path(), "a.ordain", SCHEDULE);
    insta::assert_snapshot!(stdout(ordain(directory.path()).arg("show").arg(file), 0), @r"
    program  bank::transfer
    found    deadlock: main waits to lock main/mutex 0
    level    ordain types
    steps    4, with 1 context switch

      step  thread  choice  operation
         0  main            spawn main.1 at src/lib.rs:7:9
         1  main            lock main/mutex#0 at src/lib.rs:9:13
    >    2  main.1       1  notify-one main/condvar#2 -> woke 1 at src/lib.rs:11:13
         3  main.1
    ");
}

#[test]
fn lines_between_steps_do_not_shift_the_table() {
    let directory = directory();
    let text =
        "ordain schedule 1\n# steps: none of these\n\nsteps:\n# a remark\n\nmain # one\n\n  main.1   # two # three\n";
    let file = write(directory.path(), "a.ordain", text);
    insta::assert_snapshot!(stdout(ordain(directory.path()).arg("show").arg(file), 0), @r"
    steps  2, with 1 context switch

      step  thread  choice  operation
         0  main            one
    >    1  main.1          two # three
    ");
}

#[test]
fn a_schedule_without_steps_is_valid() {
    let directory = directory();
    let file = write(directory.path(), "a.ordain", "ordain schedule 1\nsteps:\n");
    assert_eq!(stdout(ordain(directory.path()).arg("show").arg(file), 0), "steps  0, with 0 context switches\n");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let directory = directory();
    let text = "ordain schedule 1\nprogram: \u{1b}[2Jx\nsteps:\nmain # \u{7}bell\n";
    let file = write(directory.path(), "a.ordain", text);
    let shown = stdout(ordain(directory.path()).arg("show").arg(file), 0);
    assert!(shown.contains("\u{fffd}[2Jx") && shown.contains("\u{fffd}bell"), "{shown:?}");
    let file = write(directory.path(), "b.ordain", "ordain schedule 1\n\u{1b}[2J\n");
    let shown = stderr(ordain(directory.path()).arg("show").arg(file), 2);
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_missing_file_is_told_with_its_cause() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).args(["show", "nowhere.ordain"]), 2);
    assert!(text.contains("cannot read the schedule file nowhere.ordain"), "{text}");
    assert!(text.contains("No such file or directory"), "{text}");
    assert!(text.contains("help: a finding prints the path of its schedule"), "{text}");
}

#[test]
fn a_directory_is_no_schedule() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).args(["show", "."]), 2);
    assert!(text.contains(". is not a file"), "{text}");
    assert!(text.contains("help: name one of the schedule files in it"), "{text}");
}

#[test]
fn the_line_that_is_wrong_is_shown() {
    let directory = directory();
    let cases = [
        ("#!/bin/sh\necho\n", "[a.ordain:1:1]", "not a schedule: it must begin with `ordain schedule 1`"),
        ("", "", "not a schedule: it must begin with `ordain schedule 1`"),
        ("ordain schedule 2\nsteps:\n", "[a.ordain:1:1]", "made by another version of Ordain"),
        ("ordain schedule 1\nnonsense\n", "[a.ordain:2:1]", "expected `KEY: VALUE` or `steps:`"),
        ("ordain schedule 1\nprogram: x\n", "", "no line `steps:`"),
        ("ordain schedule 1\nsteps:\nmain\nmain.0\nmain\n", "[a.ordain:4:1]", "not a step"),
        ("ordain schedule 1\nsteps:\nmain.99999999999999999999\n", "[a.ordain:3:1]", "not a step"),
        ("ordain schedule 1\nsteps:\nmain choice 99999999999\n", "[a.ordain:3:1]", "not a step"),
        ("ordain schedule 1\nsteps:\nmain choice -1\n", "[a.ordain:3:1]", "not a step"),
        ("ordain schedule 1\nsteps:\nnobody\n", "[a.ordain:3:1]", "not a step"),
    ];
    for (text, place, reason) in cases {
        write(directory.path(), "a.ordain", text);
        let shown = stderr(ordain(directory.path()).args(["show", "a.ordain"]), 2);
        assert!(shown.contains("a.ordain is not a valid schedule"), "{text:?}: {shown}");
        assert!(shown.contains(place) && shown.contains(reason), "{text:?}: {shown}");
    }
}

#[test]
fn what_is_not_text_is_no_schedule() {
    let directory = directory();
    write(directory.path(), "a.ordain", [0xff, 0xfe, 0x00]);
    let text = stderr(ordain(directory.path()).args(["show", "a.ordain"]), 2);
    assert!(text.contains("a.ordain is not a schedule: it is not UTF-8 text"), "{text}");
}

#[test]
fn a_huge_file_is_refused_unread() {
    let directory = directory();
    let file = std::fs::File::create(directory.path().join("a.ordain")).expect("the file can be made");
    file.set_len(1 << 40).expect("a file with a hole takes no space");
    let text = stderr(ordain(directory.path()).args(["show", "a.ordain"]), 2);
    assert!(text.contains("a.ordain has 1099511627776 bytes, and a schedule has fewer than"), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let directory = directory();
    let steps = "main # step\n".repeat(200_000);
    let file = write(directory.path(), "a.ordain", format!("ordain schedule 1\nsteps:\n{steps}"));
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ordain"))
        .arg("show")
        .arg(file)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the command can be run");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the command ends");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn what_came_from_outside_is_told_by_its_size() {
    let directory = directory();
    let text = SCHEDULE.replace("level:", &format!("outside: {}\nlevel:", "0a1b".repeat(500)));
    write(directory.path(), "a.ordain", text);
    let text = stdout(ordain(directory.path()).args(["show", "a.ordain"]), 0);
    assert!(text.contains("outside  1000 bytes that the program read\n") && !text.contains("0a1b"), "{text}");
}
