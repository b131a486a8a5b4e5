// Clocks that the C library reads by itself, to find names for temporary files, cost no more than others.

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    for (int i = 0; i < 20; i++) {
        char name[] = "/tmp/ordain-test-XXXXXX";
        int file = mkstemp(name);
        assert(file >= 0 && unlink(name) == 0 && close(file) == 0);
    }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    time_t before = time(NULL);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert(time(NULL) - before < 60);
    return 0;
}
