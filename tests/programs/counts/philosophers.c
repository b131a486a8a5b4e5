// N philosophers eat once; each takes the fork with the lower number first: 2^N - 2 classes.
// Usage: philosophers [N]

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static int n = 3;
static pthread_mutex_t *forks;

static void *dine(void *arg) {
    int left = *(int *)arg, right = (left + 1) % n;
    pthread_mutex_t *first = &forks[left < right ? left : right];
    pthread_mutex_t *second = &forks[left < right ? right : left];
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

int main(int argc, char **argv) {
    n = argc > 1 ? atoi(argv[1]) : n;
    pthread_t handles[n];
    pthread_mutex_t mutexes[n];
    int numbers[n];
    forks = mutexes;
    for (int i = 0; i < n; i++) {
        pthread_mutex_init(&forks[i], NULL);
        numbers[i] = i;
    }
    for (int i = 0; i < n; i++) {
        pthread_create(&handles[i], NULL, dine, &numbers[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(handles[i], NULL);
    }
    return 0;
}
