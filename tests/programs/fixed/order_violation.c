// The consumer waits for the producer.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t produced;
static int item;

static void *produce(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    item = 7;
    pthread_mutex_unlock(&lock);
    sem_post(&produced);
    return NULL;
}

static void *consume(void *unused) {
    (void)unused;
    sem_wait(&produced);
    pthread_mutex_lock(&lock);
    assert(item == 7);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t producer, consumer;
    sem_init(&produced, 0, 0);
    pthread_create(&producer, NULL, produce, NULL);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_join(producer, NULL);
    pthread_join(consumer, NULL);
    sem_destroy(&produced);
    return 0;
}
