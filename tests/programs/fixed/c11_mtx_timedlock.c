// C11 threads: the mutex is unlocked only if mtx_timedlock took it.

#include <stddef.h>
#include <threads.h>
#include <time.h>

static mtx_t lock;
static int count;

static int holder(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    count++;
    mtx_unlock(&lock);
    return 0;
}

static int hurried(void *unused) {
    (void)unused;
    struct timespec deadline;
    timespec_get(&deadline, TIME_UTC);
    deadline.tv_sec += 2;
    if (mtx_timedlock(&lock, &deadline) == thrd_success) {
        count++;
        mtx_unlock(&lock);
    }
    return 0;
}

int main(void) {
    thrd_t a, b;
    mtx_init(&lock, mtx_timed);
    thrd_create(&a, holder, NULL);
    thrd_create(&b, hurried, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    mtx_destroy(&lock);
    return 0;
}
