// C11 threads: the flag is looked at and waited for in one critical section.

#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static int ready;

static int await(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    while (!ready) {
        cnd_wait(&changed, &lock);
    }
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t waiter;
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_create(&waiter, await, NULL);
    mtx_lock(&lock);
    ready = 1;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    thrd_join(waiter, NULL);
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return 0;
}
