// A library with every kind of data that a library can have; for programs that ask whether all of it is as they found it.
#include <pthread.h>
#include <stdlib.h>

static int data = 1;
static int zeroed;
static char large[1 << 16];
static __thread int own = 7;
static int *heap;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    heap = malloc(sizeof *heap);
    *heap = 9;
}

// Counts changes since the library was loaded; of thread-local data, those of the calling thread.
int state_changes(void) {
    pthread_mutex_lock(&mutex);
    int changes = (data - 1) + zeroed + large[5000] + (*heap - 9);
    pthread_mutex_unlock(&mutex);
    return changes + 100 * (own - 7);
}

void state_change(void) {
    pthread_mutex_lock(&mutex);
    data++;
    zeroed++;
    large[5000]++;
    ++*heap;
    pthread_mutex_unlock(&mutex);
    own++;
}
