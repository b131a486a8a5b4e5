// A timer whose time has passed has expired, for whoever looks.

#include <assert.h>
#include <poll.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void set(int timer, long first, long interval) {
    struct itimerspec times = {{0, interval * 1000000}, {0, first * 1000000}};
    assert(timerfd_settime(timer, 0, &times, 0) == 0);
}

int main(void) {
    int once = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int often = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct pollfd polls[2] = {{.fd = once, .events = POLLIN}, {.fd = often, .events = POLLIN}};
    uint64_t count;
    set(once, 1, 0);
    set(often, 10, 10);
    usleep(50000);
    assert(poll(polls, 2, 0) == 2);
    assert(read(once, &count, sizeof count) == sizeof count && count == 1);
    assert(read(often, &count, sizeof count) == sizeof count && count >= 5);
    assert(poll(polls, 1, 0) == 0);
    return 0;
}
