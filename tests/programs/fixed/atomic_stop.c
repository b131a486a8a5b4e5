// The flag that ends the worker is set under the lock under which the worker looks at it.

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static sem_t started;
static atomic_int stop;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    while (!stop)
        pthread_cond_wait(&wake, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t worker;
    sem_init(&started, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_post(&started);
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    pthread_cond_broadcast(&wake);
    pthread_join(worker, NULL);
    return 0;
}
