// Main spins on a flag that the worker does not set if the job was withdrawn.
// Spins forever, without any call, if the withdrawal comes before the worker looks.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int withdrawn;
static volatile int done;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (!withdrawn) {
        done = 1;
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *withdraw(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    withdrawn = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker, other;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&other, NULL, withdraw, NULL);
    pthread_join(worker, NULL);
    pthread_join(other, NULL);
    while (!done) {
    }
    return 0;
}
