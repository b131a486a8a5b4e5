// A loop without calls waits for the handler of a timer.

#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static volatile sig_atomic_t rung;

static void on_alarm(int signal) {
    (void)signal;
    rung = 1;
}

int main(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_value = {.tv_usec = 1000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (!rung) {
    }
    return 0;
}
