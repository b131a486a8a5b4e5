// Main takes the end of a timed wait for the answer.
// The assertion fails if the wait expires before the worker has answered.

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int answer;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    answer = 42;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 2;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    if (answer == 0) {
        pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &deadline);
    }
    assert(answer == 42);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
