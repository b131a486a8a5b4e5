// Main returns when the work is done, although the worker has yet to print.
// The line is lost if main returns between the worker's post and its printf.

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
    pthread_mutex_lock(&lock);
    puts("good bye");
    pthread_mutex_unlock(&lock);
    return 0;
}
