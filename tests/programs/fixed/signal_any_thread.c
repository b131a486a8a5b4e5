// A handler that is meant for main.
// The others block the signal.

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_t first;
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
    if (!pthread_equal(pthread_self(), first)) {
        abort();
    }
}

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *notify(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

int main(void) {
    pthread_t worker, notifier;
    first = pthread_self();
    handle(SIGUSR1, on_signal, SA_RESTART);
    block(SIG_BLOCK, SIGUSR1);
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&notifier, NULL, notify, NULL);
    block(SIG_UNBLOCK, SIGUSR1);
    pthread_join(worker, NULL);
    pthread_join(notifier, NULL);
    return 0;
}
