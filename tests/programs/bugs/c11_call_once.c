// C11 threads: call_once is called under a mutex that the initialisation takes too.
// Deadlocks if `report` takes the mutex before the initialisation is over.

#include <stddef.h>
#include <threads.h>

static once_flag once = ONCE_FLAG_INIT;
static mtx_t lock;
static int opened, reports;

static void open_files(void) {
    mtx_lock(&lock);
    opened = 1;
    mtx_unlock(&lock);
}

static int open_all(void *unused) {
    (void)unused;
    call_once(&once, open_files);
    return 0;
}

static int report(void *unused) {
    (void)unused;
    mtx_lock(&lock);
    reports++;
    call_once(&once, open_files);
    mtx_unlock(&lock);
    return 0;
}

int main(void) {
    thrd_t opener, reporter;
    mtx_init(&lock, mtx_plain);
    thrd_create(&opener, open_all, NULL);
    thrd_create(&reporter, report, NULL);
    thrd_join(opener, NULL);
    thrd_join(reporter, NULL);
    mtx_destroy(&lock);
    return opened != 1 || reports != 1;
}
