// C11 threads: the flag is looked at in one critical section and waited for in another.
// Deadlocks if the signal comes between the two.

#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static int ready;

static int await(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    int is_ready = ready;
    mtx_unlock(&lock);
    if (is_ready) {
        return 0;
    }
    mtx_lock(&lock);
    cnd_wait(&changed, &lock);
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
