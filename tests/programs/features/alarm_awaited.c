// An alarm that all threads block ends nothing, though there is no handler: a thread waits for it. Nor is one lost that is set before
// it is blocked, or before there is a handler.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void *nothing(void *argument) { return argument; }

static volatile sig_atomic_t rung;
static void on_alarm(int signal) { rung = signal; }

int main(void) {
    sigset_t set, before;
    int taken;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    pthread_t thread;
    pthread_create(&thread, NULL, nothing, NULL);
    alarm(1);
    assert(sigwait(&set, &taken) == 0 && taken == SIGALRM);
    pthread_join(thread, NULL);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert(alarm(1) == 0);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert(sigwait(&set, &taken) == 0 && taken == SIGALRM);
    assert(alarm(1) == 0);
    signal(SIGALRM, on_alarm);
    while (!rung) sigsuspend(&before);
    return 0;
}
