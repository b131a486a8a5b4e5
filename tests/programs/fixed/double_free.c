// Looking and noting are one critical section, so the buffer is handed over once.

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer;
static int released;

// Gives back the buffer if the caller shall release it.
static void *claim(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    char *mine = released ? NULL : buffer;
    released = 1;
    pthread_mutex_unlock(&lock);
    return mine;
}

int main(void) {
    pthread_t a, b;
    void *by_a, *by_b;
    buffer = malloc(16);
    pthread_create(&a, NULL, claim, NULL);
    pthread_create(&b, NULL, claim, NULL);
    pthread_join(a, &by_a);
    pthread_join(b, &by_b);
    free(by_a);
    free(by_b);
    return 0;
}
