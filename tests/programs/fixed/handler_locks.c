// The signal is blocked while the worker holds the mutex that its handler locks.

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t signalled;
static int count;

static void on_signal(int signal) {
    (void)signal;
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    (void)unused;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    // It lives until it has the signal.
    while (sem_wait(&signalled) != 0) {
    }
    return NULL;
}

int main(void) {
    pthread_t worker;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&signalled, 0, 0);
    pthread_create(&worker, NULL, work, NULL);
    pthread_kill(worker, SIGUSR1);
    sem_post(&signalled);
    pthread_join(worker, NULL);
    return count == 0;
}
