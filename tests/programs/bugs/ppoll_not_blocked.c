// A thread waits for a signal with ppoll that it does not block before, so that it may be handled just before the wait begins.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t handled;
static pthread_t waiter;

static void on_signal(int signal) {
    (void)signal;
    handled = 1;
}

static void *notify(void *unused) {
    (void)unused;
    pthread_kill(waiter, SIGUSR1);
    return NULL;
}

int main(void) {
    sigset_t old;
    sigemptyset(&old);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    waiter = pthread_self();
    pthread_t notifier;
    pthread_create(&notifier, NULL, notify, NULL);
    while (!handled) {
        ppoll(NULL, 0, NULL, &old);
    }
    pthread_join(notifier, NULL);
    return 0;
}
