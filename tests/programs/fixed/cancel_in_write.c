// A worker writes while it holds a lock, and has a handler that gives the lock back if it is cancelled.

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_back(void *arg) { pthread_mutex_unlock(arg); }

static void *work(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(give_back, &lock);
    (void)!write(*(int *)arg, "x", 1);
    pthread_cleanup_pop(1);
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
