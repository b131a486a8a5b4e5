// Main looks whether a signal is pending.
// It looks when the other thread has ended.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void block(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(how, &set, NULL);
}

static void *notify(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

int main(void) {
    pthread_t notifier;
    sigset_t pending;
    block(SIG_BLOCK, SIGUSR1);
    pthread_create(&notifier, NULL, notify, NULL);
    pthread_join(notifier, NULL);
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1));
    return 0;
}
