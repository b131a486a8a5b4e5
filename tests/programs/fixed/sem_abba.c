// Two threads take two semaphores in the same order.

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t printer, scanner;

static void *copy(void *unused) {
    (void)unused;
    sem_wait(&scanner);
    sem_wait(&printer);
    sem_post(&printer);
    sem_post(&scanner);
    return NULL;
}

static void *calibrate(void *unused) {
    (void)unused;
    sem_wait(&scanner);
    sem_wait(&printer);
    sem_post(&scanner);
    sem_post(&printer);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    sem_init(&printer, 0, 1);
    sem_init(&scanner, 0, 1);
    pthread_create(&a, NULL, copy, NULL);
    pthread_create(&b, NULL, calibrate, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&printer);
    sem_destroy(&scanner);
    return 0;
}
