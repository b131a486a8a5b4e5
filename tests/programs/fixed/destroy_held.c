// The worker says "done" after its last use of the mutex.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int result;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    result = 42;
    pthread_mutex_unlock(&lock);
    sem_post(&done);
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
