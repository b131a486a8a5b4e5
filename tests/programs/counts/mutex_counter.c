// THREADS threads each lock a mutex, count and unlock, ROUNDS times: (tr)!/(r!)^t classes.
// Usage: mutex_counter [THREADS] [ROUNDS]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 3, count;

static void *work(void *unused) {
    (void)unused;
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    pthread_t handles[threads];
    for (int i = 0; i < threads; i++) {
        pthread_create(&handles[i], NULL, work, NULL);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
    }
    return count != threads * rounds;
}
