// A handler uses what its thread prepares first.
// Fails if the signal comes before the thread has begun.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local volatile sig_atomic_t prepared;
static sem_t work;

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
    assert(prepared);
}

static void *run(void *unused) {
    (void)unused;
    prepared = 1;
    while (sem_wait(&work) != 0) {
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    handle(SIGUSR1, on_signal, SA_RESTART);
    sem_init(&work, 0, 0);
    pthread_create(&worker, NULL, run, NULL);
    pthread_kill(worker, SIGUSR1);
    sem_post(&work);
    pthread_join(worker, NULL);
    return 0;
}
