// Two threads wait for signals, and each counts on its own.
// Fails if the second one gets the signal that is meant for the first.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int order[2];
static int next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *await(void *number) {
    int me = *(int *)number;
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigwaitinfo(&set, &info);
    assert(info.si_code == SI_QUEUE && info.si_value.sival_int == me);
    pthread_mutex_lock(&lock);
    order[next++] = me;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t waiters[2];
    int numbers[2] = {0, 1};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 2; ++i) {
        pthread_create(&waiters[i], NULL, await, &numbers[i]);
    }
    for (int i = 0; i < 2; ++i) {
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(waiters[i], NULL);
    }
    return next == 2 ? 0 : 1;
}
