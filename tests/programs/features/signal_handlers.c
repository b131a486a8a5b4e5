// A handler runs in the thread that raises a signal, and in the thread that another one sends a signal to.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static _Thread_local volatile sig_atomic_t raised, sent;
static sem_t signal_sent;

static void on_signal(int signal) {
    if (signal == SIGUSR1) {
        raised = raised + 1;
    } else {
        sent = sent + 1;
    }
}

static void *receive(void *unused) {
    (void)unused;
    assert(raise(SIGUSR1) == 0);
    // raise comes back after the handler.
    assert(raised == 1);
    while (sem_wait(&signal_sent) != 0) {
    }
    sigset_t pending;
    sigpending(&pending);
    assert(sent == 1);
    return NULL;
}

int main(void) {
    pthread_t receiver;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sem_init(&signal_sent, 0, 0);
    pthread_create(&receiver, NULL, receive, NULL);
    assert(pthread_kill(receiver, SIGUSR2) == 0);
    sem_post(&signal_sent);
    pthread_join(receiver, NULL);
    assert(raised == 0 && sent == 0);
    return 0;
}
