// A reader that does not find the value takes the write lock while it holds the read lock.
// Deadlocks with itself if it reads before main has filled the cache.

#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cache;

static void *look_up(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    int found = cache;
    if (!found) {
        pthread_rwlock_wrlock(&lock);
        cache = 42;
        pthread_rwlock_unlock(&lock);
    }
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t reader;
    pthread_create(&reader, NULL, look_up, NULL);
    pthread_rwlock_wrlock(&lock);
    cache = 42;
    pthread_rwlock_unlock(&lock);
    pthread_join(reader, NULL);
    return cache != 42;
}
