// Consumers wait with `while`.

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *consume(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    while (items == 0) {
        pthread_cond_wait(&filled, &lock);
    }
    assert(items > 0);
    items--;
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void produce(void) {
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t consumers[2];
    pthread_create(&consumers[0], NULL, consume, NULL);
    pthread_create(&consumers[1], NULL, consume, NULL);
    produce();
    produce();
    pthread_join(consumers[0], NULL);
    pthread_join(consumers[1], NULL);
    assert(items == 0);
    return 0;
}
