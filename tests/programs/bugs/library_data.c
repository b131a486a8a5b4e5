// A library of the program's own is used before it is prepared, in one order.
#include <pthread.h>
#include <stddef.h>

void order_prepare(void);
void order_use(void);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *prepare(void *unused) {
    pthread_mutex_lock(&mutex);
    order_prepare();
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *use(void *unused) {
    pthread_mutex_lock(&mutex);
    order_use();
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, prepare, NULL);
    pthread_create(&second, NULL, use, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
