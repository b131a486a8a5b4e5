// Clean-up functions that put cancellation off: meanwhile a thread that may be cancelled anywhere is not, in a call that is no such point.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready, begin;
static int done;

static void nothing(void *unused) { (void)unused; }

static void *work(void *unused) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push_defer_np(nothing, NULL);
    sem_post(&ready);
    sem_wait(&begin);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    pthread_cleanup_pop_restore_np(0);
    return unused;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(&ready);
    pthread_cancel(worker);
    sem_post(&begin);
    pthread_join(worker, NULL);
    assert(done);
    return 0;
}
