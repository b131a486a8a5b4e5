// A worker prints while it holds a lock, and may be cancelled where what it prints is really written.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *argument) {
    pthread_mutex_lock(&m);
    fprintf(stderr, "working\n");
    pthread_mutex_unlock(&m);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    pthread_cancel(thread);
    pthread_join(thread, 0);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return 0;
}
