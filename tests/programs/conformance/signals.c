// Signals, and jumps out of their handlers.
//
// Not called: signalfd and timer_create are refused.
#define _GNU_SOURCE
#include "conformance.h"
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>

typedef void (*handler)(int);
int __sigaction(int, const struct sigaction *, struct sigaction *);
handler bsd_signal(int, handler);
handler sysv_signal(int, handler);
handler __sysv_signal(int, handler);
void _longjmp(struct __jmp_buf_tag *, int) __attribute__((noreturn));
void __longjmp_chk(struct __jmp_buf_tag *, int) __attribute__((noreturn));

static volatile int handled, value;
static void handle(int signal) { handled += signal; }
static void inform(int signal, siginfo_t *info, void *context) {
    handled += signal;
    value = info->si_value.sival_int;
}
static sigjmp_buf place;
static void leave(int signal) { siglongjmp(place, signal); }

static void dispositions(void) {
    struct sigaction action = {.sa_handler = handle}, old;
    sigaddset(&action.sa_mask, SIGUSR2);
    SHOW(sigaction(SIGUSR1, &action, NULL));
    SHOW(sigaction(SIGUSR1, NULL, &old));
    HOLDS(old.sa_handler == handle && sigismember(&old.sa_mask, SIGUSR2) == 1 && old.sa_flags == 0);
    SHOW(__sigaction(SIGUSR1, NULL, &old));
    SHOW(sigaction(SIGKILL, &action, NULL));
    SHOW(sigaction(0, &action, NULL));
    SHOW(sigaction(65, &action, NULL));
    SHOW(raise(SIGUSR1));
    line("%d", handled);
    HOLDS(signal(SIGUSR2, handle) == SIG_DFL);
    HOLDS(bsd_signal(SIGUSR2, handle) == handle);
    HOLDS(ssignal(SIGUSR2, handle) == handle);
    HOLDS(sysv_signal(SIGUSR2, SIG_IGN) == handle);
    HOLDS(__sysv_signal(SIGUSR2, handle) == SIG_IGN);
    HOLDS(signal(SIGKILL, handle) == SIG_ERR && errno == EINVAL);
    HOLDS(signal(100, handle) == SIG_ERR && errno == EINVAL);
    SHOW(gsignal(SIGUSR2));
    HOLDS(signal(SIGUSR2, handle) == SIG_DFL);
    SHOW(siginterrupt(SIGUSR2, 1));
    sigaction(SIGUSR2, NULL, &old);
    HOLDS(!(old.sa_flags & SA_RESTART));
    SHOW(siginterrupt(SIGUSR2, 0));
    sigaction(SIGUSR2, NULL, &old);
    HOLDS((old.sa_flags & SA_RESTART) != 0);
    SHOW(siginterrupt(100, 0));
    line("%d", handled);
}

