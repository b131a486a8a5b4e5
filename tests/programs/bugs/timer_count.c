// A timer with an interval is taken to have expired once, but its reader has slept for five intervals.

#include <assert.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

int main(void) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec times = {{0, 1000000}, {0, 1000000}};
    uint64_t count;
    timerfd_settime(timer, 0, &times, 0);
    usleep(5000);
    read(timer, &count, sizeof count);
    assert(count == 1);
    return 0;
}
