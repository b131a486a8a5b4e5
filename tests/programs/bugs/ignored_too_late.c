// A signal that the program ignores.
// It ends the program if it comes before that is said.

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
    pthread_create(&notifier, NULL, notify, NULL);
    signal(SIGUSR2, SIG_IGN);
    pthread_join(notifier, NULL);
    return 0;
}
