// A loop counts in steps of a size that another thread sets.
// Loops forever if the size is read before it is set, when it is still 0.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int step;
static volatile int position;

static void set_step(void) {
    pthread_mutex_lock(&lock);
    step = 5;
    pthread_mutex_unlock(&lock);
}

static void *count(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int size = step;
    pthread_mutex_unlock(&lock);
    while (position < 100) {
        position += size;
    }
    return NULL;
}

int main(void) {
    pthread_t counter;
    pthread_create(&counter, NULL, count, NULL);
    set_step();
    pthread_join(counter, NULL);
    return position != 100;
}
