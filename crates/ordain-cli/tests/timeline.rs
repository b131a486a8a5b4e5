//! Timelines and names of findings in real programs: what a reader has to see to understand the bug.
#![cfg(target_os = "linux")]

mod common;

use common::{compile, directory, ordain, people, write};
use std::path::Path;

/// What `ordain check` tells of a program that has a finding.
fn finding(directory: &Path, name: &str, source: &str, flags: &[&str]) -> String {
    let source = write(directory, name, source);
    compile(directory, &source, "program", &[&["-O0"], flags].concat());
    people(ordain(directory).args(["check", "--", "./program"]), 1)
}

/// The rows of the timeline: who did what, without places; gaps as `...`.
fn rows(text: &str) -> Vec<String> {
    let timeline = text.lines().skip_while(|line| !line.starts_with("how it happens")).skip(2);
    let rows = timeline.take_while(|line| !line.starts_with("   x") && !line.is_empty());
    rows.map(|line| line.split_whitespace().skip_while(|word| word.starts_with('>')).collect::<Vec<_>>().join(" "))
        .collect()
}

/// Two jobs check, then act, each under the lock; main sees the result after both.
const ASYNC: &str = r#"
#include <cassert>
#include <future>
#include <mutex>

struct Account {
    std::mutex m;
    int balance = 100;
};

static void withdraw(Account &account) {
    account.m.lock();
    bool enough = account.balance >= 80;
    account.m.unlock();
    if (enough) {
        account.m.lock();
        account.balance -= 80;
        account.m.unlock();
    }
}

int main() {
    Account account;
    auto one = std::async(std::launch::async, [&] { withdraw(account); });
    auto two = std::async(std::launch::async, [&] { withdraw(account); });
    one.get();
    two.get();
    assert(account.balance >= 0);
    return 0;
}
"#;

#[test]
fn a_check_then_act_that_main_only_sees_the_result_of_is_shown() {
    let directory = directory();
    let text = finding(directory.path(), "async.cpp", ASYNC, &["-std=c++17", "-lstdc++"]);
    let rows = rows(&text);
    let of = |what: &str| rows.iter().filter(|row| row.contains(what)).count();
    assert!(
        text.lines().any(|line| line.contains("main") && line.contains("main.1") && line.contains("main.2")),
        "{text}"
    );
    assert_eq!((of(" lock account.m"), of(" unlock account.m")), (4, 4), "{text}");
    assert_eq!(of("join main"), 2, "{text}");
}

/// A server whose thread waits on a socket that nobody connects to.
const SOCKET: &str = r#"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
static int lfd;
static struct { int served; pthread_rwlock_t lock; } pool = { 0, PTHREAD_RWLOCK_INITIALIZER };
static void *serve(void *unused) {
    int con = accept(lfd, 0, 0);
    pthread_rwlock_wrlock(&pool.lock);
    pool.served += con > 0;
    pthread_rwlock_unlock(&pool.lock);
    return unused;
}
int main(void) {
    lfd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (bind(lfd, (void *)&address, sizeof address) || listen(lfd, 4)) return 1;
    pthread_t thread;
    pthread_create(&thread, 0, serve, 0);
    pthread_rwlock_rdlock(&pool.lock);
    int served = pool.served;
    pthread_rwlock_unlock(&pool.lock);
    if (served) return 1;
    pthread_join(thread, 0);
    return 0;
}
"#;

#[test]
fn descriptors_and_members_are_called_as_in_the_source() {
    let directory = directory();
    let text = finding(directory.path(), "socket.c", SOCKET, &[]);
    assert!(text.starts_with("ordain found: deadlock\n"), "{text}");
    assert!(text.contains("accept(lfd)") && text.contains("descriptor lfd"), "{text}");
    assert!(text.contains("read-lock pool.lock"), "{text}");
    assert!(!text.contains("static/") && !text.contains("/descriptor#"), "{text}");
}

/// Three threads wait in turn; one notification is too few.
const WAITERS: &str = r#"
#include <pthread.h>
struct queue_of_things_to_do { pthread_mutex_t lock; pthread_cond_t is_not_empty_any_more; int count; };
static struct queue_of_things_to_do things = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 };
static void *take(void *unused) {
    pthread_mutex_lock(&things.lock);
    while (things.count == 0) pthread_cond_wait(&things.is_not_empty_any_more, &things.lock);
    pthread_mutex_unlock(&things.lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, take, 0);
    pthread_mutex_lock(&things.lock);
    things.count = 2;
    pthread_cond_signal(&things.is_not_empty_any_more);
    pthread_mutex_unlock(&things.lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn who_is_woken_is_told_and_never_cut() {
    let directory = directory();
    let text = finding(directory.path(), "waiters.c", WAITERS, &[]);
    assert!(text.starts_with("ordain found: deadlock\n"), "{text}");
    assert!(text.contains("notify-one things.is_not_empty_any_more -> woke main."), "{text}");
    assert!(!text.contains('\u{2026}'), "nothing is cut without a terminal: {text}");
    // In a window as well the outcome is whole; the operation and the source give way.
    let mut narrow = ordain(directory.path());
    let text = people(narrow.args(["check", "--", "./program"]).env("COLUMNS", "80"), 1);
    let notified = text.lines().find(|line| line.contains(" -> woke main.")).expect("a notification");
    assert!(notified.chars().count() <= 80, "{text}");
    assert!(notified.contains('\u{2026}'), "{text}");
}
