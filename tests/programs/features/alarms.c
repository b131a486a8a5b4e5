// Alarms ring in any wait, and those that are ended do not.

#include <assert.h>
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t rung;
static sem_t semaphore;

static void on_alarm(int signal) {
    (void)signal;
    rung = rung + 1;
    sem_post(&semaphore);
}

int main(void) {
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    sem_init(&semaphore, 0, 0);
    alarm(1);
    while (sem_wait(&semaphore) != 0) {
        assert(errno == EINTR);
    }
    assert(rung == 1);
    struct itimerval timer = {.it_value = {.tv_usec = 1000}}, before;
    setitimer(ITIMER_REAL, &timer, NULL);
    timer.it_value.tv_usec = 0;
    setitimer(ITIMER_REAL, &timer, &before);
    // It has rung, or was ended in time.
    assert(before.it_value.tv_usec == 0 ? rung == 2 : rung == 1);
    return 0;
}
