// The average is taken without looking whether there is anything to average.
// Crashes with SIGFPE if `average` runs before a sample was added.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int samples, sum, mean;

static void *add(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    sum += 10;
    samples += 1;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *average(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    mean = sum / samples;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t adder, averager;
    pthread_create(&adder, NULL, add, NULL);
    pthread_create(&averager, NULL, average, NULL);
    pthread_join(adder, NULL);
    pthread_join(averager, NULL);
    return 0;
}
