// A worker writes while it holds a lock, and writing is a cancellation point although it never waits here.
// If the worker is cancelled there, nobody gives the lock back, and main may wait for it for ever.

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    (void)!write(*(int *)arg, "x", 1);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    int file = open("/dev/null", O_WRONLY);
    pthread_create(&worker, NULL, work, &file);
    pthread_cancel(worker);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    return 0;
}
