// A signal that only sigsuspend does not block is handled once by it: its handler returns to the mask outside.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t handled;
static pthread_t receiver;

static void on_signal(int number) {
    (void)number;
    handled++;
}

static void *notify(void *unused) {
    (void)unused;
    pthread_kill(receiver, SIGUSR1);
    pthread_kill(receiver, SIGUSR1);
    return NULL;
}

int main(void) {
    sigset_t one, old;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    signal(SIGUSR1, on_signal);
    pthread_sigmask(SIG_BLOCK, &one, &old);
    receiver = pthread_self();
    pthread_t sender;
    pthread_create(&sender, NULL, notify, NULL);
    sigsuspend(&old);
    assert(handled == 1);
    pthread_join(sender, NULL);
    assert(handled == 1);
    return 0;
}
