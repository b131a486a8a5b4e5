// A thread that inherits a robust mutex from a dead owner unlocks it without making it consistent.
// Exits with 1 if `careless` locks after `mortal` has ended: nobody can lock the mutex any more.

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock;
static int value;

static void *careless(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *mortal(void *unused) {
    (void)unused;
    int error = pthread_mutex_lock(&lock);
    value++;
    // Ends without unlocking: what robust mutexes are for.
    return error == 0 ? NULL : &value;
}

int main(void) {
    pthread_t a, b;
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &robust);
    pthread_mutexattr_destroy(&robust);
    pthread_create(&a, NULL, careless, NULL);
    pthread_create(&b, NULL, mortal, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int error = pthread_mutex_lock(&lock);
    if (error == EOWNERDEAD) {
        pthread_mutex_consistent(&lock);
    } else if (error != 0) {
        return 1;
    }
    pthread_mutex_unlock(&lock);
    return 0;
}
