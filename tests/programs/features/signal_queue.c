// Real-time signals are queued with their values, in order, the lowest first; others are not. What comes with a signal is told.

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char log_of[8];
static int logged;

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    log_of[logged++] = (char)('0' + signal - SIGRTMIN);
}

static void *send(void *main_thread) {
    pthread_t *to = main_thread;
    assert(pthread_sigqueue(*to, SIGRTMIN + 2, (union sigval){.sival_int = 7}) == 0);
    assert(pthread_kill(*to, SIGUSR1) == 0);
    assert(pthread_kill(*to, SIGUSR1) == 0);
    return NULL;
}

int main(void) {
    sigset_t set, pending;
    siginfo_t info;
    pthread_t self = pthread_self(), sender;
    sigemptyset(&set);
    for (int i = 0; i < 3; ++i) {
        sigaddset(&set, SIGRTMIN + i);
    }
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 1});
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 2});
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 3});
    for (int i = 0; i < 3; ++i) {
        static const int values[] = {2, 1, 3};
        assert(sigwaitinfo(&set, &info) == SIGRTMIN + (i > 0) && info.si_value.sival_int == values[i]);
        assert(info.si_code == SI_QUEUE && info.si_pid == getpid());
    }
    pthread_create(&sender, NULL, send, &self);
    pthread_join(sender, NULL);
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGRTMIN + 2));
    assert(sigwaitinfo(&set, &info) == SIGUSR1 && info.si_code == SI_USER);
    struct timespec none = {0};
    assert(sigtimedwait(&set, &info, &none) == SIGRTMIN + 2 && info.si_value.sival_int == 7);
    assert(sigtimedwait(&set, &info, &none) == -1 && errno == EAGAIN);
    // The last one that is taken is handled first.
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 3; ++i) {
        sigaction(SIGRTMIN + i, &action, NULL);
        raise(SIGRTMIN + i);
    }
    raise(SIGRTMIN);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    assert(strcmp(log_of, "2100") == 0);
    return 0;
}
