// The third thread waits for one signal, looks how much there is to do, and waits only for what is missing.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_t waiter;
static sigset_t set;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int events;

static int enough(void) {
    pthread_mutex_lock(&lock);
    int result = events == 2;
    pthread_mutex_unlock(&lock);
    return result;
}

static void *await_two(void *unused) {
    (void)unused;
    int signal;
    while (!enough()) {
        sigwait(&set, &signal);
    }
    return NULL;
}

static void *send(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    events++;
    pthread_mutex_unlock(&lock);
    pthread_kill(waiter, SIGUSR1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&waiter, NULL, await_two, NULL);
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, send, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(waiter, NULL);
    return 0;
}
