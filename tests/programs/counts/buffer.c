// A buffer of one slot with a condition variable for each side. Each producer puts ITEMS items, and the consumers share
// them equally: PRODUCERS * ITEMS must be a multiple of CONSUMERS.
// Usage: buffer [PRODUCERS] [CONSUMERS] [ITEMS]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int full, puts_each, gets_each;

static void *produce(void *unused) {
    (void)unused;
    for (int i = 0; i < puts_each; i++) {
        pthread_mutex_lock(&lock);
        while (full) {
            pthread_cond_wait(&emptied, &lock);
        }
        full = 1;
        pthread_cond_signal(&filled);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    for (int i = 0; i < gets_each; i++) {
        pthread_mutex_lock(&lock);
        while (!full) {
            pthread_cond_wait(&filled, &lock);
        }
        full = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int producers = argc > 1 ? atoi(argv[1]) : 1;
    int consumers = argc > 2 ? atoi(argv[2]) : 1;
    puts_each = argc > 3 ? atoi(argv[3]) : 2;
    gets_each = producers * puts_each / consumers;
    pthread_t handles[producers + consumers];
    for (int i = 0; i < producers; i++) {
        pthread_create(&handles[i], NULL, produce, NULL);
    }
    for (int i = 0; i < consumers; i++) {
        pthread_create(&handles[producers + i], NULL, consume, NULL);
    }
    for (int i = 0; i < producers + consumers; i++) {
        pthread_join(handles[i], NULL);
    }
    return full;
}
