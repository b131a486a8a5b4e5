// The result of sem_timedwait is ignored: main takes the end of the wait for the answer.
// The assertion fails if the wait expires before the worker has posted.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <time.h>

static sem_t done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int answer;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    answer = 42;
    pthread_mutex_unlock(&lock);
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct timespec deadline;
    sem_init(&done, 0, 0);
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 2;
    pthread_create(&worker, NULL, work, NULL);
    sem_timedwait(&done, &deadline);
    pthread_mutex_lock(&lock);
    assert(answer == 42);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    sem_destroy(&done);
    return 0;
}
