// A reader that does not find the value releases the read lock before it takes the write lock.

#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cache;

static void *look_up(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    int found = cache;
    pthread_rwlock_unlock(&lock);
    if (!found) {
        pthread_rwlock_wrlock(&lock);
        cache = 42;
        pthread_rwlock_unlock(&lock);
    }
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
