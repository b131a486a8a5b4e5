// A thread polls for an answer under a lock and yields in between, but nobody answers a request that was cancelled.
// Polls forever if the server sees the cancellation first.

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int answered, cancelled;

static void *serve(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (!cancelled) {
        answered = 1;
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *cancel(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    cancelled = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static int answer(void) {
    pthread_mutex_lock(&lock);
    int result = answered;
    pthread_mutex_unlock(&lock);
    return result;
}

int main(void) {
    pthread_t server, canceller;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&canceller, NULL, cancel, NULL);
    while (answer() == 0) {
        sched_yield();
    }
    pthread_join(server, NULL);
    pthread_join(canceller, NULL);
    return 0;
}
