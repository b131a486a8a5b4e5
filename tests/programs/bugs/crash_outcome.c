// A thread aborts if it finds the lock taken. What the others do meanwhile goes on until the program has ended.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

static void *tries(void *unused) {
    (void)unused;
    if (pthread_mutex_trylock(&lock) != 0) abort();
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *works(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, works, NULL);
    pthread_create(&threads[1], NULL, tries, NULL);
    pthread_create(&threads[2], NULL, tries, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
