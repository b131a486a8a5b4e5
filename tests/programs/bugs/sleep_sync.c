// Main sleeps for as long as the worker is thought to need.
// The assertion fails if the sleep is over before the worker has locked.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int result;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    result = 42;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    usleep(50000);
    pthread_mutex_lock(&lock);
    assert(result == 42);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
