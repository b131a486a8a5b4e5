// A thread sleeps, and another one signals it.
// It sleeps on for what is left.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
}

static void *doze(void *unused) {
    (void)unused;
    struct timespec span = {.tv_sec = 1};
    while (nanosleep(&span, &span) != 0) {
        assert(errno == EINTR && span.tv_sec <= 1);
    }
    return NULL;
}

int main(void) {
    pthread_t sleeper;
    handle(SIGUSR1, on_signal, SA_RESTART);
    pthread_create(&sleeper, NULL, doze, NULL);
    pthread_kill(sleeper, SIGUSR1);
    pthread_join(sleeper, NULL);
    return 0;
}
