// Only main shall take the signal, by sigwait.
// The thread begins with main's mask.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void block(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    pthread_sigmask(how, &set, NULL);
}

static void on_signal(int signal) {
    (void)signal;
    assert(!"handled");
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t worker;
    handle(SIGUSR1, on_signal, SA_RESTART);
    block(SIG_BLOCK, SIGUSR1);
    pthread_create(&worker, NULL, work, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(worker, NULL);
    sigset_t set;
    int signal = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    return 0;
}
