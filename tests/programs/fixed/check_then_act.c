// A seat is asked for and taken in one critical section.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int seats = 1;

static void *book(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (seats > 0) {
        seats--;
        assert(seats >= 0);
    }
    pthread_mutex_unlock(&lock);
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
