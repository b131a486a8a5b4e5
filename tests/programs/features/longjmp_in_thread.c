// Two threads jump back over several frames and a scheduling point, each on its own stack.

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int jumps;

static void __attribute__((noinline)) jump(jmp_buf start) {
    pthread_mutex_lock(&lock);
    int number = ++jumps;
    pthread_mutex_unlock(&lock);
    longjmp(start, number);
}

static void __attribute__((noinline)) inner(jmp_buf start) {
    volatile char frame[4096] = {1};
    jump(start);
    frame[1] = frame[0];
}

static void __attribute__((noinline)) outer(jmp_buf start) {
    volatile char frame[4096] = {1};
    inner(start);
    frame[1] = frame[0];
}

static void *work(void *result) {
    jmp_buf start;
    int number = setjmp(start);
    if (number == 0) {
        outer(start);
    }
    *(int *)result = number;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    int results[2];
    pthread_create(&a, NULL, work, &results[0]);
    pthread_create(&b, NULL, work, &results[1]);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(jumps == 2);
    assert(results[0] + results[1] == 3);
    return 0;
}
