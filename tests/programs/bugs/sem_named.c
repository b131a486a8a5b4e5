// The worker looks once for a request, and main waits for the answer to a request that came too late.
// Deadlocks if the worker looks before main has posted the request.

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static sem_t *requests, *answers;

// Opens a semaphore of no permits under a name that no other process has.
static sem_t *open_semaphore(const char *kind) {
    char name[64];
    snprintf(name, sizeof name, "/ordain-%s-%ld", kind, (long)getpid());
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    // It lives on until it is closed, and leaves nothing behind.
    sem_unlink(name);
    return semaphore;
}

static void *serve(void *unused) {
    (void)unused;
    if (sem_trywait(requests) == 0) {
        sem_post(answers);
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    requests = open_semaphore("requests");
    answers = open_semaphore("answers");
    if (requests == SEM_FAILED || answers == SEM_FAILED) {
        return 2;
    }
    pthread_create(&worker, NULL, serve, NULL);
    sem_post(requests);
    sem_wait(answers);
    pthread_join(worker, NULL);
    sem_close(requests);
    sem_close(answers);
    return 0;
}
