// A signal for the process that a waiting call puts off because it has an answer is for every thread again.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], failed;
static sigset_t old;

static void on_signal(int signal) {
    (void)signal;
    handled = handled + 1;
}

static void *await(void *unused) {
    (void)unused;
    struct pollfd polled = {.fd = ends[0], .events = POLLIN};
    int result = ppoll(&polled, 1, NULL, &old);
    if (result != 1) {
        assert(result == -1 && errno == EINTR);
        pthread_mutex_lock(&lock);
        failed++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    assert(pipe(ends) == 0);
    sigset_t blocked, pending;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t first, second;
    pthread_create(&first, NULL, await, NULL);
    pthread_create(&second, NULL, await, NULL);
    kill(getpid(), SIGUSR1);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    sigpending(&pending);
    assert(handled == failed);
    assert(handled + sigismember(&pending, SIGUSR1) == 1);
    return 0;
}