static void masks(void) {
    sigset_t set, old, empty;
    sigemptyset(&empty);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    SHOW(sigprocmask(SIG_BLOCK, &set, &old));
    SHOW(sigismember(&old, SIGUSR1));
    SHOW(pthread_sigmask(SIG_BLOCK, NULL, &old));
    SHOW(sigismember(&old, SIGUSR1));
    SHOW(sigprocmask(77, &set, NULL));
    SHOW(pthread_sigmask(77, &set, NULL));
    int before = handled, taken;
    SHOW(raise(SIGUSR1));
    SHOW(handled - before);
    SHOW(sigpending(&old));
    SHOW(sigismember(&old, SIGUSR1));
    SHOW(sigwait(&set, &taken));
    line("%d", taken);
    siginfo_t info;
    SHOW(pthread_kill(pthread_self(), SIGUSR1));
    SHOW(sigwaitinfo(&set, &info));
    line("%d %d", info.si_signo, info.si_code);
    union sigval with = {.sival_int = 42};
    SHOW(sigqueue(getpid(), SIGUSR1, with));
    SHOW(sigtimedwait(&set, &info, &none));
    line("%d %d %d", info.si_signo, info.si_code, info.si_value.sival_int);
    SHOW(sigtimedwait(&set, &info, &none));
    SHOW(sigtimedwait(&set, &info, &too_long));
    SHOW(sigtimedwait(&set, &info, &negative));
    SHOW(pthread_sigqueue(pthread_self(), SIGUSR1, with));
    SHOW(sigtimedwait(&set, NULL, &none));
    SHOW(kill(getpid(), SIGUSR1));
    before = handled;
    SHOW(sigsuspend(&empty));
    SHOW(handled - before);
    SHOW(sigprocmask(SIG_UNBLOCK, &set, NULL));
    before = handled;
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(handled - before);
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 100));
    SHOW(pthread_kill(pthread_self(), 0));
    SHOW(pthread_kill(pthread_self(), 100));
    SHOW(raise(0));
    SHOW(raise(100));
    SHOW(tgkill(getpid(), gettid(), SIGUSR1));
    SHOW(tgkill(getpid(), gettid(), 100));
    SHOW(handled - before);
    struct sigaction action = {.sa_sigaction = inform, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    SHOW(sigqueue(getpid(), SIGUSR1, with));
    line("%d", value);
    signal(SIGWINCH, SIG_DFL);
    SHOW(raise(SIGWINCH));
    SHOW(killpg(getpgrp(), 0));
}

static void alarms(void) {
    struct itimerval timer = {{0, 0}, {100, 0}}, old;
    SHOW(alarm(0));
    SHOW(alarm(100));
    HOLDS(alarm(0) >= 99);
    SHOW(ualarm(0, 0));
    SHOW(setitimer(ITIMER_REAL, &timer, NULL));
    SHOW(getitimer(ITIMER_REAL, &old));
    HOLDS(old.it_value.tv_sec >= 99);
    timer.it_value.tv_sec = 0;
    SHOW(setitimer(ITIMER_REAL, &timer, &old));
    HOLDS(old.it_value.tv_sec >= 99);
    SHOW(getitimer(ITIMER_REAL, &old));
    line("%ld %ld", (long)old.it_value.tv_sec, (long)old.it_value.tv_usec);
    // A timer may ring at any moment: before a wait begins it must be blocked, or ring again.
    signal(SIGALRM, handle);
    sigset_t blocked, unblocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, &unblocked);
    int before = handled;
    timer.it_value.tv_usec = 1000;
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(sigsuspend(&unblocked));
    SHOW(handled - before);
    sigprocmask(SIG_SETMASK, &unblocked, NULL);
    before = handled;
    timer.it_interval.tv_usec = 1000;
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(pause());
    HOLDS(handled - before >= SIGALRM && (handled - before) % SIGALRM == 0);
    timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void stacks_and_jumps(void) {
    static char room[64 << 10];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room}, old;
    SHOW(sigaltstack(NULL, &old));
    line("%d", old.ss_flags);
    SHOW(sigaltstack(&stack, NULL));
    SHOW(sigaltstack(NULL, &old));
    HOLDS(old.ss_sp == room && old.ss_size == sizeof room);
    stack.ss_size = 16;
    SHOW(sigaltstack(&stack, NULL));
    stack.ss_flags = SS_DISABLE;
    SHOW(sigaltstack(&stack, NULL));
    signal(SIGUSR2, leave);
    int jumped = sigsetjmp(place, 1);
    if (!jumped) raise(SIGUSR2);
    line("%d", jumped);
    signal(SIGABRT, leave);
    jumped = sigsetjmp(place, 1);
    if (!jumped) abort();
    line("%d", jumped);
    static jmp_buf plain;
    static volatile int times;
    jumped = setjmp(plain);
    switch (times++) {
    case 0: longjmp(plain, 5);
    case 1: line("%d", jumped); _longjmp(plain, 0);
    case 2: line("%d", jumped); __longjmp_chk(plain, 7);
    default: line("%d", jumped);
    }
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    SHOW(sigismember(&now, SIGUSR2));
}

