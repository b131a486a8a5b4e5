// A thread that does not get the second mutex gives up the first and skips its turn.

#include <pthread.h>
#include <sched.h>
#include <stddef.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int turns[2];
static const int first_of[2] = {0, 1};

static void *work(void *arg) {
    int first = *(const int *)arg;
    int second = 1 - first;
    pthread_mutex_lock(&locks[first]);
    if (pthread_mutex_trylock(&locks[second]) == 0) {
        turns[first]++;
        pthread_mutex_unlock(&locks[second]);
    } else {
        sched_yield();
    }
    pthread_mutex_unlock(&locks[first]);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, work, (void *)&first_of[0]);
    pthread_create(&b, NULL, work, (void *)&first_of[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
