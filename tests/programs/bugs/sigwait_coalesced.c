// Two threads send a signal each and a third waits for two, but a pending signal is not counted.
// Deadlocks if both send before the first wait ends.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_t waiter;
static sigset_t set;

static void *await_two(void *unused) {
    (void)unused;
    int signal;
    sigwait(&set, &signal);
    sigwait(&set, &signal);
    return NULL;
}

static void *send(void *unused) {
    (void)unused;
    pthread_kill(waiter, SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&waiter, NULL, await_two, NULL);
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, send, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(waiter, NULL);
    return 0;
}
