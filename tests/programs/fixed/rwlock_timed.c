// The lock is released only if pthread_rwlock_timedwrlock took it.

#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value, copy;

static void *read_value(void *unused) {
    (void)unused;
    pthread_rwlock_rdlock(&lock);
    copy = value;
    pthread_rwlock_unlock(&lock);
    return NULL;
}

static void *write_value(void *unused) {
    (void)unused;
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 2;
    if (pthread_rwlock_timedwrlock(&lock, &deadline) == 0) {
        value = 1;
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t reader, writer;
    pthread_create(&reader, NULL, read_value, NULL);
    pthread_create(&writer, NULL, write_value, NULL);
    pthread_join(reader, NULL);
    pthread_join(writer, NULL);
    return 0;
}
