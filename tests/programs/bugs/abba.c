// Two threads take two mutexes in opposite orders.
// Deadlocks if `refund` takes `to` after `pay` took `from` and before `pay` takes `to`.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t from = PTHREAD_MUTEX_INITIALIZER, to = PTHREAD_MUTEX_INITIALIZER;
static int from_balance = 10, to_balance;

static void *pay(void *unused) {
    (void)unused;
    pthread_mutex_lock(&from);
    pthread_mutex_lock(&to);
    from_balance -= 2;
    to_balance += 2;
    pthread_mutex_unlock(&to);
    pthread_mutex_unlock(&from);
    return NULL;
}

static void *refund(void *unused) {
    (void)unused;
    pthread_mutex_lock(&to);
    pthread_mutex_lock(&from);
    to_balance -= 1;
    from_balance += 1;
    pthread_mutex_unlock(&to);
    pthread_mutex_unlock(&from);
    return NULL;
}

int main(void) {
    pthread_t payer, refunder;
    pthread_create(&payer, NULL, pay, NULL);
    pthread_create(&refunder, NULL, refund, NULL);
    pthread_join(payer, NULL);
    pthread_join(refunder, NULL);
    assert(from_balance == 9 && to_balance == 1);
    return 0;
}
