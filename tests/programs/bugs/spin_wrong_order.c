// Two threads spin for each other: each sets its flag only when the other has set its own.

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int first, second;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seen;

static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    int go_first = !seen;
    pthread_mutex_unlock(&lock);
    if (go_first) atomic_store(&second, 1);
    while (!atomic_load(&first)) { }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    seen = 1;
    pthread_mutex_unlock(&lock);
    while (!atomic_load(&second)) { }
    atomic_store(&first, 1);
    pthread_join(thread, NULL);
    return 0;
}
