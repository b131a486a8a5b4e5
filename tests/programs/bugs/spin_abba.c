// Two threads take two spin locks in opposite orders.
// Deadlocks if each has its first lock before anyone takes its second.

#include <pthread.h>
#include <stddef.h>

static pthread_spinlock_t head, tail;
static int length;

static void *push(void *unused) {
    (void)unused;
    pthread_spin_lock(&head);
    pthread_spin_lock(&tail);
    length++;
    pthread_spin_unlock(&tail);
    pthread_spin_unlock(&head);
    return NULL;
}

static void *append(void *unused) {
    (void)unused;
    pthread_spin_lock(&tail);
    pthread_spin_lock(&head);
    length++;
    pthread_spin_unlock(&head);
    pthread_spin_unlock(&tail);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_spin_init(&head, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_init(&tail, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&a, NULL, push, NULL);
    pthread_create(&b, NULL, append, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_spin_destroy(&head);
    pthread_spin_destroy(&tail);
    return length != 2;
}
