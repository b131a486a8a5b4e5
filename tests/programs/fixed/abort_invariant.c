// Money moves in one critical section.

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int from = 10, to = 0;

static void *move_money(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    from -= 5;
    to += 5;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void *audit(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    if (from + to != 10) {
        abort();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t mover, auditor;
    pthread_create(&mover, NULL, move_money, NULL);
    pthread_create(&auditor, NULL, audit, NULL);
    pthread_join(mover, NULL);
    pthread_join(auditor, NULL);
    return 0;
}
