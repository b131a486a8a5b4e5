// The note that the worker is joined is made in the critical section that looks for it.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t worker;
static int joined;

static void *work(void *unused) {
    (void)unused;
    return NULL;
}

static void join_worker(void) {
    pthread_mutex_lock(&lock);
    int mine = !joined;
    joined = 1;
    pthread_mutex_unlock(&lock);
    if (mine) {
        pthread_join(worker, NULL);
    }
}

static void *help(void *unused) {
    (void)unused;
    join_worker();
    return NULL;
}

int main(void) {
    pthread_t helper;
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&helper, NULL, help, NULL);
    join_worker();
    pthread_join(helper, NULL);
    return 0;
}
