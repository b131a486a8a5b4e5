// A handler must not run while its thread is about to lock.
// Fails if the signal comes while the thread waits for the mutex.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local volatile sig_atomic_t busy;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
    assert(!busy);
}

static void *run(void *unused) {
    (void)unused;
    busy = 1;
    pthread_mutex_lock(&lock);
    busy = 0;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    handle(SIGUSR1, on_signal, SA_RESTART);
    pthread_mutex_lock(&lock);
    pthread_create(&worker, NULL, run, NULL);
    pthread_kill(worker, SIGUSR1);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
