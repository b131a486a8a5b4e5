// Two threads hold one mutex each and try for the other's again and again.
// Both yield forever if each has taken its first mutex before anyone tries for the second.

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
    while (pthread_mutex_trylock(&locks[second]) != 0) {
        sched_yield();
    }
    turns[first]++;
    pthread_mutex_unlock(&locks[second]);
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
