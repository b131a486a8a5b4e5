// A timer rings again and again while the program takes a lock; and it rings as often as somebody waits for it.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t count;

static void tick(int signal) {
    (void)signal;
    count++;
}

int main(int argc, char **argv) {
    (void)argv;
    struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, 0);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, 0);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        pthread_mutex_unlock(&m);
    }
    if (argc > 1) {
        sigset_t none, alarm;
        sigemptyset(&none);
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        sigprocmask(SIG_BLOCK, &alarm, 0);
        while (count < 20) sigsuspend(&none);
    }
    return 0;
}
