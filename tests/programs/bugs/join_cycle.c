// Main joins `outer`, `outer` joins `inner`, and `inner` joins main to outlive it.
// Deadlocks if `inner` looks before main has said that it need not wait.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t main_thread;
static int go_ahead, waited;

static void *inner(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int wait = !go_ahead;
    pthread_mutex_unlock(&lock);
    if (wait) {
        pthread_join(main_thread, NULL);
        waited = 1;
    }
    return NULL;
}

static void *outer(void *arg) {
    pthread_t *thread = arg;
    pthread_join(*thread, NULL);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    main_thread = pthread_self();
    pthread_create(&a, NULL, inner, NULL);
    pthread_create(&b, NULL, outer, &a);
    pthread_mutex_lock(&lock);
    go_ahead = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(b, NULL);
    return 0;
}
