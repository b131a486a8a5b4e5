// An alarm that all threads block ends nothing, though there is no handler: a thread waits for it. Nor is one lost that is set before
// it is blocked, or before there is a handler.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t rung;
static void on_alarm(int signal) { rung = signal; }
static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv) {
    sigset_t set, before;
    int taken;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    assert(argc == 2);
    if (strcmp(argv[1], "threads") == 0) {
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        pthread_t thread;
        pthread_create(&thread, NULL, nothing, NULL);
        alarm(1);
        assert(sigwait(&set, &taken) == 0 && taken == SIGALRM);
        pthread_join(thread, NULL);
    } else if (strcmp(argv[1], "blocked") == 0) {
        alarm(1);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        assert(sigwait(&set, &taken) == 0 && taken == SIGALRM);
    } else {
        alarm(1);
        signal(SIGALRM, on_alarm);
        pthread_sigmask(SIG_BLOCK, &set, &before);
        while (!rung) sigsuspend(&before);
    }
    return 0;
}
