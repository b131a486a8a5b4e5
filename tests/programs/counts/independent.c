// N threads each lock a mutex of their own: one class.
// Usage: independent [N]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static void *work(void *arg) {
    pthread_mutex_t *own = arg;
    pthread_mutex_lock(own);
    pthread_mutex_unlock(own);
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t handles[n];
    pthread_mutex_t locks[n];
    for (int i = 0; i < n; i++) {
        pthread_mutex_init(&locks[i], NULL);
    }
    for (int i = 0; i < n; i++) {
        pthread_create(&handles[i], NULL, work, &locks[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(handles[i], NULL);
    }
    return 0;
}
