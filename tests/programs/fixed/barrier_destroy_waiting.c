// Main comes to the barrier and destroys it then, while the worker may not have left yet: that is allowed.

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
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
    return 0;
}
