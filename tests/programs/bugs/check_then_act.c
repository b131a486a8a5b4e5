// Whether a seat is free is asked in one critical section, and it is taken in the next.
// The assertion fails if both ask before anyone takes the last seat.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seats = 1;

static int is_free(void) {
    pthread_mutex_lock(&lock);
    int result = seats > 0;
    pthread_mutex_unlock(&lock);
    return result;
}

static void take(void) {
    pthread_mutex_lock(&lock);
    seats--;
    assert(seats >= 0);
    pthread_mutex_unlock(&lock);
}

static void *book(void *unused) {
    (void)unused;
    if (is_free()) {
        take();
    }
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, book, NULL);
    pthread_create(&b, NULL, book, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return seats;
}
