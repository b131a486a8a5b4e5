// An increment is split over two critical sections: read, then write back.
// The assertion fails if one thread reads between the other's read and its write.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static int get(void) {
    pthread_mutex_lock(&lock);
    int value = count;
    pthread_mutex_unlock(&lock);
    return value;
}

static void set(int value) {
    pthread_mutex_lock(&lock);
    count = value;
    pthread_mutex_unlock(&lock);
}

static void *increment(void *unused) {
    (void)unused;
    set(get() + 1);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, increment, NULL);
    pthread_create(&b, NULL, increment, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
