// The worker is to end, and takes a semaphore that has a value: that is a cancellation point all the same.
// Fails if the worker is cancelled before it takes the semaphore.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t begin, tokens;

static void *work(void *arg) {
    (void)arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_wait(&begin);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sem_wait(&tokens);
    return NULL;
}

int main(void) {
    pthread_t worker;
    int left;
    sem_init(&begin, 0, 0);
    sem_init(&tokens, 0, 1);
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    sem_post(&begin);
    pthread_join(worker, NULL);
    sem_getvalue(&tokens, &left);
    assert(left == 0);
    return 0;
}
