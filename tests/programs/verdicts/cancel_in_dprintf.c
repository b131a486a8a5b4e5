// A worker prints by a function without a stream, which is a cancellation point because of what it calls, and would keep a lock.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *argument) {
    pthread_mutex_lock(&m);
    dprintf(2, "working\n");
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
