// A recursive mutex is unlocked as often as it was locked, on every path.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int stop, steps;

static int stopped(void) {
    pthread_mutex_lock(&lock);
    int result = stop;
    pthread_mutex_unlock(&lock);
    return result;
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (!stopped()) {
        steps++;
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *ask_to_stop(void *unused) {
    (void)unused;
    // It does not wait for the worker: the lock that the worker forgets must not hide behind a deadlock.
    if (pthread_mutex_trylock(&lock) == 0) {
        stop = 1;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t worker, stopper;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&stopper, NULL, ask_to_stop, NULL);
    pthread_join(worker, NULL);
    pthread_join(stopper, NULL);
    return 0;
}
