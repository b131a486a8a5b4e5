// A thread tries in a loop until another one has given it something.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

static sem_t given;

static void *giver(void *argument) {
    sem_post(&given);
    return argument;
}

int main(void) {
    pthread_t thread;
    sem_init(&given, 0, 0);
    pthread_create(&thread, 0, giver, 0);
    while (sem_trywait(&given)) sched_yield();
    pthread_join(thread, 0);
    return 0;
}
