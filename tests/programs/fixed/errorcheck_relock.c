// The helper is told that its caller holds the mutex.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int lines;

static void acquire(void) {
    int error = pthread_mutex_lock(&lock);
    assert(error == 0);
}

static void *write_line(void *unused) {
    (void)unused;
    acquire();
    lines++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

// The caller holds the lock.
static void flush(void) {
    lines = 0;
}

static void *flush_if_full(void *unused) {
    (void)unused;
    acquire();
    if (lines == 2) {
        flush();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t logger, writers[2];
    pthread_mutexattr_t checking;
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &checking);
    pthread_mutexattr_destroy(&checking);
    pthread_create(&logger, NULL, flush_if_full, NULL);
    pthread_create(&writers[0], NULL, write_line, NULL);
    pthread_create(&writers[1], NULL, write_line, NULL);
    pthread_join(logger, NULL);
    pthread_join(writers[0], NULL);
    pthread_join(writers[1], NULL);
    return 0;
}
