// A cleanup handler unlocks the mutex if the thread is cancelled.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t start, resource;
static int uses;

static void unlock(void *mutex) {
    pthread_mutex_unlock(mutex);
}

static void *work(void *unused) {
    (void)unused;
    sem_wait(&start);
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    sem_wait(&resource);
    uses++;
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void) {
    pthread_t worker;
    sem_init(&start, 0, 0);
    sem_init(&resource, 0, 1);
    pthread_create(&worker, NULL, work, NULL);
    sem_post(&start);
    pthread_cancel(worker);
    pthread_join(worker, NULL);
    sem_destroy(&start);
    sem_destroy(&resource);
    return 0;
}
