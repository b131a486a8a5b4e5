// A timer whose time has passed has expired, for whoever looks; one that is set while a thread waits for it wakes that thread.

#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void set(int timer, long first, long interval) {
    struct itimerspec times = {{0, interval * 1000000}, {0, first * 1000000}};
    assert(timerfd_settime(timer, 0, &times, 0) == 0);
}

static void *wait_for(void *timer) {
    uint64_t count;
    assert(read(*(int *)timer, &count, sizeof count) == sizeof count && count == 1);
    return 0;
}

int main(void) {
    int once = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int often = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int later = timerfd_create(CLOCK_MONOTONIC, 0);
    struct pollfd polls[2] = {{.fd = once, .events = POLLIN}, {.fd = often, .events = POLLIN}};
    uint64_t count;
    pthread_t waiter;
    set(once, 1, 0);
    set(often, 10, 10);
    usleep(50000);
    assert(poll(polls, 2, 0) == 2);
    assert(read(once, &count, sizeof count) == sizeof count && count == 1);
    assert(read(often, &count, sizeof count) == sizeof count && count >= 5);
    assert(poll(polls, 1, 0) == 0);
    pthread_create(&waiter, 0, wait_for, &later);
    set(later, 1, 0);
    pthread_join(waiter, 0);
    return 0;
}
