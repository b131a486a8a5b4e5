// Main looks whether there is an answer when its timed wait ends, and else waits for the worker's end.

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
    if (answer == 0) {
        pthread_mutex_unlock(&lock);
        pthread_join(worker, NULL);
        return answer != 42;
    }
    assert(answer == 42);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
