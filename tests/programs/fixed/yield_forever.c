// The server answers a cancelled request too, and the client waits on a condition variable.

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int answered, cancelled;

static void *serve(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    answered = cancelled ? -1 : 1;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *cancel(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    cancelled = 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t server, canceller;
    pthread_create(&server, NULL, serve, NULL);
    pthread_create(&canceller, NULL, cancel, NULL);
    pthread_mutex_lock(&lock);
    while (answered == 0) {
        pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(server, NULL);
    pthread_join(canceller, NULL);
    return 0;
}
