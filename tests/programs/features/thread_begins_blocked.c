// A thread begins with the mask of its attributes: a signal for the process goes to another thread, one for it stays pending.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pthread_t first;
static volatile sig_atomic_t handled, elsewhere;
static sem_t end;

static void on_signal(int signal) {
    (void)signal;
    handled = 1;
    elsewhere |= !pthread_equal(pthread_self(), first);
}

static void *work(void *unused) {
    (void)unused;
    sigset_t pending;
    assert(pthread_kill(pthread_self(), SIGUSR1) == 0);
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1) == 1);
    while (sem_wait(&end) != 0) {
    }
    return NULL;
}

int main(void) {
    first = pthread_self();
    sem_init(&end, 0, 0);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    sigset_t all;
    sigfillset(&all);
    assert(pthread_attr_setsigmask_np(&attributes, &all) == 0);
    pthread_t worker;
    pthread_create(&worker, &attributes, work, NULL);
    pthread_attr_destroy(&attributes);
    kill(getpid(), SIGUSR1);
    assert(handled);
    sem_post(&end);
    pthread_join(worker, NULL);
    assert(!elsewhere);
    return 0;
}
