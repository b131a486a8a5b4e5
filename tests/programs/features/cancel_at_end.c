// A thread whose function has returned may still be cancelled while destructors of its values run.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_key_t key;
static sem_t begin;

static void wait_for_it(void *unused) {
    (void)unused;
    sem_wait(&begin);
}

static void *work(void *unused) {
    pthread_setspecific(key, &key);
    return unused;
}

int main(void) {
    pthread_key_create(&key, wait_for_it);
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    pthread_cancel(worker);
    sem_post(&begin);
    pthread_join(worker, NULL);
    return 0;
}
