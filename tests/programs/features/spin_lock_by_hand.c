// A lock that threads spin on with an atomic flag, around calls that are visible: correct, and never a hang.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_flag busy = ATOMIC_FLAG_INIT;
static atomic_int turn;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *unused) {
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
        // Backs off for a while, as such locks do.
        for (volatile int pause = 0; pause < 10; pause++) { }
    }
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    atomic_flag_clear_explicit(&busy, memory_order_release);
    return unused;
}

static void *hand_over(void *unused) {
    while (atomic_load(&turn) == 0) { }
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    atomic_store(&turn, 2);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    pthread_create(&threads[2], NULL, hand_over, NULL);
    atomic_store(&turn, 1);
    while (atomic_load(&turn) != 2) { }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert(count == 3);
    return 0;
}
