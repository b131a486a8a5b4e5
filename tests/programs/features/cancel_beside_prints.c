// Threads print: one that nobody cancels, one that is no longer heeding it, and one that cleans up after it was cancelled.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void unlock(void *lock) {
    fprintf(stderr, "cleans up\n");
    pthread_mutex_unlock(lock);
}

static void *worker(void *argument) {
    int old;
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, &m);
    pthread_testcancel();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    fprintf(stderr, "works\n");
    pthread_cleanup_pop(1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, worker, 0);
    fprintf(stderr, "cancels\n");
    pthread_cancel(thread);
    pthread_join(thread, 0);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    printf("done\n");
    return 0;
}
