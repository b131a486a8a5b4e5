//! Processes that programs make: what cannot be explored is refused, what they leave behind ends, and nobody else is touched.

mod common;
mod compile;

use common::{check, check_of, programs};
use ordain_native::{Problem, Report, Verdict};
use ordain_wire::Mode;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

fn program(directory: &Path, text: &str) -> PathBuf {
    compile::c(directory, "program", text, &["-g", "-O1", "-pthread", "-w"])
}

/// Checks a program in a mode, or in the one that Ordain chooses.
fn run(text: &str, mode: Option<Mode>) -> Result<Report, Problem> {
    let directory = TempDir::new().expect("a directory");
    let mut check = check(&program(directory.path(), text), &[]);
    check.program.mode = mode;
    check.settings.max_executions = Some(200);
    check.run()
}

#[test]
fn locks_that_processes_share_are_refused() {
    let text = r"
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    pthread_mutex_t *lock = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t shared;
    pthread_mutexattr_init(&shared);
    pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(lock, &shared);
    if (fork() == 0) { pthread_mutex_lock(lock); pthread_mutex_unlock(lock); _exit(0); }
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    wait(0);
    return 0;
}";
    for mode in [None, Some(Mode::Fork), Some(Mode::Exec)] {
        let problem = run(text, mode).expect_err("it is refused");
        assert!(problem.to_string().contains("PTHREAD_PROCESS_SHARED"), "{problem}");
    }
}

#[test]
fn processes_that_got_away_are_ended() {
    // The grandchild leads a session of its own, and would sleep for long; its number is in its first argument's place.
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("number");
    let text = format!(
        r#"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {{
    int status;
    pid_t child = fork();
    if (child == 0) {{
        setsid();
        if (fork() == 0) execl("/bin/sh", "sh", "-c", "echo $$ >> {}; exec sleep 1000", (char *)0);
        _exit(0);
    }}
    waitpid(child, &status, 0);
    while (access("{}", F_OK) != 0) usleep(1000);
    return 0;
}}"#,
        path.display(),
        path.display()
    );
    for mode in [Mode::Fork, Mode::Exec] {
        let _ = std::fs::remove_file(&path);
        run(&text, Some(mode)).expect("it can be checked");
        let numbers = std::fs::read_to_string(&path).expect("the grandchild has run");
        for number in numbers.lines() {
            let gone = || {
                !Path::new(&format!("/proc/{number}/exe")).exists()
                    || std::fs::read_link(format!("/proc/{number}/exe")).is_err()
            };
            // Who was killed may take a moment to go.
            let ended = (0..500).any(|_| {
                gone() || {
                    std::thread::sleep(Duration::from_millis(10));
                    false
                }
            });
            assert!(ended, "process {number} still runs");
        }
    }
}

#[test]
fn a_program_that_does_not_come_to_main_is_told() {
    let text = r"
#include <unistd.h>
__attribute__((constructor)) static void block(void) { for (;;) pause(); }
int main(void) { return 0; }";
    let directory = TempDir::new().expect("a directory");
    let mut check = check(&program(directory.path(), text), &[]);
    check.program.hang_time = Duration::from_millis(60);
    let problem = check.run().expect_err("it never begins");
    assert!(problem.to_string().contains("main"), "{problem}");
}

/// Two threads, and something that one of them does or the main thread at the end.
fn meeting(directory: &Path, globals: &str, in_thread: &str, at_end: &str) -> PathBuf {
    let text = format!(
        r#"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int first;
{globals}
static void *work(void *number) {{
    for (int i = 0; i < 3; i++) {{
        pthread_mutex_lock(&lock);
        if (!first) first = (int)(long)number;
        {in_thread}
        pthread_mutex_unlock(&lock);
    }}
    return 0;
}}
int main(void) {{
    pthread_t threads[2];
    if (chdir("{}")) exit(2);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    {at_end}
    return 0;
}}"#,
        directory.display()
    );
    program(directory, &text)
}

/// Explores with two workers, however small the search is.
fn check_by_two(program: &Path) -> Report {
    let mut check = check(program, &[]);
    (check.run.workers, check.run.slice) = (2, Duration::from_micros(1));
    check.run().expect("a verdict")
}

