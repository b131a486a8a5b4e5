// An alarm rings while its program sleeps for longer than that, and ends the sleep.

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t rang;

static void ring(int signal) {
    (void)signal;
    rang = 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = ring};
    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    sleep(5);
    assert(rang);
    return 0;
}
