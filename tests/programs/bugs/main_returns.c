// Main sleeps instead of joining the worker; what runs at exit finds the work unfinished.
// Exits with 5 if the sleep is over before the worker has finished.

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;

static void check(void) {
    pthread_mutex_lock(&lock);
    int ok = finished;
    pthread_mutex_unlock(&lock);
    if (!ok) {
        _exit(5);
    }
}

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    finished = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    atexit(check);
    pthread_create(&worker, NULL, work, NULL);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    return 0;
}
