// A signal that only a waiting call does not block always ends that call: it cannot come between the look at the flag and the wait.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static pthread_t waiter;

static void on_signal(int signal) {
    (void)signal;
    handled = 1;
}

static void *notify(void *unused) {
    (void)unused;
    pthread_kill(waiter, SIGUSR1);
    return NULL;
}

int main(void) {
    int ends[2];
    assert(pipe(ends) == 0);
    int set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    assert(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event) == 0);
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &old);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    waiter = pthread_self();
    for (int call = 0; call < 4; call++) {
        pthread_t notifier;
        handled = 0;
        pthread_create(&notifier, NULL, notify, NULL);
        while (!handled) {
            int result;
            if (call == 0) {
                result = ppoll(NULL, 0, NULL, &old);
            } else if (call == 1) {
                fd_set readable;
                FD_ZERO(&readable);
                FD_SET(ends[0], &readable);
                result = pselect(ends[0] + 1, &readable, NULL, NULL, NULL, &old);
            } else if (call == 2) {
                result = epoll_pwait(set, &event, 1, -1, &old);
            } else {
                struct pollfd polled = {.fd = ends[0], .events = POLLIN};
                result = ppoll(&polled, 1, NULL, &old);
            }
            assert(result == -1 && errno == EINTR && handled);
        }
        pthread_join(notifier, NULL);
    }
    return 0;
}
