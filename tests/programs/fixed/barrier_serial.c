// A second barrier keeps the reader back until the sum is there.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int parts[2], sum;

static void finish(void) {
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        pthread_mutex_lock(&lock);
        sum = parts[0] + parts[1];
        pthread_mutex_unlock(&lock);
    }
    pthread_barrier_wait(&barrier);
}

static void *work(void *unused) {
    (void)unused;
    parts[0] = 1;
    finish();
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&worker, NULL, work, NULL);
    parts[1] = 2;
    finish();
    pthread_mutex_lock(&lock);
    assert(sum == 3);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    pthread_barrier_destroy(&barrier);
    return 0;
}
