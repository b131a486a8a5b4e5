// A semaphore that keeps threads apart starts with one permit.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t inside;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = count;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    count = value;
    pthread_mutex_unlock(&lock);
}

static void *increment(void *unused) {
    (void)unused;
    sem_wait(&inside);
    set(get() + 1);
    sem_post(&inside);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&inside, 0, 1);
    pthread_create(&a, NULL, increment, NULL);
    pthread_create(&b, NULL, increment, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&inside);
    assert(count == 2);
    return 0;
}
