// Main frees what it shares with the worker when that has noted its end in it.

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

struct shared {
    int result;
    sem_t done, ended;
};

static void *work(void *arg) {
    struct shared *shared = arg;
    shared->result = 42;
    sem_post(&shared->done);
    sem_post(&shared->ended);
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct shared *shared = malloc(sizeof *shared);
    sem_init(&shared->done, 0, 0);
    sem_init(&shared->ended, 0, 0);
    pthread_create(&worker, NULL, work, shared);
    sem_wait(&shared->done);
    sem_wait(&shared->ended);
    free(shared);
    void *reused = malloc(sizeof *shared);
    pthread_join(worker, NULL);
    free(reused);
    return 0;
}
