// C11 threads: main joins the thread before it counts.

#include <assert.h>
#include <stddef.h>
#include <threads.h>

static tss_t key;
static mtx_t lock;
static cnd_t changed;
static int done, flushed;

static void flush(void *data) {
    (void)data;
    mtx_lock(&lock);
    flushed = 1;
    mtx_unlock(&lock);
}

static int work(void *unused) {
    (void)unused;
    tss_set(key, &done);
    mtx_lock(&lock);
    done = 1;
    cnd_signal(&changed);
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t worker;
    tss_create(&key, flush);
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    thrd_create(&worker, work, NULL);
    mtx_lock(&lock);
    while (!done) {
        cnd_wait(&changed, &lock);
    }
    mtx_unlock(&lock);
    thrd_join(worker, NULL);
    assert(flushed);
    tss_delete(key);
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return 0;
}
