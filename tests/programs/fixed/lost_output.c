// Main joins the worker, so the line is printed in every order.

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static sem_t done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *unused) {
    (void)unused;
    sem_post(&done);
    pthread_mutex_lock(&lock);
    puts("work done");
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t worker;
    sem_init(&done, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    sem_wait(&done);
    pthread_join(worker, NULL);
    puts("good bye");
    return 0;
}
