// A thread looks for work and else pauses until a signal comes.
// Deadlocks if the signal comes after the look and before the pause: its handler has run by then.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;

static void wake_up(int signal) {
    (void)signal;
}

static void *await(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    int is_ready = ready;
    pthread_mutex_unlock(&lock);
    if (!is_ready) {
        pause();
    }
    return NULL;
}

int main(void) {
    pthread_t waiter;
    struct sigaction action = {.sa_handler = wake_up};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&waiter, NULL, await, NULL);
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    pthread_kill(waiter, SIGUSR1);
    pthread_join(waiter, NULL);
    return 0;
}
