// Main destroys a condition variable that the worker still notifies.
// A misuse if the worker comes later.

#include <pthread.h>

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *work(void *arg) {
    (void)arg;
    pthread_cond_signal(&changed);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_cond_destroy(&changed);
    pthread_join(worker, NULL);
    return 0;
}
