// The flag that ends the worker is atomic and set without the lock: set between the worker's look at it and its wait, the wake-up comes
// too early. Nothing that is visible orders the two, so only samples meet it.

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
    stop = 1;
    pthread_cond_broadcast(&wake);
    pthread_join(worker, NULL);
    return 0;
}
