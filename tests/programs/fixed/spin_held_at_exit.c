// The worker releases the spin lock before it ends.

#include <pthread.h>
#include <stddef.h>

static pthread_spinlock_t lock;
static int closed, count;

static void *work(void *unused) {
    (void)unused;
    pthread_spin_lock(&lock);
    if (closed) {
        pthread_spin_unlock(&lock);
        pthread_exit(NULL);
    }
    count++;
    pthread_spin_unlock(&lock);
    return NULL;
}

static void *close_counter(void *unused) {
    (void)unused;
    pthread_spin_lock(&lock);
    closed = 1;
    pthread_spin_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker, closer;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&worker, NULL, work, NULL);
    pthread_create(&closer, NULL, close_counter, NULL);
    pthread_join(worker, NULL);
    pthread_join(closer, NULL);
    return 0;
}
