// THREADS threads meet at a barrier ROUNDS times; the serial thread of each round counts it.
// Usage: barrier [THREADS] [ROUNDS]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 2, serial;

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            pthread_mutex_lock(&lock);
            serial++;
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    pthread_t handles[threads];
    for (int i = 0; i < threads; i++) {
        pthread_create(&handles[i], NULL, work, NULL);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
    }
    return serial != rounds;
}
