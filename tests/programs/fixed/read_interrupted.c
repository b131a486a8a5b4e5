// A thread reads from a pipe, and is signalled meanwhile.
// The handler lets the call go on.

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static int ends[2];

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
}

static void *receive(void *unused) {
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
    return unused;
}

int main(void) {
    pthread_t receiver;
    handle(SIGUSR1, on_signal, SA_RESTART);
    assert(pipe(ends) == 0);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_kill(receiver, SIGUSR1);
    assert(write(ends[1], "x", 1) == 1);
    pthread_join(receiver, NULL);
    return 0;
}
