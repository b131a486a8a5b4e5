// A value is handed over through a futex that is called by syscall(), without the pthread functions.

#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic int word;
static int value;

static void *produce(void *unused) {
    (void)unused;
    value = 42;
    atomic_store(&word, 1);
    assert(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) >= 0);
    return NULL;
}

int main(void) {
    pthread_t producer;
    pthread_create(&producer, NULL, produce, NULL);
    while (atomic_load(&word) == 0) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    assert(value == 42);
    pthread_join(producer, NULL);
    return 0;
}