#[test]
fn executions_that_make_the_same_files_are_kept_apart() {
    // Whether the system lets Ordain give each worker a view of its own.
    let permitted = Command::new("unshare").args(["--mount", "--ipc", "true"]).status().is_ok_and(|s| s.success());
    let file = "if (open(\"only\", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) exit(1); unlink(\"only\");";
    let queue = "int q = msgget(0x6f7264, IPC_CREAT | IPC_EXCL | 0600); if (q < 0) exit(1); msgctl(q, IPC_RMID, 0);";
    // Some are made in some orders only.
    let rare = format!("if (first == 2) {{ {file} }}");
    let stays = "if (open(\"stays\", O_CREAT | O_RDWR, 0600) < 0) exit(1); if (unlink(\"stays\")) exit(1);";
    for at_end in [file, &rare, queue, stays] {
        let directory = TempDir::new().expect("a directory");
        let report = check_by_two(&meeting(directory.path(), "", "", at_end));
        assert_eq!(report.verdict, Verdict::Verified, "{at_end}: {:?}", report.notes);
        let alone = report.notes.iter().any(|note| note.text.starts_with("one worker explored"));
        assert_eq!(alone, !permitted, "{at_end}: {:?}", report.notes);
        assert_eq!(report.summary.executions, 20, "{at_end}: {:?}", report.notes);
        assert!(!directory.path().join("only").exists() && !directory.path().join("stays").exists());
    }
}

#[test]
fn executions_that_change_the_same_files_have_one_worker() {
    // What was there before is changed: its contents, its name, its rights.
    for change in [
        "int f = open(\"there\", O_RDWR); if (f < 0 || write(f, \"x\", 1) != 1) exit(1); close(f);",
        "if (rename(\"there\", \"here\") || rename(\"here\", \"there\")) exit(1);",
        "if (truncate(\"there\", 0)) exit(1);",
    ] {
        let directory = TempDir::new().expect("a directory");
        std::fs::write(directory.path().join("there"), "text").expect("a file");
        let report = check_by_two(&meeting(directory.path(), "", change, ""));
        assert!(report.findings.is_empty(), "{change}: {:?}", report.findings);
        let alone = report.notes.iter().any(|note| note.text.starts_with("one worker explored"));
        assert!(alone, "{change}: {:?}", report.notes);
        assert_eq!(report.verdict, Verdict::Verified, "{change}: {:?}", report.notes);
    }
}

#[test]
fn children_go_their_own_way_in_all_modes() {
    const FILES: [&str; 8] = [
        "child_cloexec_exec",
        "child_descriptor",
        "child_feeds_back",
        "command_outlives",
        "daemon_threads",
        "grandchild_pipe",
        "spawn_pipe",
        "spawn_while_reading",
    ];
    let is_one = |file: &str| FILES.iter().any(|name| file == format!("features/{name}.c"));
    let programs: Vec<_> = programs().into_iter().filter(|p| is_one(&p.file)).collect();
    assert_eq!(programs.len(), FILES.len());
    for program in programs {
        for mode in [None, Some(Mode::Fork), Some(Mode::Exec)] {
            let mut check = check_of(&program);
            check.program.mode = mode;
            let report = check.run().expect("a verdict");
            let texts: String = report.findings.iter().map(|f| format!("\n{f}")).collect();
            assert_eq!(
                report.verdict.name(),
                program.expect,
                "{} in {mode:?}: {:?}{texts}",
                program.file,
                report.notes
            );
        }
    }
}

#[test]
fn a_program_that_is_stopped_is_told() {
    let program = programs().into_iter().find(|p| p.file == "bugs/stopped_by_child.c").expect("the program");
    for mode in [None, Some(Mode::Fork), Some(Mode::Exec)] {
        let mut check = check_of(&program);
        check.program.mode = mode;
        check.program.hang_time = Duration::from_millis(200);
        let report = check.run().expect("a verdict");
        let finding = report.findings.first().expect("a finding");
        assert!(finding.to_string().contains("SIGSTOP"), "{finding}");
    }
}
