// A timer is taken not to have expired yet, because it was set just before.

#include <assert.h>
#include <poll.h>
#include <sys/timerfd.h>

int main(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec times = {{0, 0}, {0, 1000000}};
    struct pollfd poll_one = {.fd = timer, .events = POLLIN};
    timerfd_settime(timer, 0, &times, 0);
    assert(poll(&poll_one, 1, 0) == 0);
    return 0;
}
