// Signals for a thread are taken before those for the process, whatever their numbers are.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t first;

static void on_signal(int number) {
    if (!first) first = number;
}

static void *notify(void *receiver) {
    kill(getpid(), SIGUSR1);
    pthread_kill(*(pthread_t *)receiver, SIGUSR2);
    return NULL;
}

int main(void) {
    sigset_t all, old;
    sigfillset(&all);
    struct sigaction action = {.sa_handler = on_signal, .sa_mask = all};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    pthread_t sender, self = pthread_self();
    pthread_create(&sender, NULL, notify, &self);
    pthread_join(sender, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    assert(first == SIGUSR2);
    return 0;
}
