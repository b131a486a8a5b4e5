// READERS threads read under a read-write lock, WRITERS threads write under it, once each.
// Usage: rwlock [READERS] [WRITERS]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *read_value(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    int seen = value;
    pthread_rwlock_unlock(&lock);
    return seen < 0 ? &value : NULL;
}

static void *write_value(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&lock);
    value++;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv) {
    int readers = argc > 1 ? atoi(argv[1]) : 2;
    int writers = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t handles[readers + writers];
    for (int i = 0; i < readers; i++) {
        pthread_create(&handles[i], NULL, read_value, NULL);
    }
    for (int i = 0; i < writers; i++) {
        pthread_create(&handles[readers + i], NULL, write_value, NULL);
    }
    for (int i = 0; i < readers + writers; i++) {
        pthread_join(handles[i], NULL);
    }
    return value != writers;
}
