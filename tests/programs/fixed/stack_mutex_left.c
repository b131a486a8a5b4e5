// A function gives a mutex to a thread that outlives the function, as the mutex does.

#include <pthread.h>

static void *work(void *arg) {
    pthread_mutex_lock(arg);
    pthread_mutex_unlock(arg);
    return NULL;
}

static pthread_t __attribute__((noinline)) start(void) {
    char room[4096];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t worker;
    room[0] = 0;
    pthread_create(&worker, NULL, work, &lock);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return room[0] ? 0 : worker;
}

int main(void) {
    pthread_join(start(), NULL);
    return 0;
}
