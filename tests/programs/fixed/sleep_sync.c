// Main joins the worker.

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
    pthread_join(worker, NULL);
    assert(result == 42);
    return 0;
}
