// Main destroys a condition variable when the worker has ended.

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
    pthread_join(worker, NULL);
    pthread_cond_destroy(&changed);
    return 0;
}
