// A robust mutex that is not recoverable stays locked for ever when it is tried, as the C library has it.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m;

static void *dies(void *argument) {
    pthread_mutex_lock(&m);
    return argument;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attributes);
    pthread_t thread;
    pthread_create(&thread, 0, dies, 0);
    pthread_join(thread, 0);
    if (pthread_mutex_lock(&m) != EOWNERDEAD) abort();
    pthread_mutex_unlock(&m);
    if (pthread_mutex_lock(&m) != ENOTRECOVERABLE) abort();
    if (pthread_mutex_trylock(&m) != ENOTRECOVERABLE) abort();
    return 0;
}
