// Main destroys a barrier instead of coming to it, if the worker is not needed.
// Deadlocks if the worker waits there by then, and is a misuse if it comes later.

#include <pthread.h>

static pthread_barrier_t barrier;

static void *work(void *arg) {
    (void)arg;
    pthread_barrier_wait(&barrier);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&worker, NULL, work, NULL);
    pthread_detach(worker);
    pthread_barrier_destroy(&barrier);
    return 0;
}
