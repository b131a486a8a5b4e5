// A consumer waits for a token, and is signalled meanwhile.
// It waits again.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static sem_t tokens;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int made;

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static void on_signal(int signal) {
    (void)signal;
}

static void *consume(void *unused) {
    (void)unused;
    while (sem_wait(&tokens) != 0) {
        assert(errno == EINTR);
    }
    pthread_mutex_lock(&lock);
    assert(made);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t consumer;
    handle(SIGUSR1, on_signal, 0);
    sem_init(&tokens, 0, 0);
    pthread_create(&consumer, NULL, consume, NULL);
    pthread_kill(consumer, SIGUSR1);
    pthread_mutex_lock(&lock);
    made = 1;
    pthread_mutex_unlock(&lock);
    sem_post(&tokens);
    pthread_join(consumer, NULL);
    return 0;
}
