// A thread can be cancelled while it holds a mutex, and has no cleanup handler.
// Shows if main cancels it after it locked and before its second sem_wait, which is a cancellation point.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t start, resource;
static int uses;

static void *work(void *unused) {
    (void)unused;
    sem_wait(&start);
    pthread_mutex_lock(&lock);
    sem_wait(&resource);
    uses++;
    pthread_mutex_unlock(&lock);
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
