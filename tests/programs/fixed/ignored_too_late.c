// A signal that the program ignores.
// That is said first.

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void *notify(void *unused) {
    kill(getpid(), SIGUSR2);
    return unused;
}

int main(void) {
    pthread_t notifier;
    signal(SIGUSR2, SIG_IGN);
    pthread_create(&notifier, NULL, notify, NULL);
    pthread_join(notifier, NULL);
    return 0;
}
