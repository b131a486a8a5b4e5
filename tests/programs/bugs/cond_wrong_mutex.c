// The flag is set under another mutex than the one it is waited for with.
// Deadlocks if it is set and signalled after the waiter looked and before it waits.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t reader_lock = PTHREAD_MUTEX_INITIALIZER, writer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *await(void *unused) {
    (void)unused;
    pthread_mutex_lock(&reader_lock);
    while (!ready) {
        pthread_cond_wait(&changed, &reader_lock);
    }
    pthread_mutex_unlock(&reader_lock);
    return NULL;
}

static void *set(void *unused) {
    (void)unused;
    pthread_mutex_lock(&writer_lock);
    ready = 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&writer_lock);
    return NULL;
}

int main(void) {
    pthread_t waiter, setter;
    pthread_create(&waiter, NULL, await, NULL);
    pthread_create(&setter, NULL, set, NULL);
    pthread_join(waiter, NULL);
    pthread_join(setter, NULL);
    return 0;
}
