// A recursion ends at a depth that is set before the thread is created.

#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int depth = -1;

// Every call takes a kilobyte of stack, which the compiler must not optimise away.
static int __attribute__((noinline)) descend(int level, int end, volatile char *above) {
    volatile char frame[1024];
    frame[0] = above == NULL ? 0 : above[0];
    if (level == end) {
        return 0;
    }
    int below = descend(level + 1, end, frame);
    return below + 1 + frame[0];
}

static void *work(void *result) {
    pthread_mutex_lock(&lock);
    int end = depth;
    pthread_mutex_unlock(&lock);
    *(int *)result = descend(0, end, NULL);
    return NULL;
}

static void set_depth(void) {
    pthread_mutex_lock(&lock);
    depth = 10;
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t worker;
    int result;
    set_depth();
    pthread_create(&worker, NULL, work, &result);
    pthread_join(worker, NULL);
    return result != 10;
}
