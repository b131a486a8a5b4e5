// Every worker comes to the barrier, with or without work.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t end_of_phase;
static int work = 2;

static int take(void) {
    pthread_mutex_lock(&lock);
    int found = work > 0;
    work -= found;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *slow(void *unused) {
    (void)unused;
    take();
    pthread_barrier_wait(&end_of_phase);
    return NULL;
}

static void *quick(void *unused) {
    (void)unused;
    take();
    take();
    pthread_barrier_wait(&end_of_phase);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&end_of_phase, NULL, 2);
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_barrier_destroy(&end_of_phase);
    return work;
}
