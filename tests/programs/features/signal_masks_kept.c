// Masks that the C library saves and puts back by itself: in jumps, in contexts, in handlers, and by the old functions of System V and BSD.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

static volatile sig_atomic_t handled;
static pthread_t receiver;
static ucontext_t outside, inside;
static char stack[1 << 16];
static int expected;

static void on_signal(int number) {
    (void)number;
    handled++;
}

static void block_behind(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    handled++;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, SIGUSR1);
}

static void *notify(void *unused) {
    (void)unused;
    pthread_kill(receiver, SIGUSR1);
    return NULL;
}

static void receive(void) {
    pthread_t sender;
    pthread_create(&sender, NULL, notify, NULL);
    pthread_join(sender, NULL);
    assert(handled == expected);
}

static void set(int how) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    pthread_sigmask(how, &one, NULL);
}

int main(int count, char **arguments) {
    (void)count;
    receiver = pthread_self();
    signal(SIGUSR1, on_signal);
    sigjmp_buf place;
    switch (atoi(arguments[1])) {
    case 0: // A jump puts the mask back.
        if (!sigsetjmp(place, 1)) {
            set(SIG_BLOCK);
            siglongjmp(place, 1);
        }
        expected = 1;
        break;
    case 1: // Another context has another mask.
        getcontext(&inside);
        inside.uc_stack.ss_sp = stack;
        inside.uc_stack.ss_size = sizeof stack;
        inside.uc_link = &outside;
        sigaddset(&inside.uc_sigmask, SIGUSR1);
        makecontext(&inside, receive, 0);
        swapcontext(&outside, &inside);
        assert(handled == 1);
        return 0;
    case 2: { // A handler blocks its signal for what follows.
        struct sigaction action = {.sa_sigaction = block_behind, .sa_flags = SA_SIGINFO};
        sigaction(SIGUSR1, &action, NULL);
        expected = 1;
        receive();
        break;
    }
    case 3:
        sighold(SIGUSR1);
        break;
    case 4:
        sigset(SIGUSR1, SIG_HOLD);
        break;
    case 5:
        sigignore(SIGUSR1);
        break;
    case 6:
        sigset(SIGUSR1, on_signal);
        sighold(SIGUSR1);
        sigrelse(SIGUSR1);
        expected = 1;
        break;
    }
    receive();
    return 0;
}
