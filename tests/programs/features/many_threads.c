// 200 threads, one after the other: what a thread leaves behind must not add up.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static int count;

static void *increment(void *unused) {
    (void)unused;
    count++;
    return &count;
}

int main(void) {
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        void *result;
        assert(pthread_create(&thread, NULL, increment, NULL) == 0);
        assert(pthread_join(thread, &result) == 0);
        assert(result == &count);
    }
    assert(count == 200);
    return 0;
}
