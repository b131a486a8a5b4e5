// Main joins the worker before it returns.

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
    pthread_join(worker, NULL);
    return 0;
}
