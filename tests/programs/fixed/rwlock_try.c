// A reader that cannot take the read lock at once waits for it.

#include <pthread.h>
#include <stddef.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value = 1;
static int missing;

static void *look_up(void *unused) {
    (void)unused;
    if (pthread_rwlock_tryrdlock(&lock) != 0) {
        pthread_rwlock_rdlock(&lock);
    }
    missing = value == 0;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *update(void *unused) {
    (void)unused;
    pthread_rwlock_wrlock(&lock);
    value = 2;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    pthread_create(&reader, NULL, look_up, NULL);
    pthread_create(&writer, NULL, update, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    return missing ? 4 : 0;
}
