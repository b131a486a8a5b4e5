// The destructor of thread-specific data takes a mutex, and main holds that mutex while it joins the thread.
// Deadlocks if main takes the mutex after the worker's last post and before its destructor.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_key_t key;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static int live = 1;

static void release(void *data) {
    (void)data;
    pthread_mutex_lock(&lock);
    live--;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    (void)unused;
    pthread_setspecific(key, &live);
    sem_post(&done);
    return NULL;
}

int main(void) {
    pthread_t worker;
    pthread_key_create(&key, release);
    sem_init(&done, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(&done);
    pthread_mutex_lock(&lock);
    pthread_join(worker, NULL);
    int left = live;
    pthread_mutex_unlock(&lock);
    pthread_key_delete(key);
    sem_destroy(&done);
    return left;
}
