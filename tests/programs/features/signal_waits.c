// Handlers run in threads that wait for locks, barriers, conditions and threads, and the waits go on.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, waiting;
static _Thread_local volatile sig_atomic_t handled;

static void on_signal(int signal) {
    (void)signal;
    handled = handled + 1;
}

static void *await(void *unused) {
    (void)unused;
    assert(pthread_mutex_lock(&lock) == 0);
    waiting = 1;
    while (!ready) {
        assert(pthread_cond_wait(&changed, &lock) == 0);
    }
    pthread_mutex_unlock(&lock);
    return (void *)(size_t)handled;
}

static void *join(void *thread) {
    void *result;
    assert(pthread_join(*(pthread_t *)thread, &result) == 0);
    assert((size_t)result <= 1);
    return NULL;
}

int main(void) {
    pthread_t waiter, joiner;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&waiter, NULL, await, NULL);
    pthread_create(&joiner, NULL, join, &waiter);
    pthread_kill(waiter, SIGUSR1);
    pthread_kill(joiner, SIGUSR1);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(joiner, NULL);
    return 0;
}