// Signals that are blocked outside of a call and not in it.
static void masks_of_calls(void) {
    sigset_t blocked, empty, old, pending;
    sigemptyset(&empty);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_SETMASK, &blocked, &old);
    signal(SIGUSR1, handle);
    int ends[2];
    SHOW(pipe(ends) == 0);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    fd_set readable;
    for (int full = 0; full < 2; full++) {
        for (int waits = 0; waits < 2; waits++) {
            const struct timespec *limit = waits ? NULL : &none;
            handled = 0;
            raise(SIGUSR1);
            SHOW(ppoll(&polled, 1, limit, &empty));
            line("handled %d", handled);
            raise(SIGUSR1);
            FD_ZERO(&readable);
            FD_SET(ends[0], &readable);
            SHOW(pselect(ends[0] + 1, &readable, NULL, NULL, limit, &empty));
            line("handled %d", handled);
            raise(SIGUSR1);
            SHOW(epoll_pwait(set, &event, 1, waits ? -1 : 0, &empty));
            line("handled %d", handled);
            sigpending(&pending);
            SHOW(sigismember(&pending, SIGUSR1));
            sigprocmask(SIG_SETMASK, &empty, NULL);
            line("handled %d", handled);
            sigprocmask(SIG_SETMASK, &blocked, NULL);
        }
        SHOW(write(ends[1], "x", 1));
    }
    close(set), close(ends[0]), close(ends[1]);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void *begins(void *unused) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int signal = 1; signal < 65; signal++) {
        if (sigismember(&mask, signal) == 1) line("blocked %d", signal);
    }
    return unused;
}

// Threads that begin with the mask of their attributes.
static void masks_of_threads(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t set;
    pthread_attr_init(&attributes);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGKILL);
    SHOW(pthread_attr_setsigmask_np(&attributes, &set));
    SHOW(pthread_create(&thread, &attributes, begins, NULL));
    SHOW(pthread_join(thread, NULL));
    SHOW(pthread_attr_setsigmask_np(&attributes, NULL));
    SHOW(pthread_create(&thread, &attributes, begins, NULL));
    SHOW(pthread_join(thread, NULL));
    sigfillset(&set);
    SHOW(pthread_attr_setsigmask_np(&attributes, &set));
    SHOW(pthread_create(&thread, &attributes, begins, NULL));
    SHOW(pthread_join(thread, NULL));
    pthread_attr_destroy(&attributes);
}

// What the C library does by system calls of its own.
static void old_functions(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    sigset_t mask;
    SHOW(sighold(SIGUSR1));
    SHOW(pthread_sigmask(SIG_BLOCK, NULL, &mask));
    SHOW(sigismember(&mask, SIGUSR1));
    HOLDS(sigset(SIGUSR1, SIG_IGN) == SIG_HOLD);
    SHOW(pthread_sigmask(SIG_BLOCK, NULL, &mask));
    SHOW(sigismember(&mask, SIGUSR1));
    HOLDS(sigset(SIGUSR1, SIG_DFL) == SIG_IGN);
    SHOW(sigignore(SIGUSR2));
    HOLDS(signal(SIGUSR2, SIG_DFL) == SIG_IGN);
    SHOW(sigrelse(SIGUSR2));
    SHOW(sighold(0));
    SHOW(sighold(65));
    HOLDS(sigset(SIGKILL, SIG_IGN) == SIG_ERR);
    SHOW(sigblock(sigmask(SIGUSR2)));
    SHOW(siggetmask());
    SHOW(sigsetmask(0));
    SHOW(siggetmask());
    struct sigaction action = {.sa_handler = SIG_DFL};
    SHOW(sigaction(32, &action, NULL));
    SHOW(sigaction(33, NULL, &action));
    HOLDS(signal(32, SIG_IGN) == SIG_ERR);
    SHOW(pthread_kill(pthread_self(), 32));
    SHOW(pthread_kill(pthread_self(), 65));
}

int main(int argc, char **argv) {
    old_functions();
    dispositions();
    masks();
    alarms();
    stacks_and_jumps();
    masks_of_calls();
    masks_of_threads();
    return finish(argc, argv);
}
