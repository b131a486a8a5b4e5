// Main exits with an error if the worker is not ready in time, although nothing is wrong with the worker.
// Exits with 3 if the wait expires before the worker has signalled.

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    struct timespec deadline;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 2;
    pthread_mutex_lock(&lock);
    while (!ready && error != ETIMEDOUT) {
        error = pthread_cond_timedwait(&changed, &lock, &deadline);
    }
    int status = ready ? 0 : 3;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return status;
}
