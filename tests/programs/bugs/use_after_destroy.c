// Main destroys the mutex when the result is there, but the worker still counts it afterwards.
// Shows if main destroys the mutex before the worker has counted.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int result, results;

static void *work(void *unused) {
    (void)unused;
    result = 42;
    sem_post(&done);
    pthread_mutex_lock(&lock);
    results++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    sem_init(&done, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(&done);
    pthread_mutex_destroy(&lock);
    pthread_join(worker, NULL);
    sem_destroy(&done);
    return result != 42;
}
