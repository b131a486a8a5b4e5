// Two threads wait for the start, and all are woken.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t started = PTHREAD_COND_INITIALIZER;
static int start;

static void *await_start(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (!start) {
        pthread_cond_wait(&started, &lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t runners[2];
    pthread_create(&runners[0], NULL, await_start, NULL);
    pthread_create(&runners[1], NULL, await_start, NULL);
    pthread_mutex_lock(&lock);
    start = 1;
    pthread_cond_broadcast(&started);
    pthread_mutex_unlock(&lock);
    pthread_join(runners[0], NULL);
    pthread_join(runners[1], NULL);
    return 0;
}
