// A buffer of one slot has a condition variable for each side.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int full;

static void put(void) {
    pthread_mutex_lock(&lock);
    while (full) {
        pthread_cond_wait(&emptied, &lock);
    }
    full = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

static void *get(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!full) {
        pthread_cond_wait(&filled, &lock);
    }
    full = 0;
    pthread_cond_signal(&emptied);
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
