// Three philosophers each take the fork with the lower number first.

#include <pthread.h>
#include <stddef.h>

enum { PHILOSOPHERS = 3 };

static pthread_mutex_t forks[PHILOSOPHERS];
static const int numbers[PHILOSOPHERS] = {0, 1, 2};

static void *dine(void *number) {
    int left = *(const int *)number;
    int right = (left + 1) % PHILOSOPHERS;
    pthread_mutex_lock(&forks[left < right ? left : right]);
    pthread_mutex_lock(&forks[left < right ? right : left]);
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
    return NULL;
}

int main(void) {
    pthread_t threads[PHILOSOPHERS];
    for (int i = 0; i < PHILOSOPHERS; i++) {
        pthread_mutex_init(&forks[i], NULL);
    }
    for (int i = 0; i < PHILOSOPHERS; i++) {
        pthread_create(&threads[i], NULL, dine, (void *)&numbers[i]);
    }
    for (int i = 0; i < PHILOSOPHERS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
