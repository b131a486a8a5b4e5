// Two threads handle a signal on an alternate stack of their own, with a scheduling point in the handler.

#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { STACK_SIZE = 65536 };

static _Thread_local char *own_stack;
static _Thread_local volatile sig_atomic_t handled;
static sem_t handlers;

static void on_signal(int signal) {
    (void)signal;
    char here;
    uintptr_t at = (uintptr_t)&here, low = (uintptr_t)own_stack;
    handled = at >= low && at < low + STACK_SIZE;
    // sem_post is allowed in a handler.
    sem_post(&handlers);
}

static void *work(void *unused) {
    (void)unused;
    own_stack = malloc(STACK_SIZE);
    stack_t stack = {.ss_sp = own_stack, .ss_size = STACK_SIZE}, off = {.ss_flags = SS_DISABLE};
    assert(sigaltstack(&stack, NULL) == 0);
    assert(raise(SIGUSR1) == 0);
    assert(handled);
    assert(sigaltstack(&off, NULL) == 0);
    free(own_stack);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&handlers, 0, 0);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int count;
    sem_getvalue(&handlers, &count);
    assert(count == 2);
    return 0;
}
