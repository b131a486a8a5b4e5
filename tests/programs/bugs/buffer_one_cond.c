// A buffer of one slot has one condition variable for both sides and wakes one waiter.
// Deadlocks if both consumers wait, the producer waits too, and the signal of a consumer wakes the other consumer.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int full;

static void put(void) {
    pthread_mutex_lock(&lock);
    while (full) {
        pthread_cond_wait(&changed, &lock);
    }
    full = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static void *get(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!full) {
        pthread_cond_wait(&changed, &lock);
    }
    full = 0;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t consumers[2];
    pthread_create(&consumers[0], NULL, get, NULL);
    pthread_create(&consumers[1], NULL, get, NULL);
    put();
    put();
    pthread_join(consumers[0], NULL);
    pthread_join(consumers[1], NULL);
    return 0;
}
