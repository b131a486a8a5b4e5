// Whoever doubles after the other has added goes beyond what an int can hold. Only UndefinedBehaviorSanitizer notices.
#include <limits.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total = INT_MAX / 2;

static void *doubles(void *unused) {
    pthread_mutex_lock(&lock);
    total *= 2;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, doubles, NULL);
    pthread_mutex_lock(&lock);
    total += total < INT_MAX / 2 + 1;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
