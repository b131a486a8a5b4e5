// The waker changes the word of the futex, so nobody begins to wait after the wake-up.

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static _Atomic int word;

static void *await(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int is_ready = ready;
    pthread_mutex_unlock(&lock);
    if (!is_ready) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    return NULL;
}

int main(void) {
    pthread_t waiter;
    pthread_create(&waiter, NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    atomic_store(&word, 1);
    pthread_mutex_unlock(&lock);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(waiter, NULL);
    return 0;
}
