// C11 threads: the result of a thread becomes the exit status, and the thread fails if it is too early.
// Exits with 9 if the thread locks before main.

#include <stddef.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static int input;

static int work(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    int result = input == 0 ? 9 : 0;
    mtx_unlock(&lock);
    return result;
}

int main(void) {
    thrd_t worker;
    int result;
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_create(&worker, work, NULL);
    mtx_lock(&lock);
    input = 1;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    thrd_join(worker, &result);
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return result;
}
