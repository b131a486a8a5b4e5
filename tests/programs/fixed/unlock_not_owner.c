// A thread that cannot take the mutex leaves it alone.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jobs;

static void *worker(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    jobs++;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *impatient(void *unused) {
    (void)unused;
    if (pthread_mutex_trylock(&lock) == 0) {
        jobs++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, worker, NULL);
    pthread_create(&b, NULL, impatient, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
