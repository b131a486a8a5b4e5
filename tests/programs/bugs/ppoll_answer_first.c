// A thread takes the data that comes after a signal as a sign that the signal was handled, but it stays blocked if there is an answer.
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static pthread_t waiter;
static int ends[2];

static void on_signal(int signal) {
    (void)signal;
    handled = 1;
}

static void *notify(void *unused) {
    (void)unused;
    pthread_kill(waiter, SIGUSR1);
    assert(write(ends[1], "x", 1) == 1);
    return NULL;
}

int main(void) {
    assert(pipe(ends) == 0);
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    waiter = pthread_self();
    pthread_t notifier;
    pthread_create(&notifier, NULL, notify, NULL);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    while (ppoll(&polled, 1, NULL, &old) != 1) {
    }
    assert(handled);
    pthread_join(notifier, NULL);
    return 0;
}
