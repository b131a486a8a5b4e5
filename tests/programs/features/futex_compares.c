// Futex operations compare and change memory when their turn comes, not before: nobody runs between that and their return.

#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int word, other;

static long futex(_Atomic int *at, int op, int value, uintptr_t second, _Atomic int *to, int third) {
    return syscall(SYS_futex, at, op, value, second, to, third);
}

static void *change(void *unused) {
    pthread_mutex_lock(&lock);
    word = 1;
    other = other * 2 + 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, change, NULL);
    long result = futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1, &other, 0);
    if (result == 0) {
        assert(word == 0);
    } else {
        assert(result == -1 && errno == EAGAIN && word == 1);
    }
    int before = word;
    assert(futex(&other, FUTEX_WAKE_OP_PRIVATE, 1, 1, &word, FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 9)) == 0);
    assert(word == before + 5 || word == 6);
    pthread_join(thread, NULL);
    return 0;
}
