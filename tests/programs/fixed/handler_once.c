// Two threads signal the process.
// The handler stays.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
}

static void *notify(void *unused) {
    kill(getpid(), SIGUSR1);
    return unused;
}

int main(void) {
    pthread_t notifiers[2];
    handle(SIGUSR1, on_signal, SA_RESTART);
    for (int i = 0; i < 2; ++i) {
        pthread_create(&notifiers[i], NULL, notify, NULL);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(notifiers[i], NULL);
    }
    return 0;
}
