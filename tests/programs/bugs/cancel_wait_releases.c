// A worker that is to end waits on a condition variable: it gives the mutex back before it ends, so main gets in between.
// Fails if main takes the mutex before the cleanup handler has run.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t begin;
static int busy;

static void leave(void *arg) {
    (void)arg;
    busy = 0;
    pthread_mutex_unlock(&lock);
}

static void *work(void *arg) {
    (void)arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sem_wait(&begin);
    pthread_mutex_lock(&lock);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    busy = 1;
    pthread_cleanup_push(leave, NULL);
    for (;;) pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void) {
    pthread_t worker;
    sem_init(&begin, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    sem_post(&begin);
    pthread_mutex_lock(&lock);
    assert(!busy);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
