// A call that does not block a signal while it waits gives its answer and leaves the signal pending, or handles it and fails: never both.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
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
    return NULL;
}

static void *fill(void *unused) {
    (void)unused;
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
    pthread_t notifier, filler;
    pthread_create(&notifier, NULL, notify, NULL);
    pthread_create(&filler, NULL, fill, NULL);
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    int result = ppoll(&polled, 1, NULL, &old);
    if (result == 1) {
        assert(!handled);
    } else {
        assert(result == -1 && errno == EINTR && handled);
    }
    pthread_join(notifier, NULL);
    pthread_join(filler, NULL);
    sigset_t pending;
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1) == !handled);
    return 0;
}
