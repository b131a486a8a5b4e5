// A thread ends the program with an error if it finds nothing to do.
// Exits with 6 if the worker looks before main has put a job.

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs;

static void *work(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int found = jobs;
    pthread_mutex_unlock(&lock);
    if (found == 0) {
        exit(6);
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
