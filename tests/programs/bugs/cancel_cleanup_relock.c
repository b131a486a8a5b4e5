// A cleanup handler locks the mutex, but a cancelled pthread_cond_wait has already taken it back.
// Deadlocks with itself if the thread waits when main cancels it.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stop, waiting;

static void leave(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    waiting--;
    pthread_mutex_unlock(&lock);
}

static void *await_stop(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cleanup_push(leave, NULL);
    while (!stop) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_create(&worker, NULL, await_stop, NULL);
    pthread_mutex_lock(&lock);
    stop = 1;
    pthread_mutex_unlock(&lock);
    // Wakes the worker if it waits already.
    pthread_cancel(worker);
    pthread_join(worker, NULL);
    return waiting;
}
