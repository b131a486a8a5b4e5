// Threads, one after the other, get the same numbers from the same seed.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int first;

static void *draw(void *unused) {
    srand(7);
    assert(rand() == first);
    return unused;
}

int main(void) {
    pthread_t thread;
    srand(7);
    first = rand();
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, 0, draw, 0);
        pthread_join(thread, 0);
    }
    return 0;
}
