// THREADS threads each take and give back one of PERMITS permits, ROUNDS times.
// Usage: semaphore [THREADS] [ROUNDS] [PERMITS]

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdlib.h>

static sem_t permits;
static int rounds = 1;

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        sem_wait(&permits);
        sem_post(&permits);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    sem_init(&permits, 0, argc > 3 ? (unsigned)atoi(argv[3]) : 1);
    pthread_t handles[threads];
    for (int i = 0; i < threads; i++) {
        pthread_create(&handles[i], NULL, work, NULL);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
    }
    return 0;
}
