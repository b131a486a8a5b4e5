// A handler uses what its thread takes away at its end.
// Crashes if the signal comes after that.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local int *volatile counter;
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
    ++*counter;
}

static void *run(void *unused) {
    (void)unused;
    int count = 0;
    counter = &count;
    block(SIG_UNBLOCK, SIGUSR1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    counter = NULL;
    return NULL;
}

int main(void) {
    pthread_t worker;
    handle(SIGUSR1, on_signal, SA_RESTART);
    block(SIG_BLOCK, SIGUSR1);
    pthread_create(&worker, NULL, run, NULL);
    pthread_kill(worker, SIGUSR1);
    pthread_join(worker, NULL);
    return 0;
}
