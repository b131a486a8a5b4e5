//! `ordain replay --search`: a changed program departs from an old schedule, and the finding is found again.
#![cfg(target_os = "linux")]

mod common;

use common::{compile_text, directory, ordain, stderr, told};
use std::path::Path;
use tempfile::TempDir;

const FINDING: &str = ".ordain/prog/finding-1.ordain";

/// A deadlock of two locks; what else each thread does first differs from build to build.
fn program(one: &str, two: &str) -> String {
    format!(
        "#include <pthread.h>\n\
         static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;\n\
         static void *one(void *unused) {{\n    {one}\n    pthread_mutex_lock(&a);\n    pthread_mutex_lock(&b);\n\
         \x20   pthread_mutex_unlock(&b);\n    pthread_mutex_unlock(&a);\n    return unused;\n}}\n\
         static void *two(void *unused) {{\n    {two}\n    pthread_mutex_lock(&b);\n    pthread_mutex_lock(&a);\n\
         \x20   pthread_mutex_unlock(&a);\n    pthread_mutex_unlock(&b);\n    return unused;\n}}\n\
         int main(void) {{\n    pthread_t x, y;\n    pthread_create(&x, NULL, one, NULL);\n\
         \x20   pthread_create(&y, NULL, two, NULL);\n    pthread_join(x, NULL);\n    pthread_join(y, NULL);\n\
         \x20   return (int)sizeof c == 0;\n}}\n"
    )
}

/// A schedule of one build beside another build.
fn changed(one: &str, two: &str) -> TempDir {
    let directory = directory();
    compile_text(directory.path(), &program("", ""), "prog");
    ordain(directory.path()).args(["check", "--", "./prog"]).assert().code(1);
    compile_text(directory.path(), &program(one, two), "prog");
    directory
}

fn replay(directory: &Path, options: &[&str]) -> assert_cmd::Command {
    let mut command = ordain(directory);
    command.args(["replay", FINDING]).args(options);
    command
}

/// Fingerprints differ from compiler to compiler.
fn without_warning(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with("warning: ")).map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn the_departure_is_told_with_both_operations_and_lines() {
    let directory = changed("", "pthread_mutex_lock(&a); pthread_mutex_unlock(&a);");
    let text = told(&mut replay(directory.path(), &[]), 2, directory.path());
    insta::assert_snapshot!(without_warning(&text));
}

#[test]
fn the_finding_is_found_again_and_replays() {
    let directory = changed("", "pthread_mutex_lock(&a); pthread_mutex_unlock(&a);");
    let text = told(&mut replay(directory.path(), &["--search", "20s"]), 1, directory.path());
    insta::assert_snapshot!(without_warning(&text));
    let renewed = ".ordain/prog/finding-1.renewed.ordain";
    let text = stderr(ordain(directory.path()).args(["replay", renewed]), 1);
    assert!(text.contains("ordain found: deadlock") && !text.contains("warning"), "{text}");
    let files = std::fs::read_dir(directory.path().join(".ordain/prog")).expect("the directory is there");
    assert_eq!(files.count(), 3, "nothing but both schedules and the record is left");
}

#[test]
fn new_steps_are_made_on_the_way() {
    let directory = changed("pthread_mutex_lock(&c); pthread_mutex_unlock(&c);", "");
    let text = stderr(&mut replay(directory.path(), &["--search"]), 1);
    assert!(
        text.contains("at step 3 of 6: main.1 was to lock mutex a at prog.c:6, but its step is lock mutex c"),
        "{text}"
    );
    assert!(text.ends_with("finding: deadlock, found again by following the old schedule loosely\n"), "{text}");
}

#[test]
fn a_moved_line_is_no_departure() {
    let directory = changed("\n\n\n", "");
    let text = stderr(&mut replay(directory.path(), &[]), 1);
    assert!(text.ends_with("finding: deadlock under this schedule of 6 steps\n"), "{text}");
    assert!(!text.contains("something else"), "{text}");
}

#[test]
fn what_is_fixed_is_not_found() {
    let directory = directory();
    compile_text(directory.path(), &program("", ""), "prog");
    ordain(directory.path()).args(["check", "--", "./prog"]).assert().code(1);
    let fixed = program("", "").replace(
        "    pthread_mutex_lock(&b);\n    pthread_mutex_lock(&a);",
        "    pthread_mutex_lock(&a);\n    pthread_mutex_lock(&b);",
    );
    compile_text(directory.path(), &fixed, "prog");
    let text = stderr(&mut replay(directory.path(), &["--search", "20s"]), 0);
    assert!(text.contains("no finding: nothing was found in "), "{text}");
    assert!(text.contains("which are all there are"), "{text}");
}

#[test]
fn a_file_in_the_place_of_a_time_is_told() {
    let directory = directory();
    let text = stderr(ordain(directory.path()).args(["replay", "--search", "a.ordain"]), 2);
    assert!(text.contains("write the schedule file first: `ordain replay FILE --search`"), "{text}");
}
