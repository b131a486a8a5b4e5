// Faults go to the program's own handlers, which mend them or jump away.

#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

static _Thread_local sigjmp_buf back;
static char *page;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)context;
    if (signal == SIGSEGV && (char *)info->si_addr == page) {
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        return;
    }
    siglongjmp(back, signal);
}

static void *fault(void *unused) {
    char room[1 << 16];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    sigaltstack(&stack, NULL);
    pthread_mutex_lock(&lock);
    if (sigsetjmp(back, 1) == 0) {
        *(volatile int *)unused = 1;
        assert(!"no fault");
    }
    pthread_mutex_unlock(&lock);
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert(!sigismember(&mask, SIGSEGV));
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i) {
        sigaction(signals[i], &action, NULL);
    }
    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 1;
    assert(page[0] == 1);
    volatile int zero = 0;
    int signal = sigsetjmp(back, 1);
    if (signal == 0) {
        zero = 10 / zero;
    }
    assert(signal == SIGFPE);
    signal = sigsetjmp(back, 1);
    if (signal == 0) {
        __asm__ volatile("ud2");
    }
    assert(signal == SIGILL);
    sigaction(SIGABRT, &action, NULL);
    signal = sigsetjmp(back, 1);
    if (signal == 0) {
        abort();
    }
    sigaction(SIGABRT, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    assert(signal == SIGABRT);
    signal = sigsetjmp(back, 1);
    if (signal == 0) {
        raise(SIGTRAP);
    }
    assert(signal == SIGTRAP);
    action.sa_flags |= SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        pthread_create(&threads[i], NULL, fault, NULL);
    }
    for (int i = 0; i < 2; ++i) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
